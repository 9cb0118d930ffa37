//! Every way in which the gateway itself says no, and the one place that turns it into HTTP, JSON-RPC and a label.
//!
//! Pure. Must never put an address, a credential or a parameter's value into anything but the answer to its own author.

use serde_json::{Value, json};

use crate::agreement::Fault;
use crate::protocol::{HeadFault, VERSIONS, code, quote};

/// Seconds after which a client that met a limit may try again.
const RETRY_AFTER: u32 = 1;

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
    Overloaded(Limit),
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

/// The limit of ours that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Connections,
    InFlight,
    BufferedBytes,
    /// Kinds of clients that ask for lists.
    Variants,
}

/// What goes out for a refusal.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub code: i32,
    pub message: String,
    pub data: Option<Value>,
    /// Whether it is a tool's result that says so, which the model sees, and not an error of the protocol.
    pub is_tool_result: bool,
    /// A header that this status owes the client.
    pub header: Option<(&'static str, String)>,
}

impl Answer {
    /// The body: a JSON-RPC error response. `id` is the request's own, as written; without it the member is left out
    /// ("Sending Messages": an error response that has no id).
    pub fn body(&self, id: Option<&str>) -> Vec<u8> {
        if self.is_tool_result {
            return self.tool_result(id);
        }
        let mut error = json!({ "code": self.code, "message": self.message });
        if let (Some(data), Some(members)) = (&self.data, error.as_object_mut()) {
            members.insert("data".into(), data.clone());
        }
        let id = id.map(|id| format!("\"id\":{id},")).unwrap_or_default();
        format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{error}}}").into_bytes()
    }

    /// "server/tools", "Error Handling": what is wrong with the arguments is a result, so that the model can mend it.
    fn tool_result(&self, id: Option<&str>) -> Vec<u8> {
        let content = json!([{ "type": "text", "text": self.message }]);
        let id = id.unwrap_or("null");
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\",\"content\":{content},\"isError\":true}}}}"
        )
        .into_bytes()
    }
}

impl Refusal {
    /// Every label, so that each series is there from the start.
    pub const LABELS: [&'static str; 33] = [
        "method",
        "path",
        "content_type",
        "content_encoding",
        "accept",
        "origin",
        "host",
        "framing",
        "body_too_large",
        "head_too_large",
        "head_too_slow",
        "body_too_slow",
        "unauthenticated",
        "overloaded",
        "connections",
        "header_mismatch",
        "malformed",
        "not_a_request",
        "meta",
        "version",
        "notification",
        "no_server",
        "no_method",
        "no_route",
        "undeclared_parameter",
        "rules_unavailable",
        "cursor",
        "names_unavailable",
        "reference",
        "arguments",
        "list_unavailable",
        "upstream",
        "internal",
    ];

