//! Schemas and values that are made to hurt. Time is looked at only to find what hangs.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::{Validator, check_input};
use super::{compile, complaint, fault};

/// Far more than anything here takes, and far less than what hangs would.
const HANG: Duration = Duration::from_secs(30);
/// What a thread of a server has.
const STACK: usize = 2 * 1024 * 1024;

/// Runs on a thread with a small stack, and says what took too long.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let started = Instant::now();
    let done = std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap();
    assert!(started.elapsed() < HANG, "took {:?}", started.elapsed());
    done
}

/// `levels` definitions, each of which is made of references to the next by `hop`.
fn chain(levels: usize, last: &Value, hop: impl Fn(Value) -> Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        definitions.insert(format!("d{level}"), hop(json!({"$ref": format!("#/$defs/d{}", level + 1)})));
    }
    definitions.insert(format!("d{levels}"), last.clone());
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

fn nested(depth: usize, innermost: Value, wrap: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(innermost, |value, _| wrap(value))
}

#[test]
fn size_is_bounded() {
    let deep = nested(129, json!({}), |value| json!({"items": value}));
    let very_deep = nested(20_000, Value::Null, |value| Value::Array(vec![value]));
    for (schema, says) in [
        (deep, "nests deeper than 128 levels"),
        (json!({"default": "x".repeat(300_000)}), "is larger than 262144 bytes"),
        (json!({"default": "\u{1}".repeat(50_000)}), "is larger than 262144 bytes"),
        (json!({"enum": vec![1; 30_000]}), "has more than 20000 values"),
        (
            json!({"$id": format!("http://a.example/{}", "x".repeat(2_000))}),
            "has an identifier of more than 1024 bytes",
        ),
        (
            json!({"properties": {"x".repeat(100_000): {"allOf": vec![json!({}); 5_000]}}}),
            "has names that are too long",
        ),
        (
            nested(100, json!({}), |value| json!({"$id": format!("{}/", "x".repeat(100)), "items": value})),
            "grows too long",
        ),
        (json!({"allOf": vec![json!({"pattern": "a"}); 129]}), "has more than 128 patterns"),
    ] {
        assert!(fault(&schema).contains(says), "{says}");
        assert!(check_input(&schema).is_err());
    }
    assert!(fault(&very_deep).contains("nests deeper"));
    // Its own destructor recurses.
    std::mem::forget(very_deep);
}

