//! The lists of a fleet over real sockets: what clients are given, and what it costs the servers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::gateway::{Gateway, Setup};
use support::raw::{self, Response};
use support::request::Request;
use support::scripted::{Asked, Reply, Scripted, tool, tools};
use support::{each, eventually, refusal};

const SECOND: Duration = Duration::from_secs(1);

fn list(kind: &str) -> Request {
    Request::of(&format!("{kind}/list"), None, json!({}))
}

fn ask(gateway: &Gateway, request: &Request) -> Response {
    raw::exchange(gateway.address, request).unwrap()
}

#[track_caller]
fn result(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{}", response.brief());
    response.json().unwrap()["result"].clone()
}

fn names(result: &Value) -> Vec<String> {
    result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn tools_of(gateway: &Gateway) -> Vec<String> {
    names(&result(&ask(gateway, &list("tools"))))
}

/// A port on which nobody listens.
fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[test]
fn all_pages_of_all_servers_are_one_list_in_a_stable_order_and_cost_one_walk() {
    let paged = Scripted::lists(|asked| {
        let (items, next) = match asked.cursor.as_deref() {
            None => (vec![tool("d"), tool("b")], Some("")),
            Some("") => (vec![tool("c")], Some("x\u{e9}\"")),
            Some("x\u{e9}\"") => (vec![tool("a")], None),
            Some(_) => return Reply::error(-32602, "no such cursor"),
        };
        let mut page = json!({ "tools": items, "ttlMs": 60_000, "cacheScope": "public", "resultType": "complete" });
        if let Some(next) = next {
            page["nextCursor"] = next.into();
        }
        Reply::result(&page)
    });
    let events = Scripted::lists(|_| tools(&["z"], 60_000, "public").in_events());
    let gateway = Setup::default().server("one", paged.address, "").server("two", events.address, "").start();
    let all = ["one__a", "one__b", "one__c", "one__d", "two__z"];
    for _ in 0..10 {
        assert_eq!(tools_of(&gateway), all);
    }
    assert_eq!((paged.asked("tools/list").len(), events.asked("tools/list").len()), (3, 1));
    // A server's own endpoint is answered from the same list.
    let own = result(&ask(&gateway, &list("tools").to("/mcp/one")));
    assert_eq!(names(&own), ["a", "b", "c", "d"]);
    assert_eq!(paged.asked("tools/list").len(), 3);
}

#[test]
fn items_go_out_as_their_server_wrote_them_but_for_name_and_uris() {
    const ITEM: &str = r#"{ "x":[1.50, 123456789012345678901234567890,0.10],"inputSchema":{"type":"object","properties":{"region":{},"limit":{},"dry_run":{}}} ,"name" : "caf\u00e9" ,"_meta":{"ui":{"resourceUri":"ui://app/x.html"},"k":null}}"#;
    let server = Scripted::lists(|_| Reply::raw(format!(r#"{{"tools":[{ITEM}],"ttlMs":0,"cacheScope":"public"}}"#)));
    let gateway = Setup::default().server("s", server.address, "").start();
    let merged = ask(&gateway, &list("tools"));
    let text = String::from_utf8(merged.body.clone()).unwrap();
    let expected = ITEM.replace(r#""caf\u00e9""#, r#""s__café""#).replace("ui://app", "ui://s/app");
    assert!(text.contains(&expected), "{text}");
    let own = ask(&gateway, &list("tools").to("/mcp/s"));
    assert!(String::from_utf8(own.body).unwrap().contains(ITEM));
}

#[test]
fn two_hundred_who_miss_at_once_cost_one_request() {
    let slow = || Scripted::lists(|_| tools(&["a"], 60_000, "public").after(SECOND / 2));
    let (shared, forwarded) = (slow(), slow());
    let gateway = Setup::default()
        .server("one", shared.address, "")
        .server("two", forwarded.address, "authorization = \"forward\"")
        .start();
    let at_once = |token: Option<&str>| {
        std::thread::scope(|scope| {
            let gateway = &gateway;
            let ask = |_| {
                let request = token.map_or_else(|| list("tools"), |token| list("tools").with("Authorization", token));
                scope.spawn(move || tools_from(gateway, &request))
            };
            let waiting: Vec<_> = (0..200).map(ask).collect();
            for one in waiting {
                assert_eq!(one.join().unwrap(), ["one__a", "two__a"]);
            }
        });
    };
    at_once(None);
    assert_eq!((shared.asked("tools/list").len(), forwarded.asked("tools/list").len()), (1, 1));
    // What is public is everyone's, whoever it was fetched for.
    at_once(Some("Bearer x"));
    assert_eq!((shared.asked("tools/list").len(), forwarded.asked("tools/list").len()), (1, 1));
}

fn tools_from(gateway: &Gateway, request: &Request) -> Vec<String> {
    names(&result(&ask(gateway, request)))
}

#[test]
fn with_forwarded_credentials_private_lists_are_each_callers_own() {
    let private = Scripted::lists(|asked| {
        let whose = asked.credential.clone().unwrap_or_else(|| "Bearer nobody".into());
        tools(&[whose.trim_start_matches("Bearer ")], 60_000, "private").after(SECOND / 10)
    });
    let gateway = Setup::default().server("s", private.address, "authorization = \"forward\"").start();
    let of = |caller: usize| list("tools").with("Authorization", &format!("Bearer c{caller}"));
    for _ in 0..2 {
        std::thread::scope(|scope| {
            let gateway = &gateway;
            let ask = |number: usize| scope.spawn(move || (number % 10, tools_from(gateway, &of(number % 10))));
            let answers: Vec<_> = (0..50).map(ask).collect();
            for answer in answers {
                let (caller, names) = answer.join().unwrap();
                assert_eq!(names, [format!("s__c{caller}")]);
            }
        });
    }
    assert_eq!(private.asked("tools/list").len(), 10);
    assert_eq!(tools_of(&gateway), ["s__nobody"]);
    let answer = result(&ask(&gateway, &of(1)));
    assert_eq!(answer["cacheScope"], "private");
}

#[test]
fn a_time_counts_down_and_ends_in_one_more_request() {
    let server = Scripted::lists(|_| tools(&["a"], 1_500, "public"));
    let gateway = Setup::default().server("s", server.address, "").start();
    let left = || result(&ask(&gateway, &list("tools")))["ttlMs"].as_u64().unwrap();
    let (first, start) = (left(), Instant::now());
    assert!(first <= 1_500, "{first}");
    std::thread::sleep(SECOND / 2);
    let second = left();
    assert!(second + 400 < first, "{first} {second}");
    assert_eq!(server.asked("tools/list").len(), 1);
    std::thread::sleep(Duration::from_millis(1_600).saturating_sub(start.elapsed()));
    assert!(left() > 1_000);
    assert_eq!(server.asked("tools/list").len(), 2);
}

#[test]
fn a_server_that_hangs_dies_or_lies_holds_up_nobody_and_is_named() {
    let well = Scripted::lists(|_| tools(&["a"], 60_000, "public"));
    let ill: Vec<(&str, Scripted)> = vec![
        ("silent", Scripted::start(|_| Reply::silence())),
        ("closing", Scripted::start(|_| Reply::closing())),
        ("failing", Scripted::start(|_| Reply { status: "500 Oh No", ..Reply::error(-32603, "no") })),
        ("lying", Scripted::start(|_| Reply::result(&json!({ "tools": "none" })))),
        ("asking", Scripted::start(|_| Reply::result(&json!({ "resultType": "input_required" })))),
    ];
    let mut setup = Setup::default().server("well", well.address, "").server("gone", nobody(), "");
    for (name, server) in &ill {
        setup = setup.server(name, server.address, "timeouts = { list = \"500ms\" }");
    }
    let gateway = setup.start();
    let start = Instant::now();
    let answer = result(&ask(&gateway, &list("tools")));
    assert!(start.elapsed() < 3 * SECOND, "{:?}", start.elapsed());
    assert_eq!(names(&answer), ["well__a"]);
    let unavailable = json!(["gone", "silent", "closing", "failing", "lying", "asking"]);
    assert_eq!(answer["_meta"]["mcp-signpost/unavailable"], unavailable);
    assert!(answer["ttlMs"].as_u64().unwrap() <= 5_000);
    assert_eq!(answer["cacheScope"], "private");
    // Nobody waits for them again so soon.
    let start = Instant::now();
    assert_eq!(tools_of(&gateway), ["well__a"]);
    assert!(start.elapsed() < SECOND / 4, "{:?}", start.elapsed());
    let (_, status) = gateway.admin_get("/metrics").unwrap();
    assert!(status.contains(r#"signpost_partial_lists_total{method="tools/list",reason="unavailable"} 2"#), "{status}");
}

#[test]
fn a_servers_last_list_serves_while_it_fails_and_its_return_is_seen() {
    let server = Scripted::lists(|_| tools(&["old"], 100, "public"));
    let gateway = Setup::default().cache("partial_ttl = \"300ms\"").server("s", server.address, "").start();
    assert_eq!(tools_of(&gateway), ["s__old"]);
    server.answer(|_| Reply::closing());
    std::thread::sleep(SECOND / 5);
    for _ in 0..5 {
        assert_eq!(tools_of(&gateway), ["s__old"]);
    }
    server.answer_lists(|_| tools(&["new"], 60_000, "public"));
    assert!(eventually(3 * SECOND, || tools_of(&gateway) == ["s__new"]));
    let (_, metrics) = gateway.admin_get("/metrics").unwrap();
    assert!(!metrics.contains(r#"signpost_cache_requests_total{method="tools/list",result="stale"} 0"#), "{metrics}");
}

#[test]
fn where_there_is_no_list_the_client_learns_why() {
    type Script = fn(&Asked) -> Reply;
    let cases: [(&str, Script, u16, i64); 5] = [
        ("silent", |_| Reply::silence(), 504, 1009),
        ("closing", |_| Reply::closing(), 502, 1009),
        ("unauthorized", |_| Reply::unauthorized(), 401, 1009),
        ("without", |_| Reply::no_method(), 404, -32601),
        ("refusing", |_| Reply::error(-32001, "not today"), 200, -32001),
    ];
    for (what, script, status, code) in cases {
        let server = Scripted::start(script);
        let lines = "timeouts = { list = \"300ms\" }";
        let gateway =
            Setup::default().server("one", server.address, lines).server("two", server.address, lines).start();
        for path in ["/mcp", "/mcp/one"] {
            let request = list("tools").to(path);
            let response = ask(&gateway, &request);
            refusal::check(&response, status, |found| found == code, request.id().as_ref())
                .unwrap_or_else(|why| panic!("{what} at {path}: {why}"));
            if status == 401 {
                assert_eq!(response.header("www-authenticate").as_deref(), Some("Bearer scope=\"lists\""));
            }
        }
    }
}

#[test]
fn a_list_without_a_required_server_is_none() {
    let well = Scripted::lists(|_| tools(&["a"], 60_000, "public"));
    let gateway = Setup::default().server("well", well.address, "").server("gone", nobody(), "required = true").start();
    let response = ask(&gateway, &list("tools"));
    assert_eq!((response.status, response.code()), (502, Some(1009)), "{}", response.brief());
    assert!(response.message().contains("gone"), "{}", response.message());
}

#[test]
fn ten_thousand_tools_in_a_hundred_pages_and_a_hundred_servers() {
    let large = Scripted::lists(|asked| {
        let page: usize = asked.cursor.as_deref().map_or(0, |cursor| cursor.parse().unwrap());
        let names: Vec<String> = (0..100).map(|item| format!("t{:05}", page * 100 + item)).collect();
        let items: Vec<Value> = names.iter().map(|name| tool(name)).collect();
        let mut result = json!({ "tools": items, "ttlMs": 60_000, "cacheScope": "public" });
        if page < 99 {
            result["nextCursor"] = (page + 1).to_string().into();
        }
        Reply::result(&result)
    });
    let small = Scripted::lists(|_| tools(&["a"], 60_000, "public"));
    let mut setup = Setup::default().server("large", large.address, "");
    for number in 0..100 {
        setup = setup.server(&format!("s{number}"), small.address, "");
    }
    let gateway = setup.start();
    let start = Instant::now();
    assert_eq!(tools_of(&gateway).len(), 10_100);
    assert!(start.elapsed() < 10 * SECOND, "{:?}", start.elapsed());
    assert_eq!((large.asked("tools/list").len(), small.asked("tools/list").len()), (100, 100));
    assert_eq!(tools_of(&gateway).len(), 10_100);
    assert_eq!((large.asked("tools/list").len(), small.asked("tools/list").len()), (100, 100));
}

#[test]
fn a_list_without_end_is_cut_and_says_so_everywhere() {
    let endless = Scripted::lists(|asked| {
        let next = asked.cursor.as_deref().unwrap_or("0").to_owned();
        let result = json!({ "tools": [tool(&format!("t{next}"))], "nextCursor": next, "ttlMs": 60_000 });
        Reply::result(&result)
    });
    let gateway = Setup::default().server("s", endless.address, "").start();
    let answer = result(&ask(&gateway, &list("tools")));
    assert_eq!(answer["_meta"]["mcp-signpost/incomplete"], json!(["s"]));
    let words = "tools/list of server s is cut short: it repeats the cursor";
    assert!(eventually(SECOND, || gateway.output().contains(words)), "{}", gateway.output());
    let (_, metrics) = gateway.admin_get("/metrics").unwrap();
    assert!(metrics.contains(r#"signpost_partial_lists_total{method="tools/list",reason="cut"} 1"#), "{metrics}");
}

#[test]
fn pages_are_cut_to_size_and_foreign_cursors_refused() {
    let server = Scripted::lists(|_| tools(&["a", "b", "c", "d", "e"], 60_000, "public"));
    let gateway = Setup::default().gateway("list_page_size = 2").server("s", server.address, "").start();
    let page = |cursor: Option<&Value>| {
        let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        Request::of("tools/list", None, params)
    };
    let (mut walked, mut cursor) = (Vec::new(), None::<Value>);
    loop {
        let answer = result(&ask(&gateway, &page(cursor.as_ref())));
        walked.push(names(&answer).len());
        match answer.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    assert_eq!(walked, [2, 2, 1]);
    each([json!(""), json!("2"), json!("AQAAAA"), json!(7), json!("é"), json!("x".repeat(40_000))], |foreign| {
        let request = page(Some(foreign));
        refusal::check(&ask(&gateway, &request), 200, |code| code == -32602, request.id().as_ref())
    });
    assert_eq!(server.asked("tools/list").len(), 1);
}

#[test]
fn what_comes_with_a_cookie_or_varies_by_credentials_is_not_shared() {
    for field in ["Set-Cookie: a=b", "Vary: Accept, Authorization", "Vary: *"] {
        let server = Scripted::lists(move |_| tools(&["a"], 60_000, "public").with_field(field));
        let gateway = Setup::default().server("s", server.address, "authorization = \"forward\"").start();
        for token in ["Bearer one", "Bearer two"] {
            let answer = result(&ask(&gateway, &list("tools").with("Authorization", token)));
            assert_eq!(answer["cacheScope"], "private", "{field}");
        }
        assert_eq!(server.asked("tools/list").len(), 2, "{field}");
    }
    let server = Scripted::lists(|_| tools(&["a"], 60_000, "public").with_field("Vary: Accept-Encoding"));
    let gateway = Setup::default().server("s", server.address, "authorization = \"forward\"").start();
    for token in ["Bearer one", "Bearer two"] {
        ask(&gateway, &list("tools").with("Authorization", token));
    }
    assert_eq!(server.asked("tools/list").len(), 1);
}

/// A client of these capabilities.
fn capable(capabilities: &Value) -> Request {
    let mut request = list("tools");
    let mut body: Value = serde_json::from_slice(&request.body).unwrap();
    body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    request.body = body.to_string().into();
    request
}

#[test]
fn capabilities_shape_lists_and_cannot_flush_what_others_share() {
    let server = Scripted::lists(|asked| {
        let name = if asked.capabilities.get("elicitation").is_some() { "asks" } else { "plain" };
        tools(&[name], 60_000, "public")
    });
    let gateway = Setup::default().server("s", server.address, "").start();
    assert_eq!(tools_of(&gateway), ["s__plain"]);
    for capabilities in [json!({ "elicitation": {}, "x": 1 }), json!({ "x": 1, "elicitation": {} })] {
        assert_eq!(tools_from(&gateway, &capable(&capabilities)), ["s__asks"]);
    }
    assert_eq!(server.asked("tools/list").len(), 2, "the order of members says nothing");
    let hostile: Vec<_> = (0..200)
        .map(|number| ask(&gateway, &capable(&json!({ "experimental": { format!("{number}"): {} } }))))
        .map(|response| response.status)
        .collect();
    assert!(hostile.contains(&503), "{hostile:?}");
    assert!(server.asked("tools/list").len() < 60, "{}", server.asked("tools/list").len());
    assert_eq!(tools_of(&gateway), ["s__plain"]);
    assert_eq!(tools_from(&gateway, &capable(&json!({ "elicitation": {}, "x": 1 }))), ["s__asks"]);
    let before = server.asked("tools/list").len();
    assert_eq!(tools_of(&gateway), ["s__plain"]);
    assert_eq!(server.asked("tools/list").len(), before);
}

#[test]
fn what_a_request_says_besides_is_no_part_of_the_key_and_rounds_are_refused() {
    let server = Scripted::lists(|_| tools(&["a"], 60_000, "public"));
    let gateway = Setup::default().server("s", server.address, "").start();
    for token in 0..5 {
        let mut request = list("tools");
        let mut body: Value = serde_json::from_slice(&request.body).unwrap();
        body["params"]["_meta"]["progressToken"] = token.into();
        body["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["version"] = token.to_string().into();
        request.body = body.to_string().into();
        assert_eq!(tools_from(&gateway, &request), ["s__a"]);
    }
    assert_eq!(server.asked("tools/list").len(), 1);
    for member in ["inputResponses", "requestState"] {
        let request = Request::of("tools/list", None, json!({ member: {} }));
        refusal::check(&ask(&gateway, &request), 200, |code| code == -32602, request.id().as_ref()).unwrap();
    }
}

#[test]
fn an_operator_may_assert_what_servers_fail_to_say_and_keep_nothing() {
    let (assumed, off) =
        (Scripted::lists(|_| tools(&["a"], 0, "private")), Scripted::lists(|_| tools(&["a"], 60_000, "public")));
    let gateway = Setup::default()
        .server("assumed", assumed.address, "cache = { assume = \"public\", ttl = \"1m\" }")
        .server("off", off.address, "cache = \"off\"")
        .start();
    for path in ["/mcp/assumed", "/mcp/off", "/mcp/assumed", "/mcp/off"] {
        assert_eq!(tools_from(&gateway, &list("tools").to(path)), ["a"]);
    }
    assert_eq!((assumed.asked("tools/list").len(), off.asked("tools/list").len()), (1, 2));
    let (status, text) = gateway.admin_get("/status").unwrap();
    let shown: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(status, 200);
    assert!(shown["servers"][0]["cache"].as_str().unwrap().contains("assumed"), "{text}");
    assert_eq!(shown["servers"][0]["lists"][0]["kept_for"], "everyone", "{text}");
    assert_eq!(shown["servers"][0]["lists"][0]["items"], 1, "{text}");
}

#[test]
fn a_thousand_callers_stay_within_memory_and_leave_others_fast() {
    let server = Scripted::lists(|asked| {
        let whose = asked.credential.clone().unwrap_or_default();
        let large: Vec<Value> =
            (0..20).map(|number| tool(&format!("{}-{number}-{}", whose.replace(' ', ""), "x".repeat(500)))).collect();
        Reply::result(&json!({ "tools": large, "ttlMs": 600_000, "cacheScope": "private" }))
    });
    let public = Scripted::lists(|_| tools(&["a"], 600_000, "public"));
    let gateway = Setup::default()
        .cache("max_bytes = 2_097_152")
        .server("s", server.address, "authorization = \"forward\"")
        .server("p", public.address, "")
        .start();
    ask(&gateway, &list("tools").to("/mcp/p"));
    let before = gateway.resident();
    for caller in 0..1_000 {
        ask(&gateway, &list("tools").with("Authorization", &format!("Bearer {caller}")));
    }
    let grown = gateway.resident().saturating_sub(before);
    assert!(grown < 48 << 20, "{} MiB", grown >> 20);
    let (_, metrics) = gateway.admin_get("/metrics").unwrap();
    let bytes: f64 =
        metrics.lines().find_map(|line| line.strip_prefix("signpost_cache_bytes ")).unwrap().parse().unwrap();
    assert!(bytes <= 2_200_000.0, "{bytes}");
    assert_eq!(public.asked("tools/list").len(), 1, "what others share was not pushed out");
}