    /// The reason as a metric label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::Path => "path",
            Self::ContentType => "content_type",
            Self::ContentEncoding => "content_encoding",
            Self::Accept => "accept",
            Self::Origin => "origin",
            Self::Host => "host",
            Self::Framing(_) | Self::Connection => "framing",
            Self::BodyTooLarge { .. } => "body_too_large",
            Self::HeadTooLarge { .. } | Self::TooManyFields { .. } => "head_too_large",
            Self::HeadTooSlow => "head_too_slow",
            Self::BodyTooSlow => "body_too_slow",
            Self::Unauthenticated => "unauthenticated",
            Self::Overloaded(_) => "overloaded",
            Self::Head(HeadFault::Version(_)) | Self::Version { .. } => "version",
            Self::Head(_) | Self::Body(Fault::Mismatch { .. }) => "header_mismatch",
            Self::Body(Fault::Malformed(_)) => "malformed",
            Self::Body(Fault::NotARequest(_)) | Self::Rounds => "not_a_request",
            Self::Body(Fault::Meta(_)) => "meta",
            Self::Notification => "notification",
            Self::NoServer { .. } => "no_server",
            Self::NoMethod { .. } => "no_method",
            Self::NoRoute { .. } => "no_route",
            Self::Undeclared { .. } => "undeclared_parameter",
            Self::RulesUnavailable { .. } => "rules_unavailable",
            Self::BadCursor => "cursor",
            Self::NamesUnavailable { .. } => "names_unavailable",
            Self::NoReference => "reference",
            Self::Arguments { .. } => "arguments",
            Self::ListUnavailable { .. } | Self::ListUnauthorized { .. } | Self::ListRefused { .. } => {
                "list_unavailable"
            }
            Self::Unreachable { .. } | Self::Silent { .. } | Self::BrokeOff { .. } => "upstream",
            Self::Internal => "internal",
        }
    }

    /// What the client is told.
    pub fn answer(&self) -> Answer {
        let (status, code, message) = self.status_code_message();
        let is_tool_result = matches!(self, Self::Arguments { .. });
        Answer { status, code, message, data: self.data(), is_tool_result, header: self.header() }
    }

    fn status_code_message(&self) -> (u16, i32, String) {
        match self {
            Self::Head(fault) => Self::head_answer(fault),
            Self::Body(fault) => (400, body_code(fault), fault.to_string()),
            Self::Version { requested } => version_answer(requested),
            Self::Notification => (400, code::INVALID_REQUEST, "no notification from a client is accepted here".into()),
            Self::NoServer { name } => (200, code::INVALID_PARAMS, format!("nothing here is named {}", quote(name))),
            Self::NoMethod { method } => (404, code::METHOD_NOT_FOUND, format!("no method {} here", quote(method))),
            Self::NoRoute { params } => (200, code::INVALID_PARAMS, no_route(params)),
            Self::Undeclared { header } => (400, code::HEADER_MISMATCH, undeclared(header)),
            Self::RulesUnavailable { server } => (
                503,
                code::RULES_UNAVAILABLE,
                format!("the tool list of {server} cannot be had, so its parameters cannot be verified"),
            ),
            Self::BadCursor => {
                (200, code::INVALID_PARAMS, "this cursor is not one of this list; start again without".into())
            }
            Self::NamesUnavailable { server } => (
                503,
                code::RULES_UNAVAILABLE,
                format!("the list of {server} cannot be had, so what this shortened name stands for is not known"),
            ),
            Self::NoReference => {
                (200, code::INVALID_PARAMS, "params.ref names no prompt (name) and no resource template (uri)".into())
            }
            Self::Rounds => (200, code::INVALID_PARAMS, "a list takes neither inputResponses nor requestState".into()),
            Self::Arguments { complaint } => (200, code::INVALID_PARAMS, complaint.clone()),
            Self::ListUnavailable { server, why, is_late } => (
                if *is_late { 504 } else { 502 },
                code::LIST_UNAVAILABLE,
                format!("the list of server {server} cannot be had: {why}"),
            ),
            Self::ListUnauthorized { status, .. } => {
                (*status, code::LIST_UNAVAILABLE, "the servers want other credentials".into())
            }
            Self::ListRefused { code, message } => (200, *code, message.clone()),
            Self::Unreachable { server } => {
                (502, code::SERVER_UNREACHABLE, format!("server {server} cannot be reached; the call did not run"))
            }
            Self::Silent { server } => {
                (504, code::SERVER_SILENT, format!("server {server} did not answer in time; the call may have run"))
            }
            Self::BrokeOff { server } => (
                502,
                code::SERVER_BROKE_OFF,
                format!("server {server} broke off or answered what is no HTTP; the call may have run"),
            ),
            Self::Internal => (500, code::INTERNAL, "the gateway failed on this request".into()),
            other => other.guard_answer(),
        }
    }

    fn guard_answer(&self) -> (u16, i32, String) {
        let (status, message) = match self {
            Self::Method => (405, "send requests by POST".to_owned()),
            Self::Path => (
                404,
                "there is no endpoint at this path; a server's own is the gateway's path followed by its name"
                    .to_owned(),
            ),
            Self::ContentType => (415, "send Content-Type: application/json".to_owned()),
            Self::ContentEncoding => (415, "send the body without a Content-Encoding".to_owned()),
            Self::Accept => (406, "accept application/json and text/event-stream".to_owned()),
            Self::Origin => (403, "this Origin is not allowed; the gateway's allowed_origins must name it".to_owned()),
            Self::Host => {
                (403, "this Host is not served here; on a loopback listener allowed_hosts must name it".to_owned())
            }
            Self::Framing(why) => (400, (*why).to_owned()),
            Self::Connection => (400, "Connection must not name a header that the server needs".to_owned()),
            Self::BodyTooLarge { limit } => (413, format!("the body is larger than {limit} bytes")),
            Self::HeadTooLarge { limit } => (431, format!("the head is larger than {limit} bytes")),
            Self::TooManyFields { limit } => (431, format!("the head has more than {limit} fields")),
            Self::HeadTooSlow => return (408, code::TOO_SLOW, "the head did not arrive in time".into()),
            Self::BodyTooSlow => return (408, code::TOO_SLOW, "the body did not arrive in time".into()),
            Self::Unauthenticated => (401, "send the gateway's bearer token".to_owned()),
            Self::Overloaded(limit) => return (503, code::OVERLOADED, format!("too much at once: {}", limit.words())),
            _ => return (500, code::INTERNAL, "the gateway failed on this request".into()),
        };
        (status, code::REFUSED_BY_GUARD, message)
    }

    fn head_answer(fault: &HeadFault) -> (u16, i32, String) {
        match fault {
            HeadFault::Version(requested) => version_answer(requested),
            _ => (400, code::HEADER_MISMATCH, fault.to_string()),
        }
    }

    fn data(&self) -> Option<Value> {
        match self {
            Self::Version { requested } | Self::Head(HeadFault::Version(requested)) => {
                Some(json!({ "supported": VERSIONS, "requested": requested }))
            }
            _ => None,
        }
    }

    fn header(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Method => Some(("Allow", "POST, OPTIONS".into())),
            Self::Overloaded(_) | Self::RulesUnavailable { .. } | Self::NamesUnavailable { .. } => {
                Some(("Retry-After", RETRY_AFTER.to_string()))
            }
            Self::ListUnauthorized { challenge, .. } => Some(("WWW-Authenticate", challenge.clone()?)),
            Self::Unauthenticated => Some(("WWW-Authenticate", "Bearer".into())),
            _ => None,
        }
    }
}

