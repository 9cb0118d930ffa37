//! Name → server, parameters → pool, and why.
//!
//! Pure: compiled once from a configuration, asked for each request. A decision costs the same for 10 servers and for
//! 100,000, and for 10 and 1,000 routes of exact values. Must never look at a body, an endpoint's health or a list.

mod destination;
mod door;
mod explain;
mod routes;
mod uri;

pub use destination::Destination;
pub use door::{Door, NoServer, SEPARATOR, Table, prefixed_name};
pub use explain::{Asked, Explanation, Pool, RouteStep, ServerStep};
pub use routes::{Choice, ServerRoutes};
pub use uri::prefixed_uri;

#[cfg(test)]
mod tests;
