//! Whatever is sent as a schema or a value: every answer comes, and every message is bounded.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Validator, check_input};
use super::{DIALECTS, MAX_FAULT, MAX_MESSAGE, MAX_PLACES};

const KEYWORDS: &[&str] = &[
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$schema",
    "$defs",
    "definitions",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "minContains",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "enum",
    "const",
    "pattern",
    "minimum",
    "multipleOf",
    "maxLength",
    "uniqueItems",
    "format",
    "contentEncoding",
    "a",
    "b",
];
const TEXTS: &[&str] = &[
    "#",
    "#/$defs/a",
    "#/definitions/b",
    "#a",
    "#b",
    "a",
    "b",
    "b#a",
    "#/properties/a",
    "#/allOf/0",
    "http://x.example/a",
    "",
    "%",
    "::",
    "#/%ff",
    "string",
    "object",
    "array",
    "^a",
    "(a|a)*b",
    "(?=a)a",
    "[",
    "line\nbreak",
];

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3..9_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        proptest::sample::select(TEXTS).prop_map(Value::from),
        proptest::sample::select(&DIALECTS[..]).prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let name = prop_oneof![any::<String>(), proptest::sample::select(&["a", "b"][..]).prop_map(str::to_owned)];
    leaf().prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(name.clone(), inner, 0..6).prop_map(|members| json!(members)),
        ]
    })
}

/// Any JSON whose members are mostly named like keywords.
fn wild_schema() -> impl Strategy<Value = Value> {
    let name = proptest::sample::select(KEYWORDS).prop_map(str::to_owned);
    leaf().prop_recursive(6, 80, 6, move |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..5).prop_map(Value::from),
            4 => btree_map(name.clone(), inner, 0..6).prop_map(|members| json!(members)),
        ]
    })
}

/// Schemas that the meta-schema accepts, with references to and fro.
fn lawful_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        proptest::sample::select(&["#/$defs/a", "#/$defs/b", "#"][..]).prop_map(|to| json!({"$ref": to})),
        proptest::sample::select(&["string", "integer", "object", "array"][..]).prop_map(|name| json!({"type": name})),
        Just(json!({"enum": ["a", 1]})),
        Just(json!({"$dynamicRef": "#n"})),
        Just(json!({"pattern": "^(?=a)(a|a)*$"})),
    ];
    let schema = leaf.prop_recursive(5, 40, 4, |inner| {
        let list = vec(inner.clone(), 1..4);
        let named = btree_map(proptest::sample::select(&["a", "b", "c"][..]), inner.clone(), 0..3);
        prop_oneof![
            (proptest::sample::select(&["allOf", "anyOf", "oneOf", "prefixItems"][..]), list)
                .prop_map(|(keyword, list)| json!({keyword: list})),
            (proptest::sample::select(&["properties", "patternProperties", "dependentSchemas"][..]), named)
                .prop_map(|(keyword, named)| json!({keyword: named})),
            (
                proptest::sample::select(
                    &["not", "if", "items", "contains", "unevaluatedProperties", "propertyNames"][..]
                ),
                inner
            )
                .prop_map(|(keyword, schema)| json!({keyword: schema})),
        ]
    });
    (schema.clone(), schema.clone(), schema).prop_map(|(root, a, b)| {
        json!({"allOf": [root], "$defs": {"a": a, "b": b, "n": {"$dynamicAnchor": "n", "type": ["object", "array", "string"]}}})
    })
}

fn all_is_bounded(schema: &Value, value: &Value) -> bool {
    if let Err(fault) = check_input(schema) {
        assert!(fault.to_string().chars().count() <= MAX_FAULT, "{fault}");
        assert!(!fault.to_string().chars().any(char::is_control));
    }
    match Validator::compile(schema) {
        Err(fault) => assert!(fault.to_string().chars().count() <= MAX_FAULT, "{fault}"),
        Ok(validator) => {
            let Err(complaint) = validator.check(value) else { return true };
            assert!(complaint.to_string().chars().count() <= MAX_MESSAGE, "{complaint}");
            assert!(complaint.to_string().lines().count() <= 5, "{complaint}");
            assert!(complaint.places().chars().count() <= MAX_PLACES, "{}", complaint.places());
            return true;
        }
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_is_answered(schema in value(), value in value()) {
        all_is_bounded(&schema, &value);
    }

    #[test]
    fn any_keywords_are_answered(schema in wild_schema(), value in value()) {
        all_is_bounded(&schema, &value);
    }

    #[test]
    fn any_lawful_schema_is_answered(schema in lawful_schema(), value in value()) {
        all_is_bounded(&schema, &value);
    }
}

/// The generator above is of use only if much of what it makes can be compiled.
#[test]
fn lawful_schemas_mostly_compile() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let compiled = (0..100)
        .filter(|_| {
            let schema = lawful_schema().new_tree(&mut runner).expect("a schema").current();
            all_is_bounded(&schema, &json!({"a": {"b": "a"}}))
        })
        .count();
    assert!(compiled >= 40, "{compiled}");
}
