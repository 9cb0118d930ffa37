//! Knows which dialects of JSON Schema are spoken here.
//!
//! Must never guess: a `$schema` that is not known is a fault.

use jsonschema::Draft;
use serde_json::Value;

use super::fault::SchemaFault;
use super::words;

/// The dialect that `schema` declares at `place`, or the one that it inherits.
pub(super) fn of(schema: &Value, inherited: Draft, place: &str) -> Result<Draft, SchemaFault> {
    let Some(declared) = schema.get("$schema") else { return Ok(inherited) };
    let known = declared.as_str().map_or(Draft::Unknown, Draft::from_schema_uri);
    match known {
        Draft::Draft4 | Draft::Draft6 | Draft::Draft7 | Draft::Draft201909 | Draft::Draft202012 => Ok(known),
        _ => {
            let declared = words::value(declared, 60);
            let what = format!("{declared} is not known; known are draft 4, 6, 7, 2019-09 and 2020-12");
            Err(SchemaFault::new(&format!("{}/$schema", words::clip(place, 60)), &what))
        }
    }
}

/// Up to draft 7 a `$ref` hides its siblings.
pub(super) fn reference_stands_alone(draft: Draft) -> bool {
    matches!(draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7)
}
