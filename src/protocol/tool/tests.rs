#![allow(clippy::needless_pass_by_value, reason = "json! makes values; tables read better without borrows")]

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn of(schema: Value) -> Result<ToolRules, Unlawful> {
    tool_rules(&json!({"name": "t", "inputSchema": schema}))
}

/// A schema with one property `p`.
fn with(property: Value) -> Result<ToolRules, Unlawful> {
    of(json!({"type": "object", "properties": {"p": property}}))
}

fn rule(header: &str, path: &[&str], kind: ParamKind) -> Rule {
    Rule { header: header.into(), path: path.iter().map(|&key| key.into()).collect(), kind }
}

#[test]
fn rules_are_read_at_any_depth() {
    let rules = of(json!({
        "type": "object",
        "properties": {
            "dry_run": {"type": "boolean", "x-mcp-header": "Dry-Run"},
            "filter": {"type": "object", "properties": {"tenant": {"x-mcp-header": "Tenant", "type": "string"}}},
            "limit": {"type": "integer", "x-mcp-header": "Limit"},
            "query": {"type": "string"},
            "region": {"type": "string", "x-mcp-header": "Region", "enum": ["us-west1"]}
        },
        "required": ["region"]
    }));
    let expected = vec![
        rule("Dry-Run", &["dry_run"], ParamKind::Boolean),
        rule("Tenant", &["filter", "tenant"], ParamKind::String),
        rule("Limit", &["limit"], ParamKind::Integer),
        rule("Region", &["region"], ParamKind::String),
    ];
    assert_eq!(rules, Ok(ToolRules { rules: expected }));
}

#[test]
fn a_tool_without_annotations_has_no_rules() {
    for schema in [json!({}), json!({"type": "object"}), json!({"properties": {"p": true}}), json!({"properties": []})]
    {
        assert_eq!(of(schema.clone()), Ok(ToolRules::default()), "{schema}");
    }
}

#[test]
fn names_are_tokens() {
    for good in ["Region", "a", "X-1", "!#$%&'*+-.^_`|~09azAZ", &"a".repeat(MAX_HEADER_BYTES)] {
        assert!(with(json!({"type": "string", "x-mcp-header": good})).is_ok(), "{good}");
    }
    for bad in ["My Region", "Region:Primary", "Région", "Region\t1", "a\r\nb", "a/b", "\"a\"", "(a)", "\u{0}", " "] {
        let found = with(json!({"type": "string", "x-mcp-header": bad}));
        assert!(matches!(found, Err(Unlawful::NotAToken { .. })), "{bad:?}: {found:?}");
    }
    let at = || "'properties.p'".to_owned();
    assert_eq!(with(json!({"type": "string", "x-mcp-header": ""})), Err(Unlawful::Empty { at: at() }));
    for other in [json!(null), json!(1), json!(["Region"]), json!({"name": "Region"})] {
        assert_eq!(with(json!({"type": "string", "x-mcp-header": other})), Err(Unlawful::NotAString { at: at() }));
    }
    let long = "a".repeat(MAX_HEADER_BYTES + 1);
    assert_eq!(with(json!({"type": "string", "x-mcp-header": long})), Err(Unlawful::HeaderTooLong { at: at() }));
}

#[test]
fn only_three_types_can_be_mirrored() {
    for bad in [
        json!("number"),
        json!("object"),
        json!("array"),
        json!("null"),
        json!("String"),
        json!(["string"]),
        json!(["string", "null"]),
        json!(1),
    ] {
        let found = with(json!({"type": bad, "x-mcp-header": "P"}));
        assert_eq!(found, Err(Unlawful::Kind { at: "'properties.p'".into(), found: bad.to_string() }));
    }
    for untyped in [json!({"x-mcp-header": "P"}), json!({"x-mcp-header": "P", "$ref": "#/$defs/a"})] {
        assert!(matches!(with(untyped), Err(Unlawful::Kind { found, .. }) if found == "none"));
    }
}

