//! What goes to the client: our own answers, refusals, and the heads and bodies that are relayed.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE,
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING,
};
use http::{StatusCode, Version};
use pingora::http::ResponseHeader;
use pingora::proxy::Session;
use pingora_error::{Error, ErrorType, Result};
use serde::Deserialize;

use super::exchange::Exchange;
use super::intake;
use super::results::ResultWatch;
use crate::agreement::Peek;
use crate::policy::to_client;
use crate::refusal::Refusal;
use crate::rewriting::{Form, Rewriter};

/// Bytes of an error's body that are read for its code.
const ERROR_BODY: usize = 64 * 1024;
/// Interim answers (1xx) before the one that counts.
const MAX_INTERIM: u8 = 16;
/// Seconds for which a browser may remember a preflight.
const PREFLIGHT_AGE: &str = "600";

/// An answer of the gateway's own that is no refusal.
#[derive(Debug)]
pub enum Own {
    /// 202 to a notification that goes nowhere.
    Accepted,
    Preflight {
        allowed_headers: Option<String>,
    },
    /// A JSON document, as it stands.
    Metadata(String),
    /// A result of the catalog, up to where the digits of its `ttlMs` go.
    Kept {
        result: Bytes,
        ttl_ms: u64,
    },
}

/// Sends an answer of the gateway's own.
pub async fn own(session: &mut Session, exchange: &mut Exchange, own: Own) -> Result<()> {
    match own {
        Own::Accepted => send(session, exchange, head(202, 0)?, Bytes::new()).await,
        Own::Preflight { allowed_headers } => {
            let mut head = head(204, 0)?;
            head.remove_header(&CONTENT_LENGTH);
            head.insert_header("Allow", "POST, OPTIONS")?;
            if let Some(allowed) = allowed_headers {
                head.insert_header(ACCESS_CONTROL_ALLOW_METHODS, "POST")?;
                head.insert_header(ACCESS_CONTROL_ALLOW_HEADERS, allowed)?;
                head.insert_header(ACCESS_CONTROL_MAX_AGE, PREFLIGHT_AGE)?;
            }
            send(session, exchange, head, Bytes::new()).await
        }
        Own::Metadata(document) => {
            let mut head = json_head(200, document.len())?;
            head.insert_header(ACCESS_CONTROL_ALLOW_ORIGIN, "*")?;
            send(session, exchange, head, document.into()).await
        }
        Own::Kept { result, ttl_ms } => {
            let body = spliced(exchange.id.as_deref().unwrap_or("null"), &result, ttl_ms);
            send(session, exchange, json_head(200, body.len())?, body).await
        }
    }
}

/// The response: one copy of what is kept, with the caller's id before it and what is left of its time behind it.
fn spliced(id: &str, result: &[u8], ttl_ms: u64) -> Bytes {
    const BEFORE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":";
    const BETWEEN: &[u8] = b",\"result\":";
    let ttl = ttl_ms.to_string();
    let parts = [BEFORE, id.as_bytes(), BETWEEN, result, ttl.as_bytes(), b"}}"];
    let mut body = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
    for part in parts {
        body.extend_from_slice(part);
    }
    body.into()
}

/// Sends a refusal, with the request's id if a small body is at hand to read it from.
pub async fn refuse(session: &mut Session, exchange: &mut Exchange, refusal: Refusal) -> Result<()> {
    if refusal.closes() {
        // What is left of the request is not worth reading, not even for its id.
        session.set_keepalive(None);
    } else if exchange.id.is_none() && !session.as_mut().is_body_done() {
        let mut peek = Peek::new();
        intake::read_for_id(session, |chunk| peek.see(chunk)).await;
        exchange.id = peek.id().map(Into::into);
    }
    let answer = refusal.answer();
    let body = Bytes::from(answer.body(exchange.id.as_deref()));
    let mut head = json_head(answer.status, body.len())?;
    if let Some((name, value)) = answer.header {
        head.insert_header(name, value)?;
    }
    exchange.answer.code = Some(i64::from(answer.code));
    exchange.snapshot.metrics.rejection(refusal.reason());
    exchange.refusal = Some(refusal);
    send(session, exchange, head, body).await
}

fn head(status: u16, length: usize) -> Result<ResponseHeader> {
    let mut head = ResponseHeader::build(status, Some(8))?;
    head.insert_header(CONTENT_LENGTH, length)?;
    Ok(head)
}

fn json_head(status: u16, length: usize) -> Result<ResponseHeader> {
    let mut head = head(status, length)?;
    head.insert_header(CONTENT_TYPE, "application/json")?;
    head.insert_header("Cache-Control", "no-store")?;
    Ok(head)
}

