//! Knows how a tool's JSON Schemas are judged, compiled and applied.
//!
//! Must never fetch anything a schema names, and never spend work on a schema or a value before its bounds hold.

mod bounds;
mod complaint;
mod dialect;
mod effort;
mod fault;
mod graph;
mod keywords;
mod references;
mod words;

#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jsonschema::{Draft, PatternOptions};
use serde_json::Value;

pub use self::complaint::Complaint;
use self::effort::Effort;
pub use self::fault::SchemaFault;
use self::graph::Graph;

/// How often a pattern that needs backtracking may step back on one text.
const BACKTRACK_LIMIT: usize = 10_000;
/// What one compiled pattern may take in bytes.
const PATTERN_BYTES: usize = 512 * 1024;
/// How many errors a complaint tells of.
const MAX_ERRORS: usize = 5;

/// The compiled schemas of one tool.
#[derive(Debug)]
pub struct Schemas {
    pub input: Option<Validator>,
    pub output: Option<Validator>,
}

/// A compiled schema.
pub struct Validator {
    compiled: jsonschema::Validator,
    /// What the schema applies where, to tell beforehand what a check costs.
    graph: Graph,
}

/// Whether a tool's `inputSchema` may be used: the rule of its root, and all that can be known without compiling it.
///
/// # Errors
/// The first fault that is found.
pub fn check_input(schema: &Value) -> Result<(), SchemaFault> {
    bounds::check(schema)?;
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(SchemaFault::new("", r#"an inputSchema must be an object with "type": "object""#));
    }
    judge(schema).map(drop)
}

impl Validator {
    /// # Errors
    /// The first fault that is found; the rule of an `inputSchema`'s root is not asked for.
    pub fn compile(schema: &Value) -> Result<Self, SchemaFault> {
        bounds::check(schema)?;
        let (draft, graph) = judge(schema)?;
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(BACKTRACK_LIMIT)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES);
        let options = jsonschema::options()
            .with_draft(draft)
            .with_retriever(references::Nowhere)
            .should_validate_formats(false)
            .with_pattern_options(patterns);
        let compiled = guarded(|| options.build(schema)).ok_or_else(SchemaFault::unusable)?;
        Ok(Self { compiled: compiled.map_err(|error| SchemaFault::from_error(&error))?, graph })
    }

    /// # Errors
    /// What does not hold, or that it would take too much to find out.
    pub fn check(&self, value: &Value) -> Result<(), Complaint> {
        let effort = effort::estimate(&self.graph, value).ok_or_else(Complaint::too_much)?;
        guarded(|| self.apply(value, effort)).unwrap_or_else(|| Err(Complaint::untold()))
    }

    /// Validity comes first, since the crate remembers on that path what it found; what it tells of errors it does not.
    fn apply(&self, value: &Value, effort: Effort) -> Result<(), Complaint> {
        if self.compiled.is_valid(value) {
            return Ok(());
        }
        if effort.allows_all_errors() {
            return Err(Complaint::of(self.compiled.iter_errors(value).take(MAX_ERRORS)));
        }
        if effort.allows_one_error() {
            return Err(Complaint::of(self.compiled.validate(value).err().into_iter()));
        }
        Err(Complaint::untold())
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator").field("draft", &self.compiled.draft()).finish_non_exhaustive()
    }
}

/// Dialect, meta-schema and references of a schema whose bounds hold.
fn judge(schema: &Value) -> Result<(Draft, Graph), SchemaFault> {
    let draft = dialect::of(schema, Draft::Draft202012, "")?;
    guarded(|| {
        jsonschema::meta::validate(schema).map_err(|error| SchemaFault::from_error(&error))?;
        Ok((draft, references::survey(schema, draft)?))
    })
    .unwrap_or_else(|| Err(SchemaFault::unusable()))
}

/// The crate trusts what it derives from a schema and panics where it is wrong: a stranger's schema must not end a
/// request, or more, by that.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}
