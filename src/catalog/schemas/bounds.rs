//! Knows how large a schema may be.
//!
//! Must never recurse into a schema whose depth is not known yet, and never look at what a keyword means.

use std::io::{self, Write};

use serde_json::Value;

use super::fault::SchemaFault;

pub(super) const MAX_DEPTH: usize = 128;
pub(super) const MAX_BYTES: usize = 256 * 1024;
pub(super) const MAX_NODES: usize = 20_000;
/// Each pattern becomes a program; what one may take is bounded where it is compiled.
pub(super) const MAX_PATTERNS: usize = 128;

/// How long an identifier may be: the address of each reference repeats it.
pub(super) const MAX_IDENTIFIER: usize = 1_024;
/// How long the JSON pointers to all values may be together: each of them may be kept.
pub(super) const MAX_POINTERS: usize = 8 * 1024 * 1024;

pub(super) fn check(schema: &Value) -> Result<(), SchemaFault> {
    shape(schema).map_err(|what| SchemaFault::new("", &what))?;
    // Only now is it known that serializing does not nest too deep.
    serde_json::to_writer(Budget(MAX_BYTES), schema)
        .map_err(|_| SchemaFault::new("", &format!("the schema is larger than {MAX_BYTES} bytes")))
}

fn shape(schema: &Value) -> Result<(), String> {
    let (mut nodes, mut patterns, mut pointers) = (0_usize, 0_usize, 0_usize);
    let mut open = vec![(schema, 0_usize, 0_usize)];
    while let Some((value, depth, pointer)) = open.pop() {
        nodes += 1;
        pointers = pointers.saturating_add(pointer);
        if depth > MAX_DEPTH {
            return Err(format!("the schema nests deeper than {MAX_DEPTH} levels"));
        }
        let room = MAX_NODES.saturating_sub(nodes + open.len());
        match value {
            Value::Array(items) if items.len() <= room => {
                open.extend(items.iter().map(|item| (item, depth + 1, pointer + 6)));
            }
            Value::Object(members) if members.len() <= room => {
                if members.iter().any(|(key, member)| is_long_identifier(key, member)) {
                    return Err(format!("the schema has an identifier of more than {MAX_IDENTIFIER} bytes"));
                }
                patterns += members.iter().map(|(key, member)| patterns_of(key, member)).sum::<usize>();
                open.extend(members.iter().map(|(key, member)| (member, depth + 1, pointer + key.len() + 1)));
            }
            Value::Array(_) | Value::Object(_) => return Err(format!("the schema has more than {MAX_NODES} values")),
            _ => {}
        }
        if pointers > MAX_POINTERS {
            return Err("the schema has names that are too long".to_owned());
        }
        if patterns > MAX_PATTERNS {
            return Err(format!("the schema has more than {MAX_PATTERNS} patterns"));
        }
    }
    Ok(())
}

fn is_long_identifier(key: &str, member: &Value) -> bool {
    matches!(key, "$id" | "id") && member.as_str().is_some_and(|identifier| identifier.len() > MAX_IDENTIFIER)
}

/// A property named "pattern" counts too: too many is a safe guess.
fn patterns_of(key: &str, member: &Value) -> usize {
    match (key, member) {
        ("pattern", Value::String(_)) => 1,
        ("patternProperties", Value::Object(patterns)) => patterns.len(),
        _ => 0,
    }
}

/// Takes as many bytes as it holds, and keeps none.
struct Budget(usize);

impl Write for Budget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
