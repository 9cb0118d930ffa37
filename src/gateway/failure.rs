//! From what pingora reports to one refusal.

use pingora::proxy::{FailToProxy, Session};
use pingora_error::{Error, ErrorSource, ErrorType};

use super::answer;
use super::body::Body;
use super::exchange::Exchange;
use super::forward::REFUSED;
use crate::refusal::Refusal;
use crate::telemetry::UpstreamOutcome;
use crate::wire::patience::Late;

/// Answers a request whose relay failed, if its client can still be answered.
pub async fn answer(session: &mut Session, error: &Error, exchange: &mut Exchange) -> FailToProxy {
    let closed = FailToProxy { error_code: 0, can_reuse_downstream: false };
    let has_begun = session.response_written().is_some_and(|head| !head.status.is_informational());
    // What was refused and could not be told is refused all the same.
    if exchange.refusal.is_some() && *error.etype() != REFUSED {
        return closed;
    }
    let Some(refusal) = refusal(error, exchange) else { return closed };
    exchange.answer.outcome.get_or_insert(outcome(&refusal));
    if has_begun {
        // What was begun as a success must not end as one: the connection ends before the body does.
        exchange.refusal = Some(refusal);
        return closed;
    }
    if let (None, Body::Passing(passing)) = (&exchange.id, &exchange.body) {
        exchange.id = passing.id().map(Into::into);
    }
    session.set_keepalive(None);
    match answer::refuse(session, exchange, refusal).await {
        Ok(()) => FailToProxy { error_code: exchange.answer.status, can_reuse_downstream: false },
        Err(_) => closed,
    }
}

/// `None`: the client is gone.
fn refusal(error: &Error, exchange: &mut Exchange) -> Option<Refusal> {
    if *error.etype() == REFUSED {
        return Some(exchange.refusal.take().unwrap_or(Refusal::Internal));
    }
    match error.esource() {
        ErrorSource::Downstream => downstream(error),
        ErrorSource::Upstream => Some(upstream(error, exchange)),
        ErrorSource::Internal | ErrorSource::Unset => Some(Refusal::Internal),
    }
}

fn downstream(error: &Error) -> Option<Refusal> {
    match error.etype() {
        ErrorType::ReadTimedout => Some(Refusal::BodyTooSlow),
        ErrorType::ReadError
        | ErrorType::WriteError
        | ErrorType::WriteTimedout
        | ErrorType::ConnectionClosed
        | ErrorType::H2Error => None,
        _ => Some(Refusal::Framing("the request is not framed as its head says")),
    }
}

fn upstream(error: &Error, exchange: &Exchange) -> Refusal {
    let server = exchange.target.as_ref().map(|target| target.server.name.clone()).unwrap_or_default();
    match error.etype() {
        ErrorType::ConnectTimedout
        | ErrorType::ConnectRefused
        | ErrorType::ConnectNoRoute
        | ErrorType::ConnectError
        | ErrorType::TLSHandshakeFailure
        | ErrorType::TLSHandshakeTimedout
        | ErrorType::InvalidCert
        | ErrorType::SocketError
        | ErrorType::BindError => Refusal::Unreachable { server },
        ErrorType::ReadTimedout | ErrorType::WriteTimedout => Refusal::Silent { server },
        _ => match Late::of(error) {
            Some(Late::Client) => Refusal::BodyTooSlow,
            Some(Late::Server) => Refusal::Silent { server },
            None => Refusal::BrokeOff { server },
        },
    }
}

fn outcome(refusal: &Refusal) -> UpstreamOutcome {
    match refusal {
        Refusal::Unreachable { .. } => UpstreamOutcome::Unreachable,
        Refusal::Silent { .. } => UpstreamOutcome::Silent,
        Refusal::BrokeOff { .. } => UpstreamOutcome::BrokeOff,
        _ => UpstreamOutcome::Aborted,
    }
}