impl Limit {
    fn words(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::InFlight => "requests in flight",
            Self::BufferedBytes => "bytes waiting to be judged",
            Self::Variants => "kinds of clients, by their capabilities",
        }
    }
}

fn version_answer(requested: &str) -> (u16, i32, String) {
    let message = format!("protocol version {} is not spoken here, only {}", quote(requested), VERSIONS.join(", "));
    (400, code::UNSUPPORTED_VERSION, message)
}

/// "Error codes": what is no JSON, what is no request, what lacks a required field, what disagrees.
fn body_code(fault: &Fault) -> i32 {
    match fault {
        Fault::Malformed(_) if fault.is_syntax() => code::PARSE,
        Fault::Malformed(_) | Fault::NotARequest(_) => code::INVALID_REQUEST,
        Fault::Meta(_) => code::INVALID_PARAMS,
        Fault::Mismatch { .. } => code::HEADER_MISMATCH,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn every() -> Vec<Refusal> {
        let server = || "alpha".to_owned();
        vec![
            Refusal::Method,
            Refusal::Path,
            Refusal::ContentType,
            Refusal::ContentEncoding,
            Refusal::Accept,
            Refusal::Origin,
            Refusal::Host,
            Refusal::Framing("x"),
            Refusal::Connection,
            Refusal::BodyTooLarge { limit: 1 },
            Refusal::HeadTooLarge { limit: 1 },
            Refusal::TooManyFields { limit: 1 },
            Refusal::HeadTooSlow,
            Refusal::BodyTooSlow,
            Refusal::Unauthenticated,
            Refusal::Overloaded(Limit::InFlight),
            Refusal::Head(HeadFault::EmptyName),
            Refusal::Body(Fault::NotARequest("x")),
            Refusal::Body(Fault::Meta("x")),
            Refusal::Version { requested: "x".into() },
            Refusal::Notification,
            Refusal::NoServer { name: "x".into() },
            Refusal::NoMethod { method: "x".into() },
            Refusal::NoRoute { params: vec!["Region".into()] },
            Refusal::Undeclared { header: "Region".into() },
            Refusal::RulesUnavailable { server: server() },
            Refusal::BadCursor,
            Refusal::NamesUnavailable { server: server() },
            Refusal::NoReference,
            Refusal::Rounds,
            Refusal::Arguments { complaint: "x".into() },
            Refusal::ListUnavailable { server: server(), why: "x".into(), is_late: true },
            Refusal::ListUnauthorized { status: 401, challenge: None },
            Refusal::ListRefused { code: -32603, message: "x".into() },
            Refusal::Unreachable { server: server() },
            Refusal::Silent { server: server() },
            Refusal::BrokeOff { server: server() },
            Refusal::Internal,
        ]
    }

    #[test]
    fn every_refusal_has_a_known_label_and_a_lawful_code() {
        for refusal in every() {
            assert!(Refusal::LABELS.contains(&refusal.label()), "{refusal:?}");
            let answer = refusal.answer();
            let specified = (-32768..=-32000).contains(&answer.code);
            assert!(specified || answer.code > 0, "{refusal:?}");
            assert!(!answer.message.is_empty());
        }
    }

    #[test]
    fn an_answer_is_json_rpc_with_the_id_as_it_was_written() {
        let answer = Refusal::Version { requested: "\"x".into() }.answer();
        let body: Value = serde_json::from_slice(&answer.body(Some("\"a\\u0062\""))).unwrap();
        assert_eq!(body["id"], "ab");
        assert_eq!(body["error"]["code"], code::UNSUPPORTED_VERSION);
        assert_eq!(body["error"]["data"], json!({ "supported": VERSIONS, "requested": "\"x" }));
        let without: Value = serde_json::from_slice(&answer.body(None)).unwrap();
        assert!(without.get("id").is_none());
    }

    #[test]
    fn wrong_arguments_are_a_tools_result() {
        let answer = Refusal::Arguments { complaint: "arguments.\"x\" is missing".into() }.answer();
        let body: Value = serde_json::from_slice(&answer.body(Some("7"))).unwrap();
        assert_eq!((answer.status, &body["id"], &body["result"]["isError"]), (200, &json!(7), &json!(true)));
        assert_eq!(body["result"]["content"][0]["text"], "arguments.\"x\" is missing");
    }

    #[test]
    fn an_answer_about_a_server_names_it_and_says_whether_the_call_may_have_run() {
        let ran = |refusal: Refusal| refusal.answer().message.contains("may have run");
        assert!(!ran(Refusal::Unreachable { server: "a".into() }));
        assert!(ran(Refusal::Silent { server: "a".into() }));
        assert!(ran(Refusal::BrokeOff { server: "a".into() }));
    }
}
