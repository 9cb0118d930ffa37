//! Reading a request's body ahead, within time and memory.

use std::future::poll_fn;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use pingora::protocols::http::ServerSession;
use pingora::proxy::Session;
use pingora_error::{ErrorType, OrErr};

use super::body::READ_AHEAD;
use crate::fleet::Share;
use crate::fleet::Snapshot;
use crate::policy::declared_length;
use crate::refusal::{Exhausted, Refusal};

/// What was read ahead.
#[derive(Debug)]
pub struct Ahead {
    pub bytes: BytesMut,
    pub share: Share,
    /// Whether that was all.
    pub is_whole: bool,
    /// Whether pingora will show the first bytes again once a server is connected.
    pub is_replayed: bool,
}

/// Reads a body to its end, or as far as it may be read before a server is touched. Each chunk is shown to `see`.
pub async fn read_ahead(session: &mut Session, snapshot: &Snapshot, see: impl FnMut(&[u8])) -> Result<Ahead, Refusal> {
    if declared_length(&session.req_header().headers).is_some_and(|length| length > READ_AHEAD as u64) {
        expect_continue(session).await;
        return nothing(snapshot);
    }
    read_up_to(READ_AHEAD, session, snapshot, see).await
}

fn nothing(snapshot: &Snapshot) -> Result<Ahead, Refusal> {
    let share = snapshot.buffered.take(0).ok_or(Refusal::Overloaded(Exhausted::BufferedBytes))?;
    Ok(Ahead { bytes: BytesMut::new(), share, is_whole: false, is_replayed: false })
}

/// The same with another bound than [`READ_AHEAD`], for bodies that are not relayed before they were read whole.
pub async fn read_up_to(
    max_bytes: usize,
    session: &mut Session,
    snapshot: &Snapshot,
    mut see: impl FnMut(&[u8]),
) -> Result<Ahead, Refusal> {
    let mut ahead = nothing(snapshot)?;
    expect_continue(session).await;
    let declared = declared_length(&session.req_header().headers);
    let bounds = Bounds { ahead: reach(session, declared, max_bytes), body: snapshot.limits.max_body_bytes, declared };
    let reading = read(session, &mut ahead, bounds, &mut see);
    tokio::time::timeout(snapshot.limits.body_time, reading).await.unwrap_or(Err(Refusal::BodyTooSlow))?;
    Ok(ahead)
}

/// How far a body is read.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Past this, the rest is left for later.
    ahead: usize,
    /// Past this, it is refused.
    body: u64,
    declared: Option<u64>,
}

/// Over HTTP/1 the end of a body without a length comes as a surprise, when it is too late to see that pingora has
/// something left to replay: only as much of it can be read ahead as pingora keeps.
fn reach(session: &mut Session, declared: Option<u64>, max_bytes: usize) -> usize {
    match (session.as_mut(), declared) {
        (ServerSession::H2(_), _) | (_, Some(_)) => max_bytes,
        _ => max_bytes.min(READ_AHEAD),
    }
}

async fn read(
    session: &mut Session,
    ahead: &mut Ahead,
    bounds: Bounds,
    see: &mut impl FnMut(&[u8]),
) -> Result<(), Refusal> {
    loop {
        remember(session, ahead, bounds);
        match next(session, ahead).await {
            Ok(Some(chunk)) => take(ahead, &chunk, bounds.body, see)?,
            Ok(None) => {
                ahead.is_whole = true;
                return Ok(());
            }
            Err(error) if *error.etype() == ErrorType::ReadTimedout => return Err(Refusal::BodyTooSlow),
            Err(_) => return Err(Refusal::Framing("the body ended early or was not framed as the head said")),
        }
        if session.as_mut().is_body_done() {
            ahead.is_whole = true;
            return Ok(());
        }
        if ahead.bytes.len() > bounds.ahead {
            return Ok(());
        }
    }
}

/// From here on pingora keeps what is read, to replay it once a server is connected. It keeps no more than
/// [`READ_AHEAD`]: of a longer body over HTTP/1, only the end, of which there is always some left to be read.
fn remember(session: &mut Session, ahead: &Ahead, bounds: Bounds) {
    let left = bounds.declared.map(|length| length.saturating_sub(ahead.bytes.len() as u64));
    let is_h2 = matches!(session.as_mut(), ServerSession::H2(_));
    if is_h2 || left.is_none_or(|left| left <= READ_AHEAD as u64) {
        session.as_mut().enable_retry_buffering();
    }
}

/// The next bytes of the body.
///
/// pingora calls the body filter of a body that was read to its end only if it has bytes to replay, and it has none once
/// they are more than it keeps. Over HTTP/1 a body's end is only known after a further read. Over HTTP/2 it comes with the
/// last bytes; so there only the first ones are read in the way that is kept, as a token.
async fn next(session: &mut Session, ahead: &mut Ahead) -> pingora_error::Result<Option<Bytes>> {
    if let (false, ServerSession::H2(stream)) = (ahead.bytes.is_empty(), session.as_mut()) {
        ahead.is_replayed = true;
        let chunk = poll_fn(|cx| stream.poll_read_body_bytes(cx)).await.transpose();
        return chunk.or_err(ErrorType::ReadError, "reading a body ahead");
    }
    session.read_request_body().await
}

fn take(ahead: &mut Ahead, chunk: &Bytes, max_bytes: u64, see: &mut impl FnMut(&[u8])) -> Result<(), Refusal> {
    if (ahead.bytes.len() + chunk.len()) as u64 > max_bytes {
        return Err(Refusal::BodyTooLarge { limit: max_bytes });
    }
    if !ahead.share.grow(chunk.len()) {
        return Err(Refusal::Overloaded(Exhausted::BufferedBytes));
    }
    see(chunk);
    ahead.bytes.extend_from_slice(chunk);
    Ok(())
}

/// A client that waits for it is told to go on; pingora tells nobody while a body is read ahead.
async fn expect_continue(session: &mut Session) {
    let expects = session.req_header().headers.get(http::header::EXPECT);
    if expects.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue")) {
        // If this cannot be written, reading will say so.
        let _ = session.write_continue_response().await;
    }
}

/// Reads a small body of a request that is refused anyway, for its id; gives up quickly.
pub async fn read_for_id(session: &mut Session, mut see: impl FnMut(&[u8])) {
    let headers = &session.req_header().headers;
    let is_small = declared_length(headers).is_none_or(|length| length <= READ_AHEAD as u64);
    if !is_small || headers.contains_key(http::header::EXPECT) {
        return;
    }
    let reading = async {
        let mut taken = 0;
        while let Some(chunk) = session.read_request_body().await? {
            see(&chunk);
            taken += chunk.len();
            if taken > READ_AHEAD {
                break;
            }
        }
        Ok::<_, Box<pingora_error::Error>>(())
    };
    let read = tokio::time::timeout(Duration::from_millis(500), reading).await;
    if !matches!(read, Ok(Ok(()))) {
        // Where the body ends is not known, so neither is where the next request begins.
        session.set_keepalive(None);
    }
}
