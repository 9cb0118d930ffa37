//! Towards the servers: endpoints, connections with deadlines, and the gateway's own requests.
//!
//! Knows addresses and sockets. Must never decide which server a request is for.

mod endpoint;
mod own_request;
mod pool;
mod reach;

pub use endpoint::{Endpoint, Timeouts, Wiring};
pub use own_request::{OwnAnswer, OwnClient, OwnConnection, OwnError, OwnRequest};
pub use pool::{Pool, Way};
