//! What one configuration runs: its servers with their pools, rules and lists, and what one process takes on at once.
//!
//! Outlives requests and knows none. Must never decide what a request is for, or answer one.

mod asking;
mod budget;
mod connect;
mod lists;
mod server;
mod snapshot;
mod source;

pub use asking::Restored;
pub use budget::{Budget, Share};
pub use server::Server;
pub use snapshot::{BuildError, Limits, Loaded, Snapshot};
