//! Every way in which the gateway itself says no, and what follows from each.
//!
//! ```text
//! table   one row for each refusal: status, code, reason, who is to blame, whether the connection closes, what is owed
//! words   what its author is told
//! answer  both as HTTP and JSON-RPC
//! ```
//!
//! Pure. Must never put an address, a credential or a parameter's value into anything but the answer to its own author.

mod answer;
mod lists;
mod reason;
mod table;
#[cfg(test)]
mod tests;
mod words;

pub use answer::Answer;
pub use reason::Reason;
pub use table::Blame;

use crate::agreement::Fault;
use crate::protocol::HeadFault;

/// Why a request is not relayed, or why its relay failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    // What HTTP alone decides.
    Method,
    Path,
    ContentType,
    ContentEncoding,
    Accept,
    Origin,
    Host,
    Framing(&'static str),
    /// `Connection` names a header that was judged here; it would be stripped on the way.
    Connection,
    BodyTooLarge {
        limit: u64,
    },
    HeadTooLarge {
        limit: usize,
    },
    TooManyFields {
        limit: usize,
    },
    HeadTooSlow,
    BodyTooSlow,
    Unauthenticated,
    Overloaded(Exhausted),
    // What the protocol decides.
    Head(HeadFault),
    Body(Fault),
    Version {
        requested: String,
    },
    Notification,
    // What the configuration decides.
    NoServer {
        name: String,
    },
    NoMethod {
        method: String,
    },
    NoRoute {
        params: Vec<String>,
    },
    Undeclared {
        header: String,
    },
    RulesUnavailable {
        server: String,
    },
    BadCursor,
    /// The name may be a shortened one, and the list that would tell cannot be had.
    NamesUnavailable {
        server: String,
    },
    /// `completion/complete` for nothing that has a name.
    NoReference,
    /// A list that would have to be asked for in several rounds.
    Rounds,
    /// The arguments are not what the tool's schema asks for.
    Arguments {
        complaint: String,
    },
    ListUnavailable {
        server: String,
        why: String,
        is_late: bool,
    },
    /// Every server that was asked wants other credentials.
    ListUnauthorized {
        status: u16,
        challenge: Option<String>,
    },
    /// The server's own words.
    ListRefused {
        code: i32,
        message: String,
    },
    // What the server did.
    Unreachable {
        server: String,
    },
    Silent {
        server: String,
    },
    BrokeOff {
        server: String,
    },
    Internal,
}

/// What there was not enough of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    Connections,
    InFlight,
    BufferedBytes,
    /// Kinds of clients that ask for lists.
    Variants,
}