async fn send(session: &mut Session, exchange: &mut Exchange, mut head: ResponseHeader, body: Bytes) -> Result<()> {
    to_client::allow_origin(&mut head, exchange.cors.as_ref());
    exchange.answer.status = head.status.as_u16();
    if !session.as_mut().is_body_done() {
        // What is left of the request's body would be taken for the next request.
        session.set_keepalive(None);
    }
    let is_end = body.is_empty();
    session.write_response_header(Box::new(head), is_end).await?;
    if !is_end {
        session.write_response_body(Some(body), true).await?;
    }
    Ok(())
}

/// The head of a server's answer, on its way to the client.
pub fn relayed_head(session: &Session, head: &mut ResponseHeader, exchange: &mut Exchange) -> Result<()> {
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        // Nobody asked for another protocol.
        return Err(Error::new(ErrorType::InvalidHTTPHeader).into_up());
    }
    if head.status.is_informational() {
        exchange.answer.interim += 1;
        if exchange.answer.interim > MAX_INTERIM {
            return Err(Error::new(ErrorType::InvalidHTTPHeader).into_up());
        }
    }
    to_client::strip(head);
    to_client::allow_origin(head, exchange.cors.as_ref());
    exchange.answer.rewriter = rewriter(head, exchange)?;
    if to_client::is_event_stream(&head.headers) {
        to_client::forbid_buffering(head);
        // pingora holds back small writes of a body of known length; events must not wait.
        unmeasure(session, head)?;
    } else if exchange.answer.rewriter.is_some() {
        unmeasure(session, head)?;
    }
    exchange.answer.status = head.status.as_u16();
    let is_readable_error = head.status.as_u16() >= 400 && !head.headers.contains_key(CONTENT_ENCODING);
    exchange.answer.error_body = is_readable_error.then(Vec::new);
    exchange.answer.result_watch = ResultWatch::of(head, to_client::is_event_stream(&head.headers), exchange);
    Ok(())
}

/// The body's length is not known, or not to be waited for.
fn unmeasure(session: &Session, head: &mut ResponseHeader) -> Result<()> {
    if head.remove_header(&CONTENT_LENGTH).is_some() && session.req_header().version == Version::HTTP_11 {
        head.insert_header(TRANSFER_ENCODING, "chunked")?;
    }
    Ok(())
}

/// What puts the server's prefix into the URIs of a result, where there may be some (architecture, "Names and URIs").
fn rewriter(head: &ResponseHeader, exchange: &Exchange) -> Result<Option<Rewriter>> {
    let Some(prefix) = exchange.target.as_ref().and_then(|target| target.uri_prefix.as_ref()) else { return Ok(None) };
    let method = exchange.method();
    if !head.status.is_success() || !Rewriter::concerns(method) {
        return Ok(None);
    }
    // It was asked for identity; what it sends all the same cannot be read here and must not pass unread.
    let encoding = head.headers.get(CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(Error::new(ErrorType::InvalidHTTPHeader).into_up());
    }
    let form = if to_client::is_event_stream(&head.headers) { Form::Events } else { Form::Json };
    Ok(Some(Rewriter::new(Arc::clone(prefix), method, form)))
}

/// The body of a server's answer on its way to the client: rewritten where it must be, looked at where it may be.
pub fn relayed_body(chunk: &mut Option<Bytes>, is_end: bool, exchange: &mut Exchange) {
    look_at_error(chunk.as_ref(), is_end, exchange);
    if let Some(watch) = &mut exchange.answer.result_watch {
        watch.see(chunk.as_ref(), is_end);
    }
    let Some(rewriter) = &mut exchange.answer.rewriter else { return };
    let mut out = Vec::new();
    if let Some(chunk) = chunk.as_ref() {
        rewriter.feed(chunk, &mut out);
    }
    if is_end {
        rewriter.finish(&mut out);
        if let (Some(why), Some(target)) = (rewriter.gave_up(), &exchange.target) {
            log::warn!("server {}: {why}", target.server.name);
        }
    }
    if chunk.is_some() || !out.is_empty() {
        *chunk = Some(out.into());
    }
}

/// Looks at a server's error, for the log and for rules that have become old.
fn look_at_error(chunk: Option<&Bytes>, is_end: bool, exchange: &mut Exchange) {
    let Some(body) = &mut exchange.answer.error_body else { return };
    if let Some(chunk) = chunk {
        if body.len() + chunk.len() > ERROR_BODY {
            exchange.answer.error_body = None;
            return;
        }
        body.extend_from_slice(chunk);
    }
    if is_end {
        exchange.answer.code = code_of(body);
        exchange.answer.error_body = None;
    }
}

fn code_of(body: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    struct Response {
        error: RpcError,
    }
    #[derive(Deserialize)]
    struct RpcError {
        code: i64,
    }
    serde_json::from_slice::<Response>(body).ok().map(|response| response.error.code)
}