#[test]
fn headers_are_unique_without_case() {
    for (a, b) in [("Region", "Region"), ("MyField", "myfield")] {
        let found = of(json!({"properties": {
            "a": {"type": "string", "x-mcp-header": a},
            "b": {"type": "object", "properties": {"c": {"type": "string", "x-mcp-header": b}}}
        }}));
        let expected = Unlawful::Twice { header: quote(b), first: quote("a"), second: quote("b.c") };
        assert_eq!(found, Err(expected));
    }
}

#[test]
fn an_annotation_anywhere_else_makes_the_tool_unlawful() {
    let leaf = json!({"type": "string", "x-mcp-header": "P"});
    let inner = json!({"type": "object", "properties": {"q": leaf}});
    for keyword in [
        "items",
        "additionalItems",
        "unevaluatedItems",
        "contains",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
        "x-of-a-vendor",
    ] {
        for schema in [&leaf, &inner] {
            assert_misplaced(&json!({ keyword: schema }), keyword);
        }
    }
    for keyword in ["oneOf", "anyOf", "allOf", "prefixItems", "items"] {
        for schema in [&leaf, &inner] {
            assert_misplaced(&json!({ keyword: [{"type": "string"}, schema] }), keyword);
        }
    }
    for keyword in ["$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"] {
        for schema in [&leaf, &inner] {
            assert_misplaced(&json!({ keyword: {"n": schema} }), keyword);
        }
    }
    assert_misplaced(&leaf, "the root");
    assert_misplaced(&json!({"properties": [leaf]}), "properties that are no object");
    assert_misplaced(&json!({"properties": {"p": [leaf]}}), "a property that is an array");
}

/// Misplaced at the root and below a property, and no lawful rule beside it saves the tool.
fn assert_misplaced(schema: &Value, why: &str) {
    let below =
        json!({"properties": {"ok": {"type": "string", "x-mcp-header": "Ok"}, "p": {"properties": {"deep": schema}}}});
    let found = of(schema.clone());
    assert!(matches!(found, Err(Unlawful::Misplaced { .. })), "{why}: {found:?}");
    // A lawful leaf becomes lawful below a property.
    if schema.get(ANNOTATION).is_none() {
        let found = of(below);
        assert!(matches!(found, Err(Unlawful::Misplaced { .. })), "{why}: {found:?}");
    }
}

#[test]
fn names_and_values_annotate_nothing() {
    let data = json!({"x-mcp-header": "P"});
    let property = json!({"type": "object", "default": data, "const": data, "enum": [data], "examples": [data]});
    assert_eq!(with(property), Ok(ToolRules::default()));
    // A property may be called so.
    let named = json!({"properties": {"x-mcp-header": {"type": "string", "x-mcp-header": "P"}, "properties": {"type": "string"}}});
    let expected = vec![rule("P", &["x-mcp-header"], ParamKind::String)];
    assert_eq!(of(named), Ok(ToolRules { rules: expected }));
    let properties =
        json!({"properties": {"properties": {"properties": {"properties": {"type": "integer", "x-mcp-header": "P"}}}}});
    let expected = vec![rule("P", &["properties", "properties"], ParamKind::Integer)];
    assert_eq!(of(properties), Ok(ToolRules { rules: expected }));
    for keyword in ["$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"] {
        let named = json!({ keyword: {"x-mcp-header": {"type": "string"}} });
        assert_eq!(of(named), Ok(ToolRules::default()), "{keyword}");
    }
    assert_eq!(
        of(json!({"required": ["x-mcp-header"], "dependentRequired": {"x-mcp-header": ["a"]}})),
        Ok(ToolRules::default())
    );
}

