//! Knows which keywords hold subschemas, and what each applies them to.
//!
//! Must never follow a reference, nor take a keyword of one dialect for one of another.

use jsonschema::Draft;
use serde_json::{Map, Value};

use super::graph::{Node, Reach};

/// A subschema as its keyword has it.
pub(super) struct Child<'a> {
    pub value: &'a Value,
    /// The JSON pointer to it from its parent, without the first slash.
    pub place: String,
    /// `None` if it is only kept, for references.
    pub reach: Option<Reach>,
}

/// How a keyword holds its subschemas.
enum Holds {
    One(Option<Reach>),
    List(fn(usize) -> Reach),
    Map(fn(&str) -> Option<Reach>),
}

pub(super) fn children(members: &Map<String, Value>, draft: Draft) -> Vec<Child<'_>> {
    let mut children = Vec::new();
    for (keyword, value) in members.iter().filter(|(keyword, _)| draft.is_known_keyword(keyword)) {
        match (holds(keyword, value), value) {
            (Some(Holds::One(reach)), _) => children.push(Child { value, place: keyword.clone(), reach }),
            (Some(Holds::List(reach)), Value::Array(items)) => {
                let child =
                    |(index, value)| Child { value, place: format!("{keyword}/{index}"), reach: Some(reach(index)) };
                children.extend(items.iter().enumerate().map(child));
            }
            (Some(Holds::Map(reach)), Value::Object(named)) => {
                // A dependency may be a list of names too.
                let schemas = named.iter().filter(|(_, value)| !value.is_array());
                children.extend(schemas.map(|(name, value)| {
                    let place = format!("{keyword}/{}", escaped(name));
                    Child { value, place, reach: reach(name) }
                }));
            }
            _ => {}
        }
    }
    children
}

fn holds(keyword: &str, value: &Value) -> Option<Holds> {
    Some(match keyword {
        "allOf" => Holds::List(|_| Reach::Here),
        "anyOf" | "oneOf" => Holds::List(|_| Reach::Choice),
        "not" | "if" | "then" | "else" => Holds::One(Some(Reach::Here)),
        "dependentSchemas" | "dependencies" => Holds::Map(|_| Some(Reach::Here)),
        "properties" => Holds::Map(|name| Some(Reach::Property(name.into()))),
        "patternProperties" => Holds::Map(|_| Some(Reach::Members)),
        "additionalProperties" | "unevaluatedProperties" => Holds::One(Some(Reach::Members)),
        "propertyNames" => Holds::One(Some(Reach::Names)),
        "items" if value.is_array() => Holds::List(Reach::Item),
        "prefixItems" => Holds::List(Reach::Item),
        "items" | "additionalItems" | "unevaluatedItems" | "contains" => Holds::One(Some(Reach::Items)),
        "$defs" | "definitions" => Holds::Map(|_| None),
        "contentSchema" => Holds::One(None),
        _ => return None,
    })
}

/// A node without its edges.
pub(super) fn node_of(schema: &Value, draft: Draft) -> Node {
    let Value::Object(members) = schema else { return Node { weight: 1, ..Node::default() } };
    let patterns: Vec<&str> = patterns(members).collect();
    Node {
        weight: weight(members),
        patterns: patterns.len() as u64,
        backtracks: patterns.iter().any(|pattern| may_backtrack(pattern)),
        asks_again: draft.is_known_keyword("unevaluatedItems")
            && (members.contains_key("unevaluatedItems") || members.contains_key("unevaluatedProperties")),
        ..Node::default()
    }
}

/// Long lists are compared one by one.
fn weight(members: &Map<String, Value>) -> u64 {
    let listed: usize = members.values().filter_map(Value::as_array).map(Vec::len).sum();
    1 + (members.len() + listed) as u64 / 8
}

fn patterns(members: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let own = members.get("pattern").and_then(Value::as_str);
    let of_names = members.get("patternProperties").and_then(Value::as_object);
    own.into_iter().chain(of_names.into_iter().flat_map(Map::keys).map(String::as_str))
}

/// Looks around and references back are what the linear engine cannot do.
fn may_backtrack(pattern: &str) -> bool {
    let refers_back = |pair: &[u8]| matches!(pair, [b'\\', b'1'..=b'9' | b'k']);
    ["(?=", "(?!", "(?<", "(?>"].iter().any(|group| pattern.contains(group))
        || pattern.as_bytes().windows(2).any(refers_back)
}

/// The name that a dynamic reference may find this subschema by, whatever it was written for.
pub(super) fn dynamic_anchor(schema: &Value, draft: Draft) -> Option<String> {
    match draft {
        Draft::Draft202012 => schema.get("$dynamicAnchor").and_then(Value::as_str).map(str::to_owned),
        Draft::Draft201909 => (schema.get("$recursiveAnchor") == Some(&Value::Bool(true))).then(String::new),
        _ => None,
    }
}

/// A name as a part of a JSON pointer.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
