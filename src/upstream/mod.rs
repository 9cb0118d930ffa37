//! Towards the servers: endpoints, connections with deadlines, and the gateway's own requests.
//!
//! Knows addresses and sockets. Must never decide which server a request is for.

mod connector;
mod endpoint;
mod own_request;
mod pool;

pub use connector::Upstreams;
pub use endpoint::{Endpoint, Timeouts};
pub use own_request::{OwnAnswer, OwnClient, OwnError, OwnRequest};
pub use pool::Pool;