#[test]
fn what_is_just_within_the_bounds_works() {
    in_time(|| {
        for wrap in ["items", "not", "additionalProperties"] {
            let depth = if wrap == "not" { 64 } else { 127 };
            compile(&nested(depth, json!({}), |value| json!({wrap: value}))).check(&json!([[[1]]])).ok();
        }
        let wide: serde_json::Map<_, _> = (0..4_000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
        let validator = compile(&json!({"properties": wide, "additionalProperties": false}));
        validator.check(&json!({"p1": "a"})).unwrap();
        validator.check(&json!({"p1": 1})).expect_err("holds");
    });
}

#[test]
fn laughs_are_refused() {
    let twice: [fn(Value) -> Value; 5] = [
        |next| json!({"allOf": [next, next]}),
        |next| json!({"anyOf": [next, next]}),
        |next| json!({"not": next, "if": next}),
        |next| json!({"dependentSchemas": {"a": next, "b": next}}),
        |next| json!({"oneOf": [{"allOf": [next]}, next]}),
    ];
    for hop in twice {
        let said = in_time(move || fault(&chain(40, &json!({"type": "string"}), hop)));
        assert!(said.contains("applies too many subschemas to the same value"), "{said}");
    }
    let said = in_time(|| fault(&chain(100, &json!({"type": "string"}), |next| json!({"allOf": [next]}))));
    assert!(said.contains("too deep within each other"), "{said}");
}

/// Each level of a value doubles what is applied to the next, with and without a loop in the schema.
#[test]
fn laughs_that_descend_are_survived() {
    let hops: [fn(Value) -> Value; 6] = [
        |next| json!({"properties": {"x": {"allOf": [next, next]}}}),
        |next| json!({"properties": {"x": {"anyOf": [next, next]}}}),
        |next| json!({"properties": {"x": next}, "patternProperties": {"x": next}, "additionalProperties": next}),
        |next| json!({"allOf": [{"properties": {"x": next}}], "unevaluatedProperties": next}),
        |next| json!({"allOf": [{"properties": {"x": next}}, {"properties": {"x": next}}], "unevaluatedProperties": false}),
        |next| json!({"oneOf": [{"properties": {"x": next}}, {"required": ["y"], "properties": {"x": next}}]}),
    ];
    for (index, hop) in hops.into_iter().enumerate() {
        for last in
            [json!(false), json!(true), json!({"$ref": "#/$defs/d0"}), json!({"type": "string", "$ref": "#/$defs/d3"})]
        {
            for levels in [0, 1, 5, 60] {
                let mut schema = chain(levels.max(4), &last, hop);
                if levels == 0 {
                    schema = json!({"$ref": "#/$defs/d", "$defs": {"d": hop(json!({"$ref": "#/$defs/d"}))}});
                }
                in_time(move || {
                    let Ok(validator) = Validator::compile(&schema) else { return };
                    for depth in [1, 7, 30, 100] {
                        for innermost in [json!(1), json!({"y": 1}), json!("a")] {
                            let value = nested(depth, innermost, |value| json!({"x": value}));
                            let started = Instant::now();
                            let _ = validator.check(&value).map_err(|complaint| complaint.to_string());
                            assert!(started.elapsed() < HANG, "hop {index}, {depth} deep: {:?}", started.elapsed());
                        }
                    }
                });
            }
        }
    }
}

#[test]
fn loops_that_stay_are_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"if": {"$ref": "#"}}),
        json!({"properties": {"a": {"anyOf": [{"type": "string"}, {"$ref": "#/properties/a"}]}}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"oneOf": [{"$ref": "#/$defs/a"}]}}}),
        json!({"$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}]}),
        json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
        json!({"$id": "http://made.up/a", "allOf": [{"$ref": "a"}]}),
        json!({"$defs": {"unused": {"$ref": "#/$defs/unused"}}}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": true, "allOf": [{"$recursiveRef": "#"}]}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": {"$ref": "#"}}}),
    ] {
        let fault = fault(&schema);
        assert!(fault.contains("applies itself to the same value without end"), "{schema}: {fault}");
    }
}

#[test]
fn trees_are_welcome() {
    in_time(|| {
        let tree = json!({"type": "object", "required": ["n"], "additionalProperties": false,
            "properties": {"n": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#"}}}});
        let validator = compile(&tree);
        let value = nested(60, json!({"n": 1}), |value| json!({"n": 1, "children": [value, {"n": 2}]}));
        validator.check(&value).unwrap();
        let value = nested(60, json!({"n": "x"}), |value| json!({"n": 1, "children": [value, {"n": 2}]}));
        validator.check(&value).expect_err("holds");
        let filter = json!({"$ref": "#/$defs/f", "$defs": {"f": {"anyOf": [
            {"type": "object", "required": ["and"], "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/f"}}}},
            {"type": "object", "required": ["or"], "properties": {"or": {"type": "array", "items": {"$ref": "#/$defs/f"}}}},
            {"type": "object", "required": ["not"], "properties": {"not": {"$ref": "#/$defs/f"}}},
            {"type": "object", "required": ["field", "is"]},
        ]}}});
        let validator = compile(&filter);
        let leaf = json!({"field": "a", "is": 1});
        let value = nested(30, leaf.clone(), |value| json!({"and": [{"or": [value, leaf]}, {"not": leaf}]}));
        validator.check(&value).unwrap();
        let value = nested(30, json!({"field": "a"}), |value| json!({"and": [{"or": [value, leaf]}, {"not": leaf}]}));
        validator.check(&value).expect_err("holds");
        let strict = json!({"$id": "https://made.up/s", "$dynamicAnchor": "n", "$ref": "t", "unevaluatedProperties": false, "$defs": {
            "t": {"$id": "t", "$dynamicAnchor": "n", "properties": {"c": {"items": {"$dynamicRef": "#n"}}}}}});
        let value = nested(15, json!({}), |value| json!({"c": [value]}));
        compile(&strict).check(&value).unwrap();
    });
}

#[test]
fn deep_values_do_not_exhaust_the_stack() {
    let hops: [fn(Value) -> Value; 4] = [
        |next| json!({"items": next}),
        |next| json!({"items": nested(20, next, |value| json!({"allOf": [value]}))}),
        |next| json!({"items": nested(15, next, |value| json!({"anyOf": [{"oneOf": [value]}]}))}),
        |next| json!({"allOf": [nested(40, next, |value| json!({"items": value}))]}),
    ];
    for hop in hops {
        for depth in [20, 28, 40, 55, 127, 300, 450, 900, 1_500] {
            in_time(move || {
                let schema = json!({"$ref": "#/$defs/d", "$defs": {"d": {"type": "array", "allOf": [hop(json!({"$ref": "#/$defs/d"}))]}}});
                let value = nested(depth, json!(1), |value| Value::Array(vec![value]));
                let _ = compile(&schema).check(&value);
            });
        }
    }
}

/// Meta-schemas loop too, and those of old drafts offer alternatives at every turn.
#[test]
fn deep_faults_are_found_in_every_dialect() {
    for dialect in super::DIALECTS {
        for wrap in ["items", "not", "additionalProperties"] {
            in_time(move || {
                let mut schema = nested(120, json!({"type": 7}), |value| json!({wrap: value}));
                schema["$schema"] = json!(dialect);
                schema["description"] = json!("x".repeat(200_000));
                fault(&schema);
            });
        }
    }
}

#[test]
fn long_chains_do_not_exhaust_the_stack() {
    in_time(|| {
        let schema = chain(2_000, &json!({"type": "string"}), |next| json!({"items": next}));
        compile(&schema).check(&json!([[[[1]]]])).ok();
        let deep_hops = chain(60, &json!({"type": "string"}), |next| nested(60, next, |value| json!({"items": value})));
        compile(&deep_hops).check(&json!([[[[1]]]])).ok();
        let branches =
            chain(20, &json!({"type": "string"}), |next| nested(50, next, |value| json!({"properties": {"a": value}})));
        compile(&branches).check(&json!({"a": {"a": 1}})).ok();
    });
}

#[test]
fn hostile_patterns_cost_little() {
    in_time(|| {
        let text = "a".repeat(40_000);
        for pattern in
            ["^(a+)+$", "^(a|a)*$", "(?=(a+)+b)a", "^(a+)+\\1b$", "(?!(a*)*c)b", "(a*)*(?=b)\\1", "^(?:(a|aa)+)+(?!a)b"]
        {
            let Ok(validator) = Validator::compile(&json!({"items": {"pattern": pattern}})) else { continue };
            let _ = validator.check(&json!([format!("{text}b"), format!("{text}c"), text]));
        }
        let mut patterns = serde_json::Map::new();
        for n in 0..60 {
            patterns.insert(format!("^(?=(a+)+b{n})"), json!({"pattern": "(?=(a+)+b)"}));
        }
        let validator = compile(&json!({"patternProperties": patterns}));
        let many: serde_json::Map<_, _> =
            (0..500).map(|n| (format!("{}{n}", "a".repeat(30)), json!("aaaaaaaaaaaaaaaaaac"))).collect();
        let _ = validator.check(&Value::from(many));
    });
}

#[test]
fn large_values_and_many_alternatives_are_told_within_bounds() {
    in_time(|| {
        let many = json!({"anyOf": (0..500).map(|n| json!({"const": n.to_string().repeat(50)})).collect::<Vec<_>>()});
        complaint(&many, &json!("x".repeat(1_000_000)));
        complaint(&json!({"items": many}), &json!(vec!["x"; 2_000]));
        complaint(&json!({"items": {"type": "string"}}), &json!(vec![1; 200_000]));
        complaint(&json!({"type": "string"}), &json!(vec!["x"; 100_000]));
        complaint(&json!({"enum": (0..5_000).collect::<Vec<_>>()}), &json!({"a": "\n".repeat(5_000)}));
        let names: serde_json::Map<_, _> =
            (0..5_000).map(|n| (format!("{n}\n{}", "é".repeat(500)), json!(1))).collect();
        complaint(&json!({"additionalProperties": false}), &Value::from(names.clone()));
        complaint(&json!({"additionalProperties": {"type": "string"}}), &Value::from(names));
        complaint(
            &json!({"additionalProperties": {"items": {"type": "string"}}}),
            &json!({"x".repeat(500_000): vec![1; 50_000]}),
        );
        complaint(
            &json!({"additionalProperties": {"items": {"anyOf": vec![json!({"minimum": 9, "type": "string"}); 50]}}}),
            &json!({"x".repeat(500_000): vec![1; 50_000]}),
        );
        let mut required = String::new();
        (0..3_000).for_each(|n| write!(required, "{n},").unwrap());
        complaint(&json!({"required": [required]}), &json!({}));
    });
}
