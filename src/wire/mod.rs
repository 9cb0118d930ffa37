//! What pingora lacks, in one room. Nothing here knows what a request is for, and nothing changes a byte.
//!
//! # What pingora does
//!
//! It accepts connections, speaks HTTP/1.1 and HTTP/2, pools connections to servers and relays between the two.
//!
//! # What it lacks, and the hook that we use
//!
//! | it lacks | the hook | here |
//! | --- | --- | --- |
//! | a deadline for a whole head, an end to idle connections, a word to who is too slow | `force_custom` hands us the raw stream | [`begin`], [`connection`] |
//! | a size for a head, CRLF alone as a line's end, a complaint about two lengths | the stream that we hand to its session is [`guard`]ed | [`head`], [`lines`] |
//! | a server's silence told apart from a client that still sends; deadlines that start anew with each byte | the stream to a server is guarded too; the proxy digest's user data tells the guard who is waited for | [`patience`] |
//! | every address of a name, typed reasons of a failed TLS handshake, one deadline for connecting | a peer whose ALPN is `Custom` is connected by our connector | [`upstreams`], [`dial`], [`tls`], [`encrypted`] |
//! | heads that rules can change without knowing pingora | its heads implement [`crate::policy::Fields`] | [`fields`] |
//!
//! `force_custom` is hidden in its documentation, and what travels in an ALPN or in a digest is looked at by nobody else:
//! pingora is pinned to one version, and [`pinned`] fails when another one stops doing what this room leans on. What
//! travels there fails closed: what cannot be read is an error, never a stream without deadlines.
//!
//! # What would make this room unnecessary
//!
//! In pingora: deadlines for heads and for idle connections of clients, strict framing, connectors chosen by a peer's own
//! type, and read timeouts that a proxy can change while a request is under way.

mod begin;
pub mod connection;
mod deadline;
pub mod dial;
mod encrypted;
mod fields;
pub mod guard;
pub mod head;
mod lines;
pub mod patience;
#[cfg(test)]
mod pinned;
pub mod tls;
mod upstreams;

pub use guard::Guarded;
pub use upstreams::{Dials, Registered, Upstreams};

use pingora::proxy::Session;

/// What pingora shows of a connection to a server; [`patience::Sending`] is in it.
pub type Carried = pingora::protocols::Digest;

/// Whether a client's connection is encrypted up to here.
pub fn is_encrypted(session: &Session) -> bool {
    session.digest().is_some_and(|digest| digest.ssl_digest.is_some())
}
