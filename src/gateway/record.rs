//! The end of a request: its metrics and its line.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http::HeaderMap;
use pingora::proxy::Session;
use pingora_error::Error;

use super::exchange::{Exchange, Target};
use crate::fleet::Server;
use crate::protocol::escaped;
use crate::refusal::Blame;
use crate::telemetry::{Line, Outcome, UpstreamOutcome, micros};

/// The specification's code for headers and body that disagree.
const HEADER_MISMATCH: i64 = crate::protocol::code::HEADER_MISMATCH as i64;

/// The end that every request comes to, unless it is cut.
pub fn finish(session: &mut Session, error: Option<&Error>, exchange: &mut Exchange) {
    let Some(log) = exchange.take_log() else { return };
    let total = exchange.started.elapsed();
    let outcome = outcome(error, exchange);
    count(exchange, outcome, total);
    note_old_rules(session, exchange);
    let mut line = line(exchange, outcome, total);
    line.bytes_in = Some(session.body_bytes_read());
    line.bytes_out = Some(session.body_bytes_sent());
    log.write(&line);
}

/// The end of a request that is dropped before its own.
pub fn cut(exchange: &mut Exchange) {
    let Some(log) = exchange.take_log() else { return };
    let total = exchange.started.elapsed();
    count(exchange, Outcome::Cut, total);
    log.write(&line(exchange, Outcome::Cut, total));
}

fn outcome(error: Option<&Error>, exchange: &Exchange) -> Outcome {
    match &exchange.refusal {
        Some(refusal) if refusal.blame() == Blame::Server => Outcome::ServerFailed,
        Some(_) => Outcome::Refused,
        None if error.is_some() => Outcome::ClientLeft,
        None if exchange.answer.status >= 400 => Outcome::ServerError,
        None => Outcome::Ok,
    }
}

/// The server that was asked for, whether or not the request came to be sent.
fn server(exchange: &Exchange) -> Option<&Arc<Server>> {
    exchange.target.as_ref().map(|target| &target.server).or(exchange.asked.as_ref())
}

fn count(exchange: &Exchange, outcome: Outcome, total: Duration) {
    let method = exchange.method();
    let Some(server) = server(exchange) else {
        exchange.snapshot.metrics.request_without_server(method, outcome);
        return;
    };
    server.metrics.request(method, outcome, total.as_secs_f64());
    let Some(target) = &exchange.target else { return };
    let Some(decided) = exchange.times.decided else { return };
    let upstream = exchange.answer.outcome.unwrap_or(match outcome {
        Outcome::Ok => UpstreamOutcome::Ok,
        Outcome::ServerError => UpstreamOutcome::Error,
        _ => UpstreamOutcome::Aborted,
    });
    target.server.metrics.upstream(method, target.pool, upstream, decided.elapsed().as_secs_f64());
}

/// A server that sees a mismatch where we saw none knows newer rules.
fn note_old_rules(session: &Session, exchange: &Exchange) {
    let Some(target) = &exchange.target else { return };
    if exchange.refusal.is_none() && exchange.answer.code == Some(HEADER_MISMATCH) {
        let credentials = target.server.credentials.forwarded(&session.req_header().headers);
        let caller = exchange.snapshot.callers.caller(&credentials);
        target.server.revalidate(&credentials, caller);
    }
}

fn line(exchange: &Exchange, outcome: Outcome, total: Duration) -> Line<'_> {
    let target = exchange.target.as_ref();
    let pool = target.and_then(Target::pool);
    let endpoint = target.and_then(Target::endpoint);
    let since = |at: Option<Instant>| at.map(|at| at.saturating_duration_since(exchange.started));
    Line {
        time: now(),
        method: exchange.method().label(),
        name: exchange.head.as_ref().and_then(|head| head.name()).map(escaped),
        server: server(exchange).map(|server| server.name.as_str()),
        pool: pool.map(|pool| pool.name.as_str()),
        endpoint: endpoint.map(crate::upstream::Endpoint::label),
        status: exchange.answer.status,
        code: exchange.answer.code,
        reason: exchange.refusal.as_ref().map(|refusal| refusal.reason().label()),
        outcome: outcome.label(),
        bytes_in: None,
        bytes_out: None,
        decide_us: micros(since(exchange.times.decided).unwrap_or(total)),
        connect_us: since(exchange.times.connected).map(micros),
        total_us: micros(total),
        trace: exchange.trace.as_deref(),
    }
}

fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// The trace id of `traceparent` (W3C Trace Context, 3.2.2), if it is one.
pub fn trace(headers: &HeaderMap) -> Option<String> {
    let parent = headers.get("traceparent")?.to_str().ok()?;
    let id = parent.split('-').nth(1)?;
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.to_owned())
}
