//! One row for each refusal. Whoever adds a refusal adds its row: there is no row for the rest.

use super::{Exhausted, Reason, Refusal};
use crate::agreement::Fault;
use crate::protocol::{HeadFault, code};

/// What follows from a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub status: u16,
    pub code: i32,
    pub reason: Reason,
    pub blame: Blame,
    pub then: Then,
    pub owes: Owes,
}

/// Whose doing it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    Client,
    /// This process, or its configuration.
    Gateway,
    Server,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It may carry the next request.
    Stays,
    /// Where one request ends and the next begins is not known, or not worth knowing.
    Closes,
}

/// The header that goes with the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owes {
    Nothing,
    Allow,
    RetryAfter,
    /// Ours.
    Bearer,
    /// The servers' own, where they sent one.
    Challenge,
}

fn row(status: u16, code: i32, reason: Reason, (blame, then, owes): (Blame, Then, Owes)) -> Row {
    Row { status, code, reason, blame, then, owes }
}

const GUARD: i32 = code::REFUSED_BY_GUARD;
/// The client's doing; the connection stays.
const CLIENT: (Blame, Then, Owes) = (Blame::Client, Then::Stays, Owes::Nothing);
/// The client's doing; the connection closes.
const FATAL: (Blame, Then, Owes) = (Blame::Client, Then::Closes, Owes::Nothing);
/// Ours; the client may come again.
const LATER: (Blame, Then, Owes) = (Blame::Gateway, Then::Stays, Owes::RetryAfter);
const SERVER: (Blame, Then, Owes) = (Blame::Server, Then::Stays, Owes::Nothing);
/// The server's doing; the client may come again.
const SERVER_LATER: (Blame, Then, Owes) = (Blame::Server, Then::Stays, Owes::RetryAfter);

