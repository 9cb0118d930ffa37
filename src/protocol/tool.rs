//! Which arguments of a tool are mirrored into headers, read from its `inputSchema`.
//!
//! Knows `x-mcp-header` (streamable-http, "Schema Extension"; server/tools, "x-mcp-header"). Must never follow a `$ref` and never take a rule from a tool that breaks one constraint: such a
//! tool is unlawful as a whole and "MUST" be left out of lists.

use serde_json::{Map, Value};

use super::quote::{escaped, quote};

/// The annotation's key.
const ANNOTATION: &str = "x-mcp-header";
/// Bounds of our own, far above what any real tool has: each rule costs a look at every request.
const MAX_RULES: usize = 32;
const MAX_PATH: usize = 16;
const MAX_PATH_BYTES: usize = 1024;
const MAX_HEADER_BYTES: usize = 128;
const MAX_SCHEMA_DEPTH: usize = 128;

/// One argument that is mirrored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The `{X}` of `Mcp-Param-{X}`, as the schema spells it; headers compare without case.
    pub header: String,
    /// The keys that lead from `params.arguments` to the value; never empty.
    pub path: Vec<String>,
    pub kind: ParamKind,
}

/// What the schema says the value is; it decides how header and body are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    String,
    Integer,
    Boolean,
}

/// All rules of one tool, in the order of their paths. No two have the same header (without case) or the same path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolRules {
    pub rules: Vec<Rule>,
}

/// Why a tool must neither be listed nor called. Places are written as the keys that lead to them from the schema's root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unlawful {
    #[error("the tool has no inputSchema that is an object; write one, {{\"type\": \"object\"}} at least")]
    NoSchema,
    #[error("x-mcp-header at {at} is no string; write the name behind Mcp-Param-")]
    NotAString { at: String },
    #[error("x-mcp-header at {at} is empty; write the name behind Mcp-Param-")]
    Empty { at: String },
    #[error("x-mcp-header {header} at {at} is no HTTP token; use letters, digits and !#$%&'*+-.^_`|~")]
    NotAToken { at: String, header: String },
    #[error("x-mcp-header at {at} is longer than {MAX_HEADER_BYTES} bytes; write a shorter one")]
    HeaderTooLong { at: String },
    #[error("x-mcp-header {header} stands at {first} and at {second}; headers compare without case, write another")]
    Twice { header: String, first: String, second: String },
    #[error(
        "x-mcp-header at {at} is on a property of type {found}; only \"string\", \"integer\" and \"boolean\" can be mirrored"
    )]
    Kind { at: String, found: String },
    #[error("x-mcp-header at {at} cannot be reached from the root through properties alone; move it or leave it out")]
    Misplaced { at: String },
    #[error("the schema has more than {MAX_RULES} x-mcp-header; mirror only what is routed by")]
    TooMany,
    #[error("the way to {at} has more than {MAX_PATH} keys or {MAX_PATH_BYTES} bytes; mirror what is less deep")]
    PathTooLong { at: String },
    #[error("the schema is nested deeper than {MAX_SCHEMA_DEPTH}; make it flatter")]
    TooDeep,
}

/// The rules of one tool, from its object in a `tools/list` result.
///
/// `type` must be the one word: `["string", "null"]` does not say which of the three the value is, and no client takes
/// it. The specification's range for integers binds values, not definitions; they are compared exactly, whatever their
/// size.
pub fn tool_rules(tool: &Value) -> Result<ToolRules, Unlawful> {
    let schema = tool.get("inputSchema").and_then(Value::as_object).ok_or(Unlawful::NoSchema)?;
    let mut walk = Walk::default();
    walk.schema(schema, Chain::Root)?;
    Ok(ToolRules { rules: walk.rules })
}

/// How a place in the schema was reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chain {
    Root,
    /// Through `properties` alone: an annotation is lawful here.
    Properties,
    Broken,
}

#[derive(Default)]
struct Walk {
    rules: Vec<Rule>,
    /// Each key on the way from the root, `properties` among them.
    trail: Vec<String>,
}

