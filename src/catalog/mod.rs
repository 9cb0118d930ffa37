//! What each server offers, to whom, until when, and all of it as one.
//!
//! ```text
//! kind, page, walk ──► item, reading ──► list (one server's, whole) ──► view (all servers', under public names)
//!           freshness     schemas ──┘          │                          ▲
//!                       omission               ▼                          │
//!           variants ──► cache (fresh, stale, fetched once) ──────────► merged
//!                          └── flights, store              names, cursor ──┘
//! rules: what calls are judged by, with a lifetime of their own
//! ```
//!
//! Must never do I/O or look at a clock: what is fetched is handed in ([`cache::Source`]), and so is the time ([`Clock`]).

pub mod about;
pub mod cache;
pub mod cursor;
#[cfg(test)]
mod fake;
mod flights;
pub mod freshness;

pub mod item;
pub mod kind;
pub mod list;
pub mod merged;
pub mod names;
pub mod offer;
pub mod omission;
pub mod page;
pub mod reading;
mod rules;
pub mod schemas;
pub mod store;
pub mod variants;
pub mod view;
pub mod walk;

/// Tells the time. A function, so that tests can move it by hand.
pub type Clock = fn() -> tokio::time::Instant;

pub use rules::{ByName, Call, Caller, Demands, Judging, Rule, RuleSet, Rules, Ruling, Settled, Tool, Tools};
