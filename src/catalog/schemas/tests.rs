//! Schemas and values, lawful and not. What is at fault, hostile or random is next door.

mod faults;
mod hostile;
mod random;

use serde_json::{Value, json};

use super::{Schemas, Validator, check_input};

/// What a message may take in characters, whoever wrote the schema and the value.
const MAX_MESSAGE: usize = 1_500;
const MAX_PLACES: usize = 300;
const MAX_FAULT: usize = 200;

fn compile(schema: &Value) -> Validator {
    Validator::compile(schema).unwrap_or_else(|fault| panic!("{fault}: {schema:.300}"))
}

fn fault(schema: &Value) -> String {
    let fault = Validator::compile(schema).expect_err("compiled").to_string();
    assert!(fault.chars().count() <= MAX_FAULT, "{fault}");
    fault
}

fn complaint(schema: &Value, value: &Value) -> String {
    let complaint = compile(schema).check(value).expect_err("holds");
    assert!(complaint.to_string().chars().count() <= MAX_MESSAGE, "{complaint}");
    assert!(complaint.places().chars().count() <= MAX_PLACES, "{}", complaint.places());
    complaint.to_string()
}

const DIALECTS: [&str; 5] = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];

#[test]
fn every_dialect_is_spoken() {
    for dialect in DIALECTS {
        let schema = json!({
            "$schema": dialect, "type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"$ref": "#/definitions/a"}, "tree": {"$ref": "#"}},
            "definitions": {"a": {"type": "integer", "minimum": 3}},
        });
        check_input(&schema).unwrap();
        let validator = compile(&schema);
        for (value, holds) in [
            (json!({"a": 3}), true),
            (json!({"a": 3, "tree": {"a": 4, "tree": {"a": 5}}}), true),
            (json!({"a": 2}), false),
            (json!({"a": 3, "tree": {"a": 4, "tree": {}}}), false),
            (json!({"a": 3, "b": 1}), false),
            (json!([]), false),
        ] {
            assert_eq!(validator.check(&value).is_ok(), holds, "{dialect} {value}");
        }
    }
}

#[test]
fn dialects_differ() {
    let cases = [
        // Draft 4 has booleans for exclusive limits, later ones numbers.
        (0, json!({"minimum": 1, "exclusiveMinimum": true}), json!(1), false),
        (4, json!({"exclusiveMinimum": 1}), json!(1), false),
        // Draft 4 does not know `const`, nor 6 `if`.
        (0, json!({"const": 1}), json!(2), true),
        (1, json!({"const": 1}), json!(2), false),
        (1, json!({"if": true, "then": false}), json!(2), true),
        (2, json!({"if": true, "then": false}), json!(2), false),
        // Up to draft 7 a reference hides its siblings.
        (2, json!({"$ref": "#/definitions/any", "type": "string", "definitions": {"any": true}}), json!(1), true),
        (3, json!({"$ref": "#/$defs/any", "type": "string", "$defs": {"any": true}}), json!(1), false),
        // Tuples.
        (3, json!({"items": [{"type": "string"}]}), json!([1]), false),
        (4, json!({"prefixItems": [{"type": "string"}]}), json!([1]), false),
        (3, json!({"prefixItems": [{"type": "string"}]}), json!([1]), true),
        // `$defs` may be referred to by place in any dialect.
        (2, json!({"allOf": [{"$ref": "#/$defs/s"}], "$defs": {"s": {"type": "string"}}}), json!(1), false),
    ];
    for (dialect, mut schema, value, holds) in cases {
        schema["$schema"] = json!(DIALECTS[dialect]);
        assert_eq!(compile(&schema).check(&value).is_ok(), holds, "{schema} {value}");
    }
}

