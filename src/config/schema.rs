//! The JSON Schema of the file, for editors.
//!
//! Derived from the key table, as the check itself is; says of each value what a schema can say.

use serde_json::{Map, Value as Json, json};

use super::complaint::Span;
use super::keys::{FILE, Key, Kind, Presence};
use super::tree::{self, Value};

/// JSON Schema, draft 2020-12.
pub fn schema() -> Json {
    let mut schema = object(FILE);
    if let Json::Object(members) = &mut schema {
        members.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        members.insert("title".to_owned(), json!("mcp-signpost configuration"));
    }
    schema
}

fn object(keys: &'static [Key]) -> Json {
    let properties: Map<String, Json> = keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let required = keys.iter().filter(|key| key.presence == Presence::Required).map(|key| key.name);
    json!({
        "type": "object",
        "properties": properties,
        "required": required.collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}

fn property(key: &'static Key) -> Json {
    let mut schema = kind(&key.kind);
    if let Json::Object(members) = &mut schema {
        members.insert("description".to_owned(), json!(key.about));
        if let Presence::Defaulted(default) = key.presence {
            members.insert("default".to_owned(), literal(default));
        } else {
            members.insert("examples".to_owned(), json!([literal(key.example)]));
        }
    }
    schema
}

fn kind(kind: &'static Kind) -> Json {
    match kind {
        Kind::Text { pattern: Some(pattern) } => json!({ "type": "string", "pattern": pattern }),
        Kind::Text { pattern: None } => json!({ "type": "string" }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Duration { .. } => json!({ "type": "string", "pattern": "^[0-9]+(ms|s|m|h)$" }),
        Kind::List(each) => json!({ "type": "array", "items": self::kind(each) }),
        Kind::OneOrList(each) => {
            let each = self::kind(each);
            json!({ "anyOf": [each.clone(), { "type": "array", "items": each }] })
        }
        Kind::Table(keys) => object(keys),
        Kind::Names { pattern, each } => json!({
            "type": "object",
            "propertyNames": { "pattern": pattern },
            "additionalProperties": self::kind(each),
        }),
        Kind::Either(kinds) => json!({ "anyOf": kinds.iter().map(self::kind).collect::<Vec<_>>() }),
    }
}

fn literal(text: &'static str) -> Json {
    tree::literal(text, Span::default()).map_or(Json::Null, |node| plain(&node.value))
}

fn plain(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(text),
        Value::Integer(number) => json!(number),
        Value::Boolean(value) => json!(value),
        Value::List(nodes) => nodes.iter().map(|node| plain(&node.value)).collect(),
        Value::Table(table) => {
            let entries = table.entries.iter().map(|entry| (entry.name.clone(), plain(&entry.node.value)));
            Json::Object(entries.collect())
        }
        Value::Duration(_) | Value::Broken(_) | Value::Other(_) => Json::Null,
    }
}
