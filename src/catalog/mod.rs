//! What each server offers, and under which rules.
//!
//! Knows the lists' results as JSON values, and how long what was read from them holds. Must never do I/O: what is
//! fetched is handed in.

mod index;
pub mod rules;
pub mod walk;

pub use index::{Caller, Doubt, Fetch, Index, RuleSet};
