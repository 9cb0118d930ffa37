//! What pingora lacks towards sockets: deadlines on streams, and connections to servers.
//!
//! [`guard::Guarded`] wraps any pingora stream and lets a [`guard::Guard`] watch what passes: [`head::HeadGuard`] towards
//! clients, [`answer::AnswerGuard`] towards servers. It must never change a byte.
//!
//! Connections to servers are made here and not by pingora, which tries one address of a name, gives no typed reason when a
//! TLS handshake fails, and has one read timeout for a whole exchange:
//!
//! ```text
//! upstreams (what pingora calls) → dial (name, addresses, deadline) → tls → guard on the stream
//! ```

pub mod answer;
mod deadline;
pub mod dial;
mod encrypted;
pub mod guard;
pub mod head;
mod lines;
pub mod tls;
mod upstreams;

pub use guard::Guarded;
pub use upstreams::{Dials, Registered, Upstreams};
