use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::*;
use crate::protocol::Head;
use crate::protocol::tool::{ParamKind, Rule, ToolRules};

fn plan() -> Arc<Plan> {
    Plan::for_tool(&rules(), &[])
}

fn rules() -> ToolRules {
    let rule = |header: &str, path: &[&str], kind| Rule {
        header: header.into(),
        path: path.iter().map(ToString::to_string).collect(),
        kind,
    };
    ToolRules {
        rules: vec![
            rule("Region", &["region"], ParamKind::String),
            rule("Limit", &["limit"], ParamKind::Integer),
            rule("Dry-Run", &["dry_run"], ParamKind::Boolean),
            rule("Tenant", &["filter", "tenant"], ParamKind::String),
        ],
    }
}

fn head(params: &[(&str, &str)]) -> Head {
    let mut map = HeaderMap::new();
    let fixed = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "alpha__sql")];
    for (name, value) in fixed.iter().chain(params) {
        map.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        );
    }
    Head::read(&map).unwrap()
}

fn call(arguments: &Value) -> String {
    json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {}
            },
            "name": "alpha__sql",
            "arguments": arguments
        }
    })
    .to_string()
}

/// The verdict, in as many pieces as there are cuts.
fn judge(head: &Head, body: &str, piece: usize) -> Result<Verifier, Fault> {
    let mut verifier = Verifier::new(head, plan(), Some("sql".into()));
    for chunk in body.as_bytes().chunks(piece) {
        verifier.feed(head, chunk);
    }
    verifier.finish(head).map(|()| verifier)
}

#[test]
fn parameters_agree_by_their_kind() {
    let agreed: [(&[(&str, &str)], Value); 8] = [
        (&[], json!({})),
        (&[], json!({ "region": null, "other": 1 })),
        (&[("mcp-param-region", "us-west1")], json!({ "region": "us-west1" })),
        (&[("mcp-param-region", "=?base64?w6k=?=")], json!({ "region": "é" })),
        (&[("mcp-param-region", "")], json!({ "region": "" })),
        (&[("mcp-param-limit", "42.0")], json!({ "limit": 42 })),
        (&[("mcp-param-dry-run", "false")], json!({ "dry_run": false })),
        (
            &[("mcp-param-tenant", "acme"), ("mcp-param-unknown", "x")],
            json!({ "filter": { "tenant": "acme" }, "tenant": "b" }),
        ),
    ];
    for (params, arguments) in agreed {
        for piece in [1, 7, 4096] {
            assert!(judge(&head(params), &call(&arguments), piece).is_ok(), "{params:?} {arguments} {piece}");
        }
    }
}

type Disagreement<'t> = (&'t [(&'t str, &'t str)], Value, &'t str);

#[test]
fn parameters_that_disagree_are_told_what_each_side_said() {
    let disagreed: [Disagreement<'_>; 9] = [
        (
            &[],
            json!({ "region": "eu" }),
            "the header Mcp-Param-Region is not there, but params.arguments.region in the body says 'eu'",
        ),
        (
            &[("mcp-param-region", "us")],
            json!({}),
            "the header Mcp-Param-Region says 'us', but the body has no params.arguments.region",
        ),
        (
            &[("mcp-param-region", "us")],
            json!({ "region": null }),
            "the header Mcp-Param-Region says 'us', but params.arguments.region in the body is null",
        ),
        (
            &[("mcp-param-region", "us")],
            json!({ "region": "usa" }),
            "but params.arguments.region in the body says 'usa'",
        ),
        (&[("mcp-param-region", "us")], json!({ "region": ["us"] }), "in the body is an array"),
        (&[("mcp-param-region", "=?base64?!?=")], json!({ "region": "us" }), "which cannot be decoded"),
        (
            &[("mcp-param-limit", "9007199254740993")],
            json!({ "limit": 9_007_199_254_740_992_u64 }),
            "says '9007199254740992'",
        ),
        (&[("mcp-param-limit", "5")], json!({ "limit": "5" }), "says '5'"),
        (&[("mcp-param-region", "us")], json!({ "region": "u".repeat(500) }), "in the body goes on after 'uuu"),
    ];
    for (params, arguments, message) in disagreed {
        for piece in [1, 4096] {
            let fault = judge(&head(params), &call(&arguments), piece).map(|_| ()).unwrap_err();
            assert!(matches!(fault, Fault::Mismatch { .. }), "{fault:?}");
            assert!(fault.to_string().contains(message), "{fault}\n{message}");
        }
    }
}

