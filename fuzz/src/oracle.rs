//! What `serde_json` says of a body, with the ranges of its values and with duplicate keys kept.
//! Shares no code and no idea with the scanner: it recurses, builds a tree and looks at the tree.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::scan::Kind;

/// A value and where it stands.
#[derive(Debug)]
pub struct Node {
    pub kind: Kind,
    pub range: Range<u64>,
    /// A string unescaped; everything else, and nothing of a container, as written.
    pub text: String,
    pub raw: String,
    pub members: Vec<Member>,
}

#[derive(Debug)]
pub struct Member {
    pub key: String,
    /// Of the opening quote.
    pub key_at: u64,
    pub value: Node,
}

/// The tree, if the body is strict JSON within these bounds.
pub fn parse(body: &[u8], max_depth: usize, max_trailing_space: usize) -> Option<Node> {
    let text = std::str::from_utf8(body).ok()?;
    let trailing = text.len() - text.trim_end_matches([' ', '\t', '\r', '\n']).len();
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    (trailing <= max_trailing_space).then_some(())?;
    let node = node(text, raw, max_depth)?;
    // The parser that everyone uses must agree; it takes this key of its own for a number.
    let magic = "$serde_json::private::";
    assert!(text.contains(magic) || text.contains('\\') || whole(text).is_some(), "the oracle contradicts itself");
    Some(node)
}

/// The body as an ordinary `Value`.
pub fn whole(text: &str) -> Option<serde_json::Value> {
    let mut parser = serde_json::Deserializer::from_str(text);
    parser.disable_recursion_limit();
    let value = serde_json::Value::deserialize(&mut parser).ok()?;
    parser.end().ok()?;
    Some(value)
}

fn node(body: &str, raw: &RawValue, depth_left: usize) -> Option<Node> {
    let token = raw.get();
    let start = offset(body, token);
    let mut node = Node {
        kind: Kind::Null,
        range: start..start + token.len() as u64,
        text: String::new(),
        raw: token.to_owned(),
        members: Vec::new(),
    };
    node.kind = match token.as_bytes().first()? {
        b'{' | b'[' => {
            let depth_left = depth_left.checked_sub(1)?;
            node.range.end = start + 1;
            node.raw.clear();
            return container(body, token, depth_left, node);
        }
        b'"' => Kind::String,
        b't' => Kind::True,
        b'f' => Kind::False,
        b'n' => Kind::Null,
        _ => Kind::Number,
    };
    node.text = match node.kind {
        Kind::String => serde_json::from_str(token).ok()?,
        _ => serde_json::from_str::<serde_json::Value>(token).ok()?.to_string(),
    };
    Some(node)
}

fn container(body: &str, token: &str, depth_left: usize, mut into: Node) -> Option<Node> {
    if token.starts_with('[') {
        into.kind = Kind::Array;
        let items: Vec<&RawValue> = serde_json::from_str(token).ok()?;
        // Nothing in an array is ever found, but it must be valid.
        return items.into_iter().all(|item| node(body, item, depth_left).is_some()).then_some(into);
    }
    into.kind = Kind::Object;
    let Members(members) = serde_json::from_str(token).ok()?;
    for (key, value) in members {
        let written: String = serde_json::from_str(key.get()).ok()?;
        let value = node(body, value, depth_left)?;
        into.members.push(Member { key: written, key_at: offset(body, key.get()), value });
    }
    Some(into)
}

/// All members in their order, duplicates too.
struct Members<'b>(Vec<(&'b RawValue, &'b RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// Where a part of the body lies in it.
fn offset(body: &str, part: &str) -> u64 {
    (part.as_ptr() as usize - body.as_ptr() as usize) as u64
}
