//! Reading a request's body ahead, within time and memory.

use std::future::poll_fn;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use pingora::protocols::http::ServerSession;
use pingora::proxy::Session;
use pingora_error::{ErrorType, OrErr};

use super::body::READ_AHEAD;
use super::limits::Share;
use super::snapshot::Snapshot;
use crate::policy::declared_length;
use crate::refusal::{Limit, Refusal};

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
pub async fn read_ahead(
    session: &mut Session,
    snapshot: &Snapshot,
    mut see: impl FnMut(&[u8]),
) -> Result<Ahead, Refusal> {
    let share = snapshot.buffered.take(0).ok_or(Refusal::Overloaded(Limit::BufferedBytes))?;
    let mut ahead = Ahead { bytes: BytesMut::new(), share, is_whole: false, is_replayed: false };
    expect_continue(session).await;
    let declared = declared_length(&session.req_header().headers);
    if declared.is_some_and(|length| length > READ_AHEAD as u64) {
        return Ok(ahead);
    }
    // What pingora replays once a server is connected.
    session.as_mut().enable_retry_buffering();
    let reading = read(session, &mut ahead, snapshot.limits.max_body_bytes, &mut see);
    tokio::time::timeout(snapshot.limits.body_time, reading).await.unwrap_or(Err(Refusal::BodyTooSlow))?;
    Ok(ahead)
}

async fn read(
    session: &mut Session,
    ahead: &mut Ahead,
    max_bytes: u64,
    see: &mut impl FnMut(&[u8]),
) -> Result<(), Refusal> {
    loop {
        match next(session, ahead).await {
            Ok(Some(chunk)) => take(ahead, &chunk, max_bytes, see)?,
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
        if ahead.bytes.len() > READ_AHEAD {
            return Ok(());
        }
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
        return Err(Refusal::Overloaded(Limit::BufferedBytes));
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