impl Walk {
    fn schema(&mut self, schema: &Map<String, Value>, chain: Chain) -> Result<(), Unlawful> {
        for (key, value) in schema {
            match (key.as_str(), value) {
                (ANNOTATION, header) => self.annotation(schema, header, chain)?,
                ("properties", Value::Object(properties)) => {
                    let chain = if chain == Chain::Broken { Chain::Broken } else { Chain::Properties };
                    self.named(key, properties, chain)?;
                }
                (
                    "$defs" | "definitions" | "patternProperties" | "dependentSchemas" | "dependencies",
                    Value::Object(named),
                ) => {
                    self.named(key, named, Chain::Broken)?;
                }
                // Values and names, not schemas: what stands in them annotates nothing.
                ("const" | "default" | "enum" | "examples" | "required" | "dependentRequired", _) => {}
                // Every other keyword, known or not: "an annotation anywhere else" makes the tool unlawful.
                (_, value) => self.at(key, |walk| walk.elsewhere(value))?,
            }
        }
        Ok(())
    }

    /// A map from names to schemas; a name may be any text, `x-mcp-header` too.
    fn named(&mut self, keyword: &str, schemas: &Map<String, Value>, chain: Chain) -> Result<(), Unlawful> {
        self.at(keyword, |walk| {
            schemas.iter().try_for_each(|(name, schema)| {
                walk.at(name, |walk| match schema {
                    Value::Object(schema) => walk.schema(schema, chain),
                    other => walk.elsewhere(other),
                })
            })
        })
    }

    fn elsewhere(&mut self, value: &Value) -> Result<(), Unlawful> {
        match value {
            Value::Object(schema) => self.schema(schema, Chain::Broken),
            Value::Array(values) => values.iter().try_for_each(|value| self.at("[]", |walk| walk.elsewhere(value))),
            _ => Ok(()),
        }
    }

    fn at<T>(&mut self, key: &str, inside: impl FnOnce(&mut Self) -> Result<T, Unlawful>) -> Result<T, Unlawful> {
        if self.trail.len() >= MAX_SCHEMA_DEPTH {
            return Err(Unlawful::TooDeep);
        }
        self.trail.push(key.to_owned());
        let result = inside(self);
        self.trail.pop();
        result
    }

    fn annotation(&mut self, schema: &Map<String, Value>, header: &Value, chain: Chain) -> Result<(), Unlawful> {
        let at = self.place();
        if chain != Chain::Properties {
            return Err(Unlawful::Misplaced { at });
        }
        let header = token(header, &at)?;
        let kind = kind(schema.get("type"), &at)?;
        // On an unbroken chain every other key of the trail is a property's name.
        let path: Vec<String> = self.trail.iter().skip(1).step_by(2).cloned().collect();
        if path.len() > MAX_PATH || path.iter().map(String::len).sum::<usize>() > MAX_PATH_BYTES {
            return Err(Unlawful::PathTooLong { at });
        }
        if let Some(first) = self.rules.iter().find(|rule| rule.header.eq_ignore_ascii_case(header)) {
            let first = quote(&first.path.join("."));
            return Err(Unlawful::Twice { header: quote(header), first, second: quote(&path.join(".")) });
        }
        if self.rules.len() == MAX_RULES {
            return Err(Unlawful::TooMany);
        }
        self.rules.push(Rule { header: header.to_owned(), path, kind });
        Ok(())
    }

    fn place(&self) -> String {
        if self.trail.is_empty() { "the schema's root".into() } else { quote(&self.trail.join(".")) }
    }
}

/// RFC 9110, 5.1: a field name is `1*tchar`.
fn token<'a>(header: &'a Value, at: &str) -> Result<&'a str, Unlawful> {
    let at = || at.to_owned();
    let header = header.as_str().ok_or_else(|| Unlawful::NotAString { at: at() })?;
    if header.is_empty() {
        return Err(Unlawful::Empty { at: at() });
    }
    if !header.bytes().all(is_tchar) {
        return Err(Unlawful::NotAToken { at: at(), header: quote(header) });
    }
    if header.len() > MAX_HEADER_BYTES {
        return Err(Unlawful::HeaderTooLong { at: at() });
    }
    Ok(header)
}

fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn kind(kind: Option<&Value>, at: &str) -> Result<ParamKind, Unlawful> {
    match kind.and_then(Value::as_str) {
        Some("string") => Ok(ParamKind::String),
        Some("integer") => Ok(ParamKind::Integer),
        Some("boolean") => Ok(ParamKind::Boolean),
        _ => {
            let found = kind.map_or_else(|| "none".to_owned(), |kind| escaped(&kind.to_string()));
            Err(Unlawful::Kind { at: at.to_owned(), found })
        }
    }
}

#[cfg(test)]
mod tests;
