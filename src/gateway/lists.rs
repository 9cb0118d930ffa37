//! Lists, and `server/discover` for several servers: answered from the catalog at every door.

use std::sync::Arc;

use http::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::answer::Own;
use super::exchange::Exchange;
use super::server::Server;
use super::snapshot::Snapshot;
use crate::catalog::cache::How;
use crate::catalog::cursor::Cursor;
use crate::catalog::kind::Kind;
use crate::catalog::list::List;
use crate::catalog::merged::{Answer, NoAnswer, Party, Rendered, Wanted};
use crate::catalog::offer::{Ask, Failure, Question};
use crate::catalog::omission::LeftOut;
use crate::catalog::variants::Variant;
use crate::catalog::view::{Names, Part, View};
use crate::protocol::code;
use crate::refusal::{Limit, Refusal};
use crate::routing::Door;

/// What a client's request says besides its method. It was judged already.
#[derive(Debug, Deserialize)]
struct Request {
    params: Params,
}

#[derive(Debug, Deserialize)]
struct Params {
    cursor: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Meta,
    #[serde(rename = "inputResponses")]
    input_responses: Option<IgnoredAny>,
    #[serde(rename = "requestState")]
    request_state: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Value,
}

/// The answer to a judged request for a list or for what the servers are.
pub async fn answer(
    exchange: &Exchange,
    (door, question): (Door, Question),
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Own, Refusal> {
    let snapshot = &exchange.snapshot;
    // What was judged is JSON with these members; what serde cannot read all the same is nested too deep for it.
    let request: Request = serde_json::from_slice(body).map_err(|_| Refusal::Internal)?;
    let Params { cursor, meta, input_responses, request_state } = request.params;
    if input_responses.is_some() || request_state.is_some() {
        return Err(Refusal::Rounds);
    }
    let members = members(snapshot, door);
    let wanted = Wanted {
        door: match door {
            Door::Merged => None,
            Door::Server(index) => Some(index),
        },
        question,
        variant: Variant::of(&meta.capabilities),
        caller: snapshot.callers.caller_of_all(members.iter().map(|server| &server.credentials), headers),
        after: cursor.map(|cursor| read_cursor(question, &cursor)).transpose()?,
    };
    let parties = || members.iter().map(|server| party(snapshot, door, server, headers, &wanted.variant)).collect();
    match snapshot.catalog.answer(&wanted, parties).await {
        Ok(answer) => Ok(kept(snapshot, question, &answer)),
        Err(none) => Err(refusal(question, none)),
    }
}

/// The servers behind a door.
pub fn members(snapshot: &Snapshot, door: Door) -> &[Arc<Server>] {
    match door {
        Door::Merged => &snapshot.servers,
        Door::Server(index) => snapshot.servers.get(index..=index).unwrap_or_default(),
    }
}

pub fn party(
    snapshot: &Snapshot,
    door: Door,
    server: &Arc<Server>,
    headers: &HeaderMap,
    variant: &Variant,
) -> Party<Server> {
    let credentials = server.credentials.forwarded(headers);
    let ask = Ask {
        caller: snapshot.callers.caller(&credentials),
        credentials: Arc::new(credentials),
        variant: variant.clone(),
    };
    let names = match door {
        Door::Merged => Names::Merged(Arc::clone(&server.prefix)),
        Door::Server(_) => Names::Bare,
    };
    Party { member: Arc::clone(&server.member), names, ask, source: Arc::clone(server) }
}

fn read_cursor(question: Question, cursor: &Value) -> Result<Cursor, Refusal> {
    match (question, cursor.as_str()) {
        (Question::List(kind), Some(text)) => Cursor::decode(kind, text).map_err(|_| Refusal::BadCursor),
        _ => Err(Refusal::BadCursor),
    }
}

fn kept(snapshot: &Snapshot, question: Question, answer: &Answer) -> Own {
    let rendered = answer.merged.rendered();
    let lacks_servers = !rendered.unavailable.is_empty();
    snapshot.metrics.catalog.answer(question.method(), answer.how, lacks_servers, rendered.is_cut());
    if answer.how != How::Hit {
        for (server, left_out) in rendered.left_out() {
            snapshot.omissions.note(server, question.method(), left_out.iter());
        }
    }
    Own::Kept { result: answer.result.clone(), ttl_ms: answer.ttl_ms }
}

fn refusal(question: Question, none: NoAnswer) -> Refusal {
    match none {
        NoAnswer::Overloaded => Refusal::Overloaded(Limit::Variants),
        NoAnswer::NoMethod => Refusal::NoMethod { method: question.method().label().to_owned() },
        NoAnswer::Failed { server, failure, all_unauthorized } => match &*failure {
            Failure::Unauthorized { status, challenge } if all_unauthorized => {
                Refusal::ListUnauthorized { status: *status, challenge: challenge.clone() }
            }
            Failure::Overloaded => Refusal::Overloaded(Limit::Variants),
            Failure::Said { code: said, message } => Refusal::ListRefused {
                code: i32::try_from(*said).unwrap_or(code::LIST_UNAVAILABLE),
                message: format!("server {server}: {message}"),
            },
            failure => Refusal::ListUnavailable {
                server: server.to_string(),
                why: failure.to_string(),
                is_late: *failure == Failure::Silent,
            },
        },
    }
}

impl Snapshot {
    /// All tools as a client without credentials and capabilities sees them at the merged endpoint.
    ///
    /// # Errors
    /// As that client would be refused.
    pub async fn merged_tools(&self) -> Result<Arc<Rendered>, Refusal> {
        let (question, headers) = (Question::List(Kind::Tools), HeaderMap::new());
        let wanted = Wanted { door: None, question, variant: Variant::own(), caller: None, after: None };
        let parties = || {
            let asked = self.servers.iter().map(|server| party(self, Door::Merged, server, &headers, &wanted.variant));
            asked.collect()
        };
        match self.catalog.answer(&wanted, parties).await {
            Ok(answer) => Ok(Arc::clone(answer.merged.rendered())),
            Err(none) => Err(refusal(question, none)),
        }
    }

    /// Why a server gave no list of tools the last time, for an operator; `None` if it did.
    pub fn trouble(&self, server: &Server) -> Option<String> {
        let ask = Ask { caller: None, credentials: Arc::default(), variant: Variant::own() };
        let failure = server.member.cache.failure(Question::List(Kind::Tools), &ask)?;
        Some(failure.for_operator())
    }

    /// What the merged endpoint leaves out of a server's list besides what the list itself does.
    pub fn left_out_of(&self, server: &Server, list: &Arc<List>) -> Vec<LeftOut> {
        let part = Part {
            server: Arc::clone(&server.member.name),
            position: server.index,
            names: Names::Merged(Arc::clone(&server.prefix)),
            list: Arc::clone(list),
            shown: Arc::clone(&server.member.shown),
            uris: Arc::clone(&server.member.uris),
        };
        let view = View::merge(list.kind(), vec![part], &self.catalog.naming);
        view.left_out().iter().flat_map(|(_, items)| items.clone()).collect()
    }
}
