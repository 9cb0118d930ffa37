//! What servers say of themselves (`server/discover`), and what the gateway says for all of them.
//!
//! Knows which capabilities a gateway can pass on. Must never promise what cannot be reached through it.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::freshness::Freshness;
use crate::protocol::{VERSIONS, meta};

/// Bytes of one server's instructions that are passed on, and of all of them.
const MAX_INSTRUCTIONS: usize = 8 * 1024;
const MAX_ALL_INSTRUCTIONS: usize = 64 * 1024;
/// Capabilities of lists and resources that work through `subscriptions/listen` alone, which has no merged form here.
const BY_LISTENING: [&str; 2] = ["listChanged", "subscribe"];
/// An extension whose requests are routed by ids that are not tagged here.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// What one server says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    capabilities: Map<String, Value>,
    instructions: Option<String>,
}

/// A result of `server/discover`; what is missing counts as empty.
#[derive(Deserialize)]
struct Raw<'r> {
    capabilities: Option<Map<String, Value>>,
    instructions: Option<String>,
    #[serde(borrow, rename = "ttlMs")]
    ttl_ms: Option<&'r RawValue>,
    #[serde(borrow, rename = "cacheScope")]
    scope: Option<&'r RawValue>,
}

impl About {
    /// From the result of `server/discover`, with how long it claims to hold.
    pub fn read(result: &[u8], received: Instant) -> Result<(Self, Freshness), serde_json::Error> {
        let raw: Raw<'_> = serde_json::from_slice(result)?;
        let about = Self {
            capabilities: raw.capabilities.unwrap_or_default(),
            instructions: raw.instructions.map(|text| cut(&text, MAX_INSTRUCTIONS)),
        };
        Ok((about, Freshness::claimed(received, raw.ttl_ms, raw.scope)))
    }

    pub fn bytes(&self) -> usize {
        let capabilities = Value::Object(self.capabilities.clone()).to_string().len();
        capabilities + self.instructions.as_ref().map_or(0, String::len)
    }
}

/// One result for all servers, up to where the digits of `ttlMs` go; `unavailable` names those that did not answer.
pub fn merged(all: &[(&str, &About)], unavailable: &[&str], scope: &str) -> Vec<u8> {
    let mut capabilities = Map::new();
    for (_, about) in all {
        unite(&mut capabilities, &about.capabilities);
    }
    let mut own = json!({ meta::SERVER_INFO: server_info() });
    if let (false, Some(own)) = (unavailable.is_empty(), own.as_object_mut()) {
        own.insert(meta::UNAVAILABLE.into(), json!(unavailable));
    }
    let mut result = json!({
        "resultType": "complete",
        "supportedVersions": VERSIONS,
        "capabilities": reachable(capabilities),
        "_meta": own,
        "cacheScope": scope,
    });
    if let (Some(text), Some(members)) = (instructions(all), result.as_object_mut()) {
        members.insert("instructions".into(), text.into());
    }
    let mut text = result.to_string();
    text.pop();
    text.push_str(",\"ttlMs\":");
    text.into_bytes()
}

/// The gateway, as it names itself in results.
pub fn server_info() -> Value {
    json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") })
}

/// Adds what `more` has; of two values that are no objects `true` wins, otherwise the first.
fn unite(into: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        match (into.get_mut(name), value) {
            (None, value) => drop(into.insert(name.clone(), value.clone())),
            (Some(Value::Object(known)), Value::Object(value)) => unite(known, value),
            (Some(known @ Value::Bool(false)), Value::Bool(true)) => *known = true.into(),
            (Some(_), _) => {}
        }
    }
}

fn reachable(mut capabilities: Map<String, Value>) -> Map<String, Value> {
    for list in ["tools", "prompts", "resources"] {
        if let Some(Value::Object(flags)) = capabilities.get_mut(list) {
            flags.retain(|flag, _| !BY_LISTENING.contains(&flag.as_str()));
        }
    }
    if let Some(Value::Object(extensions)) = capabilities.get_mut("extensions") {
        extensions.remove(TASKS);
        if extensions.is_empty() {
            capabilities.remove("extensions");
        }
    }
    capabilities
}

/// Each server's instructions under its name, as many as there is room for.
fn instructions(all: &[(&str, &About)]) -> Option<String> {
    let mut text = String::new();
    for (name, about) in all {
        let Some(own) = about.instructions.as_deref().filter(|own| !own.trim().is_empty()) else { continue };
        let section = format!("## {name}\n\n{}\n\n", own.trim());
        if text.len() + section.len() > MAX_ALL_INSTRUCTIONS {
            break;
        }
        text.push_str(&section);
    }
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = (0..=max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(value: &Value) -> About {
        About::read(value.to_string().as_bytes(), Instant::now()).unwrap().0
    }

    fn result(all: &[(&str, &About)], unavailable: &[&str]) -> Value {
        let mut text = merged(all, unavailable, "public");
        text.extend_from_slice(b"7}");
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn capabilities_are_united_but_for_what_cannot_be_reached() {
        let one = about(&json!({ "capabilities": { "tools": { "listChanged": true }, "completions": {} } }));
        let other = about(&json!({ "capabilities": {
            "tools": { "x": 1 },
            "resources": { "subscribe": true, "listChanged": false },
            "extensions": { TASKS: {}, "com.example/x": { "a": false } },
        } }));
        let third = about(&json!({ "capabilities": { "extensions": { "com.example/x": { "a": true } } } }));
        let result = result(&[("one", &one), ("other", &other), ("third", &third)], &["down"]);
        assert_eq!(
            result["capabilities"],
            json!({ "tools": { "x": 1 }, "completions": {}, "resources": {}, "extensions": { "com.example/x": { "a": true } } })
        );
        assert_eq!(result["supportedVersions"], json!(VERSIONS));
        assert_eq!(result["ttlMs"], 7);
        assert_eq!(result["cacheScope"], "public");
        assert_eq!(result["_meta"][meta::UNAVAILABLE], json!(["down"]));
        assert_eq!(result["_meta"][meta::SERVER_INFO]["name"], "mcp-signpost");
        assert!(result.get("instructions").is_none());
    }

    #[test]
    fn instructions_stand_under_their_servers_names_and_are_bounded() {
        let all: Vec<_> = (0..20).map(|_| about(&json!({ "instructions": "é".repeat(10_000) }))).collect();
        let short = about(&json!({ "instructions": "Use it.\n" }));
        let mut named: Vec<_> = vec![("short", &short)];
        named.extend(all.iter().map(|about| ("long", about)));
        let result = result(&named, &[]);
        let text = result["instructions"].as_str().unwrap();
        assert!(text.starts_with("## short\n\nUse it.\n\n## long\n\né"), "{}", &text[..60]);
        assert!(text.len() <= MAX_ALL_INSTRUCTIONS);
        assert!(result["_meta"].get(meta::UNAVAILABLE).is_none());
    }
}