#[test]
fn the_root_of_an_input_schema_is_an_object() {
    for schema in [json!({"type": "object"}), json!({"type": "object", "properties": {"a": true}})] {
        check_input(&schema).unwrap();
    }
    for schema in [
        json!({}),
        json!(true),
        json!(null),
        json!("object"),
        json!([{"type": "object"}]),
        json!({"type": "string"}),
        json!({"type": ["object"]}),
        json!({"type": ["object", "null"]}),
        json!({"properties": {}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}),
    ] {
        let fault = check_input(&schema).expect_err("accepted").to_string();
        assert_eq!(fault, r#"/: an inputSchema must be an object with "type": "object""#, "{schema}");
    }
}

#[test]
fn an_output_schema_may_be_anything() {
    for (schema, value, holds) in [
        (json!(true), json!(1), true),
        (json!(false), json!(1), false),
        (json!({}), json!(null), true),
        (json!({"type": "array", "items": {"type": "string"}}), json!(["a"]), true),
        (json!({"type": "array", "items": {"type": "string"}}), json!([1]), false),
        (json!({"type": ["object", "null"]}), json!(null), true),
    ] {
        assert_eq!(compile(&schema).check(&value).is_ok(), holds, "{schema} {value}");
    }
}

#[test]
fn complaints_can_be_acted_on() {
    for (schema, value, says) in [
        (
            json!({"properties": {"limit": {"type": "integer"}}}),
            json!({"limit": "ten"}),
            "/limit: expected an integer, got \"ten\"",
        ),
        (json!({"required": ["query"]}), json!({}), "/: \"query\" is required"),
        (json!({"additionalProperties": false}), json!({"a": 1}), "/: no properties are allowed here"),
        (
            json!({"properties": {"c": true}, "additionalProperties": false}),
            json!({"a": 1, "b": 2}),
            "/: \"a\", \"b\" are not allowed here",
        ),
        (json!({"unevaluatedProperties": false}), json!({"a": 1}), "/: \"a\" is not allowed here"),
        (json!({"enum": ["a", 2, null]}), json!("x"), "/: expected one of \"a\", 2, null, got \"x\""),
        (json!({"const": {"a": 1}}), json!(1), "/: expected {\"a\":1}, got 1"),
        (json!({"type": ["string", "null"]}), json!(1), "/: expected null or a string, got 1"),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), json!(1), "/: expected a string or null, got 1"),
        (
            json!({"anyOf": [{"required": ["a"]}, {"properties": {"b": {"type": "null"}}, "type": "object"}]}),
            json!({"b": 1}),
            "/: matches none of 2 alternatives: (1) \"a\" is required; (2) /b: expected null, got 1",
        ),
        (
            json!({"oneOf": [{"minimum": 5}, {"minimum": 6}]}),
            json!(1),
            "/: matches none of 2 alternatives: (1) expected at least 5, got 1; (2) expected at least 6, got 1",
        ),
        (json!({"oneOf": [{"minimum": 5}, {"minimum": 6}]}), json!(7), "/: matches more than one alternative"),
        (json!({"maximum": 1}), json!(7), "/: expected at most 1, got 7"),
        (json!({"exclusiveMinimum": 7}), json!(7), "/: expected more than 7, got 7"),
        (json!({"multipleOf": 2}), json!(7), "/: expected a multiple of 2, got 7"),
        (json!({"minLength": 2}), json!("a"), "/: expected at least 2 characters, got \"a\""),
        (json!({"pattern": "^a+$"}), json!("b"), "/: expected text that matches ^a+$, got \"b\""),
        (json!({"maxItems": 1}), json!([1, 2]), "/: expected at most 1 items, got 2"),
        (json!({"minProperties": 1}), json!({}), "/: expected at least 1 properties, got 0"),
        (json!({"uniqueItems": true}), json!([1, 1]), "/: has equal items"),
        (json!({"contains": {"type": "string"}}), json!([1]), "/: does not have the items"),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            json!({"ab": 1}),
            "/: a property has a bad name: expected at most 1 characters, got \"ab\"",
        ),
        (json!({"not": {"type": "string"}}), json!("a"), "/: must not match {\"type\":\"string\"}, got \"a\""),
        (json!({"properties": {"a": false}}), json!({"a": 1}), "/a: no value is allowed here"),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1}), "/: \"b\" is required"),
        (json!({"properties": {"a/b": {"type": "null"}}}), json!({"a/b": 1}), "/a~1b: expected null, got 1"),
    ] {
        let complaint = complaint(&schema, &value);
        assert!(complaint.starts_with(says), "{schema}: {complaint}");
    }
}

#[test]
fn formats_are_annotations() {
    for dialect in DIALECTS {
        compile(&json!({"$schema": dialect, "format": "ipv4"})).check(&json!("no address")).unwrap();
    }
}

#[test]
fn five_errors_are_told_and_no_value_is_logged() {
    let schema = json!({"items": {"type": "string"}});
    let complaint = compile(&schema).check(&json!([1, 2, 3, 4, 5, 6, 7])).expect_err("holds");
    assert_eq!(complaint.to_string().lines().count(), 5);
    assert_eq!(complaint.places(), "/0, /1, /2, /3, /4");
    let secret = compile(&json!({"additionalProperties": false, "required": ["b"]})).check(&json!({"secret": 1}));
    assert_eq!(secret.expect_err("holds").places(), "/");
}

#[test]
fn what_is_kept_can_be_shared_and_shown() {
    fn shared<T: Send + Sync + std::fmt::Debug>(_: &T) {}
    let schemas = Schemas { input: Some(compile(&json!({"title": "x".repeat(999)}))), output: None };
    shared(&schemas);
    assert!(format!("{schemas:?}").len() < 200);
}
