//! What is wrong with a schema, and references that are right.

use serde_json::json;

use super::super::check_input;
use super::{DIALECTS, compile, fault};

#[test]
fn an_input_schema_is_judged_beyond_its_root() {
    for (schema, says) in [
        (json!({"type": "object", "properties": {"a": {"type": "text"}}}), "/properties/a/type: "),
        (
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}}),
            "/properties/a/$ref: refers to /$defs/a",
        ),
        (json!({"type": "object", "allOf": [{"$ref": "#"}]}), "without end"),
        (json!({"type": "object", "$schema": "urn:mine"}), "/$schema: \"urn:mine\" is not known"),
    ] {
        let fault = check_input(&schema).expect_err("accepted").to_string();
        assert!(fault.contains(says), "{fault}");
    }
}

#[test]
fn faults_say_what_and_where() {
    for (schema, says) in [
        (json!(null), "/: "),
        (json!([]), "/: "),
        (json!({"type": 7}), "/type: "),
        (json!({"properties": {"a": {"minimum": "x"}}}), "/properties/a/minimum: expected a number, got \"x\""),
        (json!({"required": "a"}), "/required: expected an array, got \"a\""),
        (json!({"pattern": "("}), "/pattern: "),
        (json!({"patternProperties": {"[": {}}}), "/patternProperties"),
        (json!({"pattern": "(?:a{1000}){1000}"}), "/pattern: "),
        (json!({"$schema": 7}), "/$schema: 7 is not known; known are draft 4, 6, 7, 2019-09 and 2020-12"),
        (json!({"$schema": "https://json-schema.org/draft/2031-01/schema"}), "is not known"),
        (
            json!({"items": {"$schema": "http://evil.example/"}}),
            "/items/$schema: \"http://evil.example/\" is not known",
        ),
        (json!({"$ref": "http://evil.example/a"}), "/$ref: refers to http://evil.example/a, which is outside"),
        (json!({"items": {"$ref": "file:///etc/passwd#/a"}}), "/items/$ref: refers to file:///etc/passwd"),
        (json!({"$defs": {"unused": {"$ref": "https://evil.example"}}}), "/$defs/unused/$ref: refers to https://evil"),
        (json!({"$ref": "other.json"}), "/$ref: refers to other.json, which is outside"),
        (json!({"$id": "https://made.up/a", "items": {"$ref": "b"}}), "refers to https://made.up/b, which is outside"),
        (json!({"items": {"$ref": "#/$defs/none"}}), "/items/$ref: refers to /$defs/none, which is not in the schema"),
        (json!({"items": {"$ref": "#none"}}), "/items/$ref: refers to the anchor none, which is not in the schema"),
        (json!({"items": {"$dynamicRef": "#none"}}), "/items/$dynamicRef: refers to the anchor none"),
        (json!({"$dynamicRef": "http://evil.example/a#b"}), "refers to http://evil.example/a"),
        (json!({"items": {"$ref": 7}}), "/items/$ref: expected a string, got 7"),
    ] {
        let fault = fault(&schema);
        assert!(fault.contains(says), "{schema}: {fault}");
    }
}

#[test]
fn references_work_where_the_target_is_in_the_schema() {
    let tree = json!({
        "$id": "https://made.up/tree", "$dynamicAnchor": "node", "type": "object",
        "properties": {"children": {"type": "array", "items": {"$dynamicRef": "#node"}}, "n": {"type": "integer"}},
    });
    for (schema, good, bad) in [
        (
            json!({"$id": "https://made.up/root.json", "items": {"$ref": "item.json"},
            "$defs": {"i": {"$id": "item.json", "type": "string"}}}),
            json!(["a"]),
            json!([1]),
        ),
        (
            json!({"$id": "https://made.up/root.json", "items": {"$ref": "root.json#/$defs/i"}, "$defs": {"i": {"type": "string"}}}),
            json!(["a"]),
            json!([1]),
        ),
        (
            json!({"$id": "relative.json", "items": {"$ref": "relative.json#/$defs/i"}, "$defs": {"i": {"type": "string"}}}),
            json!(["a"]),
            json!([1]),
        ),
        (
            json!({"items": {"$ref": "#it"}, "$defs": {"i": {"$anchor": "it", "type": "string"}}}),
            json!(["a"]),
            json!([1]),
        ),
        (
            json!({"items": {"$ref": "#/$defs/a~1b%25"}, "$defs": {"a/b%": {"type": "string"}}}),
            json!(["a"]),
            json!([1]),
        ),
        (json!({"items": {"$ref": "#/x-own/i"}, "x-own": {"i": {"type": "string"}}}), json!(["a"]), json!([1])),
        (
            json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
            json!({"type": "object"}),
            json!({"type": 1}),
        ),
        (
            json!({"$schema": DIALECTS[2], "$ref": "http://json-schema.org/draft-07/schema#"}),
            json!({"type": "object"}),
            json!({"type": 1}),
        ),
        (
            json!({"$id": "https://made.up/strict", "$dynamicAnchor": "node", "$ref": "tree", "unevaluatedProperties": false,
            "$defs": {"tree": tree}}),
            json!({"children": [{"n": 1}]}),
            json!({"children": [{"children": [{"m": 1}]}]}),
        ),
        (
            json!({"$schema": DIALECTS[3], "$recursiveAnchor": true, "properties": {"a": {"$recursiveRef": "#"}},
            "additionalProperties": false}),
            json!({"a": {"a": {}}}),
            json!({"a": {"b": {}}}),
        ),
        (
            json!({"$schema": DIALECTS[2], "$id": "http://made.up/a", "items": {"$ref": "#it"},
            "definitions": {"i": {"$id": "#it", "type": "string"}}}),
            json!(["a"]),
            json!([1]),
        ),
        (
            json!({"$schema": DIALECTS[0], "id": "http://made.up/a", "items": {"$ref": "b"},
            "definitions": {"i": {"id": "b", "type": "string"}}}),
            json!(["a"]),
            json!([1]),
        ),
        // What only looks like a reference is none.
        (json!({"properties": {"$ref": {"type": "string"}}}), json!({"$ref": "http://a.example"}), json!({"$ref": 1})),
        (json!({"const": {"$ref": "http://a.example"}}), json!({"$ref": "http://a.example"}), json!(1)),
    ] {
        let validator = compile(&schema);
        validator.check(&good).unwrap_or_else(|complaint| panic!("{schema}: {complaint}"));
        validator.check(&bad).expect_err(&schema.to_string());
    }
}
