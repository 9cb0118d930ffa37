//! What the author of a refused request is told: what is wrong, and what to do about it.

use super::{Exhausted, Refusal};
use crate::protocol::{HeadFault, VERSIONS, quote};

impl Refusal {
    pub(super) fn words(&self) -> String {
        match self {
            Self::Method => "send requests by POST".into(),
            Self::Path => {
                "there is no endpoint at this path; a server's own is the gateway's path followed by its name".into()
            }
            Self::ContentType => "send Content-Type: application/json".into(),
            Self::ContentEncoding => "send the body without a Content-Encoding".into(),
            Self::Accept => "accept application/json and text/event-stream".into(),
            Self::Origin => "this Origin is not allowed; the gateway's allowed_origins must name it".into(),
            Self::Host => "this Host is not served here; on a loopback listener allowed_hosts must name it".into(),
            Self::Framing(why) => (*why).into(),
            Self::Connection => "Connection must not name a header that the server needs".into(),
            Self::BodyTooLarge { limit } => format!("the body is larger than {limit} bytes"),
            Self::HeadTooLarge { limit } => format!("the head is larger than {limit} bytes"),
            Self::TooManyFields { limit } => format!("the head has more than {limit} fields"),
            Self::HeadTooSlow => "the head did not arrive in time".into(),
            Self::BodyTooSlow => "the body did not arrive in time".into(),
            Self::Unauthenticated => "send the gateway's bearer token".into(),
            Self::Overloaded(what) => format!("too much at once: {}", what.words()),
            Self::Head(HeadFault::Version(requested)) | Self::Version { requested } => version(requested),
            Self::Head(fault) => fault.to_string(),
            Self::Body(fault) => fault.to_string(),
            Self::Notification => "no notification from a client is accepted here".into(),
            Self::NoServer { name } => format!("nothing here is named {}", quote(name)),
            Self::NoMethod { method } => format!("no method {} here", quote(method)),
            Self::NoRoute { params } => no_route(params),
            Self::Undeclared { header } => undeclared(header),
            Self::RulesUnavailable { server } => {
                format!("the tool list of {server} cannot be had, so its parameters cannot be verified")
            }
            Self::BadCursor => "this cursor is not one of this list; start again without".into(),
            Self::NamesUnavailable { server } => {
                format!("the list of {server} cannot be had, so what this shortened name stands for is not known")
            }
            Self::NoReference => "params.ref names no prompt (name) and no resource template (uri)".into(),
            Self::Rounds => "a list takes neither inputResponses nor requestState".into(),
            Self::Arguments { complaint } => complaint.clone(),
            Self::ListUnavailable { server, why, .. } => format!("the list of server {server} cannot be had: {why}"),
            Self::ListUnauthorized { .. } => "the servers want other credentials".into(),
            Self::ListRefused { message, .. } => message.clone(),
            Self::Unreachable { server } => format!("server {server} cannot be reached; the call did not run"),
            Self::Silent { server } => format!("server {server} did not answer in time; the call may have run"),
            Self::BrokeOff { server } => {
                format!("server {server} broke off or answered what is no HTTP; the call may have run")
            }
            Self::Internal => "the gateway failed on this request".into(),
        }
    }
}

impl Exhausted {
    fn words(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::InFlight => "requests in flight",
            Self::BufferedBytes => "bytes waiting to be judged",
            Self::Variants => "kinds of clients, by their capabilities",
        }
    }
}

fn version(requested: &str) -> String {
    format!("protocol version {} is not spoken here, only {}", quote(requested), VERSIONS.join(", "))
}

fn no_route(params: &[String]) -> String {
    if params.is_empty() {
        return "no route takes this call and its server has no default pool".into();
    }
    format!("no route takes the value of {}", params.join(", "))
}

fn undeclared(header: &str) -> String {
    format!("the header Mcp-Param-{header} chooses a route, but the tool does not declare it; leave it out")
}