#[test]
fn a_request_that_is_none_is_told_what_it_lacks() {
    let whole = call(&json!({}));
    let changed = [
        ("\"jsonrpc\":\"2.0\"", "\"jsonrpc\":\"1.0\"", "jsonrpc must be"),
        ("\"id\":7,", "", "no id"),
        ("\"id\":7,", "\"id\":null,", "a string or an integer"),
        ("\"id\":7,", "\"id\":1.5,", "a string or an integer"),
        ("\"method\":\"tools/call\"", "\"result\":{}", "never responses"),
        ("\"params\":{", "\"params\":[],\"x\":{", "params must be an object"),
        ("\"io.modelcontextprotocol/clientCapabilities\":{}", "\"y\":1", "clientCapabilities"),
        (
            "\"io.modelcontextprotocol/clientCapabilities\":{}",
            "\"io.modelcontextprotocol/clientCapabilities\":[]",
            "clientCapabilities",
        ),
        ("\"io.modelcontextprotocol/protocolVersion\"", "\"v\"", "protocolVersion"),
        ("\"2026-07-28\"", "\"2025-11-25\"", "MCP-Protocol-Version says '2026-07-28'"),
        ("\"tools/call\"", "\"tools/list\"", "Mcp-Method says 'tools/call'"),
        ("\"alpha__sql\"", "\"alpha__sqlx\"", "Mcp-Name says 'alpha__sql'"),
        ("\"alpha__sql\"", "{}", "params.name in the body is an object"),
    ];
    for (old, new, message) in changed {
        assert!(whole.contains(old), "{old}");
        let fault = judge(&head(&[]), &whole.replace(old, new), 4096).map(|_| ()).unwrap_err();
        assert!(fault.to_string().contains(message), "{fault}\n{message}");
    }
}

#[test]
fn the_id_is_read_even_of_a_request_that_disagrees_but_never_of_two() {
    let id = |body: &str| {
        let mut verifier = Verifier::new(&head(&[]), plan(), None);
        verifier.feed(&head(&[]), body.as_bytes());
        verifier.id().map(str::to_owned)
    };
    let lie = call(&json!({})).replace("alpha__sql", "beta__sql");
    assert_eq!(id(&lie).as_deref(), Some("7"));
    assert_eq!(id(&lie.replace("\"id\":7", "\"id\":\"a\\u0062\"")).as_deref(), Some("\"a\\u0062\""));
    assert_eq!(id(&lie.replace("\"id\":7", "\"id\":7,\"id\":8")), None);
    assert_eq!(id(&lie.replace("\"id\":7", "\"id\":[7]")), None);
}

#[test]
fn the_name_is_held_until_it_agrees_and_edited_once() {
    let body = call(&json!({ "region": null }));
    let start = body.find("\"alpha__sql\"").unwrap() as u64;
    let head = head(&[]);
    let mut verifier = Verifier::new(&head, plan(), Some("sql".into()));
    for (at, byte) in body.bytes().enumerate() {
        verifier.feed(&head, &[byte]);
        let complete = start + 12;
        if (at as u64) < complete - 1 {
            assert!(verifier.safe() <= start, "{at}");
            assert!(verifier.take_edit().is_none());
        }
        if at as u64 == complete - 1 {
            assert_eq!(verifier.take_edit(), Some(Edit { range: start..complete, value: "sql".into(), growth: 0 }));
        }
    }
    assert!(verifier.take_edit().is_none());
    assert_eq!(verifier.safe(), body.len() as u64 - 1);
    assert_eq!(verifier.finish(&head), Ok(()));
}

#[test]
fn a_name_that_goes_on_is_a_mismatch_before_it_ends() {
    let head = head(&[]);
    let mut verifier = Verifier::new(&head, plan(), None);
    verifier.feed(&head, br#"{"params":{"name":"alpha__sql"#);
    assert!(verifier.fault().is_none());
    verifier.feed(&head, &[b'l'; 100]);
    assert!(matches!(verifier.fault(), Some(Fault::Mismatch { body: BodySays::TooLong(_), .. })));
    assert!(verifier.safe() <= 18);
}

#[test]
fn declared_parameters_compare_by_what_the_body_holds() {
    let declared = |header: &str, path: &str| Declared { header: header.into(), path: vec![path.into()] };
    let plan = Plan::for_tool(&ToolRules::default(), &[declared("Limit", "limit")]);
    for (said, value, agrees) in
        [("5", json!(5.0), true), ("5", json!("5"), true), ("true", json!(true), true), ("6", json!(5), false)]
    {
        let head = head(&[("mcp-param-limit", said)]);
        let mut verifier = Verifier::new(&head, plan.clone(), None);
        verifier.feed(&head, call(&json!({ "limit": value })).as_bytes());
        assert_eq!(verifier.finish(&head).is_ok(), agrees, "{said} {value}");
    }
}

#[test]
fn a_tool_s_own_rule_holds_before_a_declared_one() {
    let declared = |header: &str, path: &str| Declared { header: header.into(), path: vec![path.into()] };
    let plan = Plan::for_tool(&rules(), &[declared("REGION", "elsewhere"), declared("Zone", "zone")]);
    assert_eq!(plan.headers().collect::<Vec<_>>(), ["Region", "Limit", "Dry-Run", "Tenant", "Zone"]);
}