#[test]
fn everything_is_bounded() {
    let many = |count: usize| {
        let properties: Map<_, _> =
            (0..count).map(|n| (format!("p{n}"), json!({"type": "string", "x-mcp-header": format!("H{n}")}))).collect();
        of(json!({"properties": properties}))
    };
    assert_eq!(many(MAX_RULES).unwrap().rules.len(), MAX_RULES);
    assert_eq!(many(MAX_RULES + 1), Err(Unlawful::TooMany));

    let deep = |levels: usize, key: &str, leaf: Value| {
        (0..levels).fold(leaf, |schema, _| json!({"properties": {key: schema}}))
    };
    let leaf = || json!({"type": "string", "x-mcp-header": "P"});
    assert_eq!(of(deep(MAX_PATH, "p", leaf())).unwrap().rules[0].path.len(), MAX_PATH);
    assert!(matches!(of(deep(MAX_PATH + 1, "p", leaf())), Err(Unlawful::PathTooLong { .. })));
    assert!(of(deep(1, &"k".repeat(MAX_PATH_BYTES), leaf())).is_ok());
    assert!(matches!(of(deep(1, &"k".repeat(MAX_PATH_BYTES + 1), leaf())), Err(Unlawful::PathTooLong { .. })));
    assert!(of(deep(MAX_SCHEMA_DEPTH / 2, "p", json!({}))).is_ok());
    assert_eq!(of(deep(MAX_SCHEMA_DEPTH, "p", json!({}))), Err(Unlawful::TooDeep));
    let arrays = (0..1000).fold(json!(1), |value, _| Value::Array(vec![value]));
    assert_eq!(of(Value::Object(Map::from_iter([("allOf".to_owned(), arrays)]))), Err(Unlawful::TooDeep));
}

#[test]
fn messages_quote_and_cut_what_the_server_wrote() {
    let name = format!("\n\u{1b}[31m{}", "x".repeat(5000));
    let found = of(json!({"properties": {name: {"type": "string", "x-mcp-header": "a b"}}})).unwrap_err();
    let text = found.to_string();
    assert!(!text.contains(['\n', '\u{1b}']) && text.len() < 400, "{text}");
    assert!(text.contains("'a b'"), "{text}");
}

#[test]
fn a_schema_is_required() {
    for tool in
        [json!({"name": "t"}), json!({"inputSchema": true}), json!({"inputSchema": null}), json!([]), json!("t")]
    {
        assert_eq!(tool_rules(&tool), Err(Unlawful::NoSchema), "{tool}");
    }
}

/// Schemas with annotations strewn about, lawful and not.
fn strewn() -> impl Strategy<Value = Value> {
    let header = prop_oneof!["[A-Ca-c]", Just("a b".to_owned())];
    let leaf =
        (prop_oneof![Just("string"), Just("integer"), Just("boolean"), Just("number")], prop::option::of(header))
            .prop_map(|(kind, header)| match header {
                Some(header) => json!({"type": kind, "x-mcp-header": header}),
                None => json!({"type": kind}),
            });
    leaf.prop_recursive(4, 24, 4, |inner| {
        let keyword =
            prop_oneof![3 => Just("properties"), 1 => Just("$defs"), 1 => Just("items"), 1 => Just("default")];
        (keyword, prop::collection::btree_map("[p-s]", inner, 0..4)).prop_map(|(keyword, named)| match keyword {
            "items" => json!({"type": "array", "items": named.into_values().collect::<Vec<_>>()}),
            keyword => json!({"type": "object", keyword: named}),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    /// Each rule leads, through `properties` alone, to the annotation it came from; no two share a header.
    #[test]
    fn rules_lead_to_their_annotations(schema in strewn()) {
        let Ok(found) = of(schema.clone()) else { return Ok(()) };
        let mut headers = std::collections::HashSet::new();
        for rule in &found.rules {
            let target = rule.path.iter().try_fold(&schema, |schema, key| schema.get("properties")?.get(key));
            let target = target.expect("the path leads somewhere");
            prop_assert_eq!(target.get(ANNOTATION).and_then(Value::as_str), Some(rule.header.as_str()));
            let kind = match rule.kind {
                ParamKind::String => "string",
                ParamKind::Integer => "integer",
                ParamKind::Boolean => "boolean",
            };
            prop_assert_eq!(target.get("type").and_then(Value::as_str), Some(kind));
            prop_assert!(headers.insert(rule.header.to_ascii_lowercase()));
        }
        // A lawful tool has a rule for every annotation that is not data.
        prop_assert_eq!(found.rules.len(), annotations(&schema));
    }
}

fn annotations(schema: &Value) -> usize {
    let Value::Object(members) = schema else {
        return schema.as_array().map_or(0, |values| values.iter().map(annotations).sum());
    };
    let below = members.iter().filter(|(key, _)| *key != "default").map(|(_, value)| annotations(value));
    below.sum::<usize>() + usize::from(members.get(ANNOTATION).is_some_and(Value::is_string))
}