impl Refusal {
    pub(super) fn row(&self) -> Row {
        match self {
            Self::Method => row(405, GUARD, Reason::Method, (Blame::Client, Then::Stays, Owes::Allow)),
            Self::Path => row(404, GUARD, Reason::Path, CLIENT),
            Self::ContentType => row(415, GUARD, Reason::ContentType, CLIENT),
            Self::ContentEncoding => row(415, GUARD, Reason::ContentEncoding, CLIENT),
            Self::Accept => row(406, GUARD, Reason::Accept, CLIENT),
            Self::Origin => row(403, GUARD, Reason::Origin, CLIENT),
            Self::Host => row(403, GUARD, Reason::Host, CLIENT),
            Self::Framing(_) => row(400, GUARD, Reason::Framing, FATAL),
            Self::Connection => row(400, GUARD, Reason::Framing, CLIENT),
            Self::BodyTooLarge { .. } => row(413, GUARD, Reason::BodyTooLarge, FATAL),
            Self::HeadTooLarge { .. } | Self::TooManyFields { .. } => row(431, GUARD, Reason::HeadTooLarge, FATAL),
            Self::HeadTooSlow => row(408, code::TOO_SLOW, Reason::HeadTooSlow, FATAL),
            Self::BodyTooSlow => row(408, code::TOO_SLOW, Reason::BodyTooSlow, FATAL),
            Self::Unauthenticated => {
                row(401, GUARD, Reason::Unauthenticated, (Blame::Client, Then::Stays, Owes::Bearer))
            }
            Self::Overloaded(Exhausted::Connections) => {
                row(503, code::OVERLOADED, Reason::Connections, (Blame::Gateway, Then::Closes, Owes::RetryAfter))
            }
            Self::Overloaded(Exhausted::InFlight | Exhausted::BufferedBytes | Exhausted::Variants) => {
                row(503, code::OVERLOADED, Reason::Overloaded, LATER)
            }
            Self::Head(fault) => head(fault),
            Self::Body(fault) => body(fault),
            Self::Version { .. } => VERSION,
            Self::Notification => row(400, code::INVALID_REQUEST, Reason::Notification, CLIENT),
            Self::NoServer { .. } => row(200, code::INVALID_PARAMS, Reason::NoServer, CLIENT),
            Self::NoMethod { .. } => row(404, code::METHOD_NOT_FOUND, Reason::NoMethod, CLIENT),
            Self::NoRoute { .. } => row(200, code::INVALID_PARAMS, Reason::NoRoute, CLIENT),
            Self::Undeclared { .. } => row(400, code::HEADER_MISMATCH, Reason::UndeclaredParameter, CLIENT),
            Self::RulesUnavailable { .. } => row(503, code::RULES_UNAVAILABLE, Reason::RulesUnavailable, SERVER_LATER),
            Self::BadCursor => row(200, code::INVALID_PARAMS, Reason::Cursor, CLIENT),
            Self::NamesUnavailable { .. } => row(503, code::RULES_UNAVAILABLE, Reason::NamesUnavailable, SERVER_LATER),
            Self::NoReference => row(200, code::INVALID_PARAMS, Reason::Reference, CLIENT),
            Self::Rounds => row(200, code::INVALID_PARAMS, Reason::NotARequest, CLIENT),
            Self::Arguments { .. } => row(200, code::INVALID_PARAMS, Reason::Arguments, CLIENT),
            Self::ListUnavailable { is_late, .. } => {
                row(if *is_late { 504 } else { 502 }, code::LIST_UNAVAILABLE, Reason::ListUnavailable, SERVER)
            }
            Self::ListUnauthorized { status, .. } => {
                let owed = (Blame::Client, Then::Stays, Owes::Challenge);
                row(*status, code::LIST_UNAVAILABLE, Reason::ListUnavailable, owed)
            }
            Self::ListRefused { code, .. } => row(200, *code, Reason::ListUnavailable, SERVER),
            Self::Unreachable { .. } => row(502, code::SERVER_UNREACHABLE, Reason::Upstream, SERVER),
            Self::Silent { .. } => row(504, code::SERVER_SILENT, Reason::Upstream, SERVER),
            Self::BrokeOff { .. } => row(502, code::SERVER_BROKE_OFF, Reason::Upstream, SERVER),
            Self::Internal => row(500, code::INTERNAL, Reason::Internal, (Blame::Gateway, Then::Stays, Owes::Nothing)),
        }
    }

    pub fn reason(&self) -> Reason {
        self.row().reason
    }

    pub fn blame(&self) -> Blame {
        self.row().blame
    }

    /// Whether the connection must close after it. What such a request goes on with is not read either.
    pub fn closes(&self) -> bool {
        self.row().then == Then::Closes
    }
}

const VERSION: Row = Row {
    status: 400,
    code: code::UNSUPPORTED_VERSION,
    reason: Reason::Version,
    blame: Blame::Client,
    then: Then::Stays,
    owes: Owes::Nothing,
};

fn head(fault: &HeadFault) -> Row {
    match fault {
        HeadFault::Version(_) => VERSION,
        HeadFault::Missing(_)
        | HeadFault::Twice(_)
        | HeadFault::Undecodable(..)
        | HeadFault::Underscore(_)
        | HeadFault::EmptyName => row(400, code::HEADER_MISMATCH, Reason::HeaderMismatch, CLIENT),
    }
}

/// "Error codes": what is no JSON, what is no request, what lacks a required field, what disagrees.
fn body(fault: &Fault) -> Row {
    let (code, reason) = match fault {
        Fault::Malformed(_) if fault.is_syntax() => (code::PARSE, Reason::Malformed),
        Fault::Malformed(_) => (code::INVALID_REQUEST, Reason::Malformed),
        Fault::NotARequest(_) => (code::INVALID_REQUEST, Reason::NotARequest),
        Fault::Meta(_) => (code::INVALID_PARAMS, Reason::Meta),
        Fault::Mismatch { .. } => (code::HEADER_MISMATCH, Reason::HeaderMismatch),
    };
    row(400, code, reason, CLIENT)
}
