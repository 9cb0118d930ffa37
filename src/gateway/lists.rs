//! Lists, and `server/discover` for several servers: answered from the catalog at every door.

use http::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::answer::Own;
use super::exchange::Exchange;
use crate::catalog::cache::How;
use crate::catalog::cursor::Cursor;
use crate::catalog::merged::{Listing, Wanted};
use crate::catalog::offer::Question;
use crate::catalog::variants::Variant;
use crate::fleet::Snapshot;
use crate::refusal::Refusal;
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
    let members = snapshot.members(door);
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
    let parties = || snapshot.parties(door, headers, &wanted.variant);
    match snapshot.catalog.listing(&wanted, parties).await {
        Ok(listing) => Ok(kept(snapshot, question, &listing)),
        Err(none) => Err(Refusal::of_listing(question, none)),
    }
}

fn read_cursor(question: Question, cursor: &Value) -> Result<Cursor, Refusal> {
    match (question, cursor.as_str()) {
        (Question::List(kind), Some(text)) => Cursor::decode(kind, text).map_err(|_| Refusal::BadCursor),
        _ => Err(Refusal::BadCursor),
    }
}

fn kept(snapshot: &Snapshot, question: Question, listing: &Listing) -> Own {
    let rendered = listing.merged.rendered();
    let lacks_servers = !rendered.unavailable.is_empty();
    snapshot.metrics.catalog.answer(question.method(), listing.how, lacks_servers, rendered.is_cut());
    if listing.how != How::Hit {
        for (server, left_out) in rendered.left_out() {
            snapshot.omissions.note(server, question.method(), left_out.iter());
        }
    }
    Own::Kept { result: listing.result.clone(), ttl_ms: listing.ttl_ms }
}
