//! From a request's head to a judged body, or to the reason why not: each step in order, each with its reason.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use http::Method as HttpMethod;
use http::header::AUTHORIZATION;
use pingora::proxy::Session;

use super::body::{self, Body, Passing};
use super::exchange::Exchange;
use super::intake::{self, Ahead};
use super::route::{self, Decision};
use super::{answer::Own, arguments, lists};
use crate::agreement::{Fault, Peek, Plan, Verifier};
use crate::catalog::offer::Question;
use crate::policy::{self, Cors};
use crate::protocol::{Head, HeadFault, header, method};
use crate::refusal::{Exhausted, Refusal};
use crate::routing::{Destination, Door};

/// The one notification that a client may post.
const CANCELLED: &str = "notifications/cancelled";
const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// What an admitted request gets.
#[derive(Debug)]
pub enum Admitted {
    Relay,
    /// The gateway answers itself.
    Answer(Own),
}

/// The way in.
pub async fn admit(session: &mut Session, exchange: &mut Exchange) -> Result<Admitted, Refusal> {
    let snapshot = exchange.snapshot.clone();
    session.set_write_timeout(Some(snapshot.limits.write_time));
    session.set_total_drain_timeout(Some(snapshot.limits.body_time));
    // Overload first: a request that cannot be served must cost as little as possible.
    exchange.in_flight = Some(snapshot.in_flight.take(1).ok_or(Refusal::Overloaded(Exhausted::InFlight))?);
    // Framing next: nothing else of a head can be trusted before.
    policy::check_framing(session.req_header())?;
    let path = session.req_header().uri.path();
    if let Some(document) = snapshot.protected_resource.as_ref().filter(|_| is_metadata(session, path)) {
        return Ok(Admitted::Answer(Own::Metadata(document.clone())));
    }
    let door = snapshot.table.door(path).ok_or(Refusal::Path)?;
    // Before the method, so that a preflight is answered to allowed origins only.
    let loopback = snapshot.policy.is_loopback(inet(session.server_addr()));
    exchange.cors = snapshot.policy.check_caller(session.req_header(), loopback)?;
    match session.req_header().method {
        HttpMethod::POST => {}
        HttpMethod::OPTIONS => return Ok(Admitted::Answer(preflight(session, exchange))),
        _ => return Err(Refusal::Method),
    }
    snapshot.policy.authenticate(&session.req_header().headers)?;
    if snapshot.policy.bearer.is_some() {
        // It was meant for us; no server must see it, whatever is forwarded to it.
        session.req_header_mut().remove_header(&AUTHORIZATION);
    }
    snapshot.policy.check_request(session.req_header())?;
    let head = match Head::read(&session.req_header().headers) {
        Ok(head) => head,
        Err(fault) => return without_head(session, exchange, fault).await,
    };
    relay_or_answer(session, exchange, door, head).await
}

async fn relay_or_answer(
    session: &mut Session,
    exchange: &mut Exchange,
    door: Door,
    head: Head,
) -> Result<Admitted, Refusal> {
    let snapshot = exchange.snapshot.clone();
    let head = Arc::new(head);
    exchange.head = Some(Arc::clone(&head));
    if method::is_notification(head.method_text()) {
        return notification(session, exchange, &head).await;
    }
    let destination = snapshot.table.destination(door, head.method, head.name());
    let asked = match destination {
        Ok(Destination::Gateway) => return answer(session, exchange, door, &head).await,
        Ok(Destination::Reference) => return complete(session, exchange, &head).await,
        Ok(Destination::Server(server, bare)) => {
            route::ask(&snapshot, door, &head, (server, bare), session.req_header()).await
        }
        Err(reason) => Err(route::nobody(&head, reason)),
    };
    let decided = match asked {
        Ok(asked) => {
            exchange.asked = Some(Arc::clone(&asked.server));
            asked.decide(&snapshot, &head).await
        }
        Err(refusal) => Err(refusal),
    };
    match decided {
        Ok(decision) => take_body(session, exchange, &head, decision).await?,
        // What the header asks for is unknown; that it is what the body asks for comes first.
        Err(refusal) => {
            judge_refused(session, exchange, &head).await?;
            return Err(refusal);
        }
    }
    Ok(Admitted::Relay)
}

/// What the gateway itself answers for the servers behind the door.
async fn answer(session: &mut Session, exchange: &mut Exchange, door: Door, head: &Head) -> Result<Admitted, Refusal> {
    let body = own_body(session, exchange, head).await?;
    let question = Question::of(head.method).ok_or(Refusal::Internal)?;
    lists::answer(exchange, (door, question), &session.req_header().headers, &body).await.map(Admitted::Answer)
}

/// A notification with headers. The one that the TypeScript client posts goes nowhere: closing the stream is the
/// cancellation ("Cancellation").
async fn notification(session: &mut Session, exchange: &mut Exchange, head: &Head) -> Result<Admitted, Refusal> {
    let mut peek = Peek::new();
    intake::read_for_id(session, |chunk| peek.see(chunk)).await;
    exchange.id = peek.id().map(Into::into);
    let body = peek.method().unwrap_or_default();
    if body != head.method_text() {
        return Err(Refusal::Body(Fault::methods(head.method_text(), body)));
    }
    if body == CANCELLED && peek.is_notification() {
        Ok(Admitted::Answer(Own::Accepted))
    } else {
        Err(Refusal::Notification)
    }
}

/// A completion has no header that names what it is for: the body is read before the route is chosen.
async fn complete(session: &mut Session, exchange: &mut Exchange, head: &Head) -> Result<Admitted, Refusal> {
    let snapshot = exchange.snapshot.clone();
    let mut verifier = Verifier::new(head, Plan::completion(), None);
    let ahead = intake::read_ahead(session, &snapshot, |chunk| verifier.feed(head, chunk)).await;
    exchange.id = verifier.id().map(Into::into);
    let mut ahead = whole(ahead?, &mut verifier, head)?;
    let reference = verifier.reference().ok_or(Refusal::NoReference)?;
    let (target, edit) = route::complete(&snapshot, &reference, session.req_header()).await?;
    exchange.asked = Some(Arc::clone(&target.server));
    if let Some(edit) = edit {
        body::apply(&mut ahead.bytes, &edit, 0).map_err(Refusal::Body)?;
    }
    exchange.target = Some(target);
    exchange.body = Body::Judged { bytes: ahead.bytes.freeze(), share: ahead.share };
    Ok(Admitted::Relay)
}

/// The judged body of a request that no server gets.
async fn own_body(session: &mut Session, exchange: &mut Exchange, head: &Head) -> Result<BytesMut, Refusal> {
    let mut verifier = Verifier::new(head, Plan::plain(head.method.named_by()), None);
    let ahead = intake::read_ahead(session, &exchange.snapshot, |chunk| verifier.feed(head, chunk)).await;
    exchange.id = verifier.id().map(Into::into);
    whole(ahead?, &mut verifier, head).map(|ahead| ahead.bytes)
}

/// A body that must be judged whole before anything is done.
fn whole(ahead: Ahead, verifier: &mut Verifier, head: &Head) -> Result<Ahead, Refusal> {
    if !ahead.is_whole {
        let fault = verifier.fault().cloned().map(Refusal::Body);
        return Err(fault.unwrap_or(Refusal::BodyTooLarge { limit: body::READ_AHEAD as u64 }));
    }
    verifier.finish(head).map_err(Refusal::Body)?;
    Ok(ahead)
}

/// Judges the body of a request that is refused anyway, as far as it can be read: what is wrong with it comes first.
async fn judge_refused(session: &mut Session, exchange: &mut Exchange, head: &Head) -> Result<(), Refusal> {
    let mut verifier = Verifier::new(head, Plan::plain(head.method.named_by()), None);
    let ahead = intake::read_ahead(session, &exchange.snapshot, |chunk| verifier.feed(head, chunk)).await;
    exchange.id = verifier.id().map(Into::into);
    if ahead?.is_whole {
        return verifier.finish(head).map_err(Refusal::Body);
    }
    verifier.fault().map_or(Ok(()), |fault| Err(Refusal::Body(fault.clone())))
}

/// Reads the body as far as it may be read before a server is touched, and judges it if that was all.
async fn take_body(
    session: &mut Session,
    exchange: &mut Exchange,
    head: &Head,
    decision: Decision,
) -> Result<(), Refusal> {
    let mut verifier = Verifier::new(head, decision.plan.clone(), decision.target.new_name.clone());
    let max_bytes =
        decision.arguments.as_ref().map_or(body::READ_AHEAD, |_| decision.target.server.reading.validation.max_bytes);
    let ahead = intake::read_up_to(max_bytes, session, &exchange.snapshot, |chunk| verifier.feed(head, chunk)).await;
    exchange.id = verifier.id().map(Into::into);
    let ahead = ahead?;
    if ahead.is_whole {
        return judge_whole(exchange, head, decision, verifier, ahead).await;
    }
    if let Some(fault) = verifier.fault() {
        return Err(Refusal::Body(fault.clone()));
    }
    if decision.arguments.is_some() {
        return Err(arguments::too_large(&decision.target.server, exchange.id.is_some()));
    }
    let max_bytes = exchange.snapshot.limits.max_body_bytes;
    exchange.target = Some(decision.target);
    exchange.body = Body::Passing(Box::new(Passing::new(verifier, ahead, max_bytes)));
    Ok(())
}

async fn judge_whole(
    exchange: &mut Exchange,
    head: &Head,
    mut decision: Decision,
    mut verifier: Verifier,
    mut ahead: Ahead,
) -> Result<(), Refusal> {
    if let Err(fault) = verifier.finish(head) {
        let again = judge_again(exchange, head, decision, &fault, &ahead).await?;
        (decision, verifier) = again.ok_or(Refusal::Body(fault))?;
    }
    if let Some(schemas) = decision.arguments {
        arguments::check(&decision.target.server, schemas, &ahead.bytes).await?;
    }
    if let Some(edit) = verifier.take_edit() {
        body::apply(&mut ahead.bytes, &edit, 0).map_err(Refusal::Body)?;
    }
    exchange.target = Some(decision.target);
    exchange.body = Body::Judged { bytes: ahead.bytes.freeze(), share: ahead.share };
    Ok(())
}

/// Before a mismatch is answered from old rules, they are fetched again and the request is judged again
/// (architecture, "Rules are not lists").
async fn judge_again(
    exchange: &Exchange,
    head: &Head,
    decision: Decision,
    fault: &Fault,
    ahead: &Ahead,
) -> Result<Option<(Decision, Verifier)>, Refusal> {
    let (Fault::Mismatch { .. }, Some(seen)) = (fault, &decision.rules) else { return Ok(None) };
    let Some(again) = decision.asked.decide_again(&exchange.snapshot, head, seen).await? else { return Ok(None) };
    let mut verifier = Verifier::new(head, again.plan.clone(), again.target.new_name.clone());
    verifier.feed(head, &ahead.bytes);
    verifier.finish(head).map_err(Refusal::Body)?;
    Ok(Some((again, verifier)))
}

/// A head that is no lawful request's may still be a notification, or an older client's first word.
async fn without_head(session: &mut Session, exchange: &mut Exchange, fault: HeadFault) -> Result<Admitted, Refusal> {
    let mut peek = Peek::new();
    intake::read_for_id(session, |chunk| peek.see(chunk)).await;
    exchange.id = peek.id().map(Into::into);
    let method = peek.method().unwrap_or_default();
    // The revision defines no headers for notifications ("Sending Messages", note).
    let may_lack_headers = matches!(fault, HeadFault::Missing(_));
    if may_lack_headers && method == CANCELLED && peek.is_notification() {
        return Ok(Admitted::Answer(Own::Accepted));
    }
    if may_lack_headers && method::is_notification(method) && peek.is_notification() {
        return Err(Refusal::Notification);
    }
    match fault {
        HeadFault::Missing(header::VERSION) if method == "initialize" => {
            Err(Refusal::Version { requested: peek.initialize_version().unwrap_or_default().to_owned() })
        }
        // A header and a body of two versions disagree, whether we speak one of them or not.
        HeadFault::Version(said) => Err(match peek.meta_version() {
            Some(body) if body != said => Refusal::Body(Fault::versions(&said, body)),
            _ => Refusal::Version { requested: said },
        }),
        fault => Err(Refusal::Head(fault)),
    }
}

fn is_metadata(session: &Session, path: &str) -> bool {
    let rest = path.strip_prefix(PROTECTED_RESOURCE);
    session.req_header().method == HttpMethod::GET && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn preflight(session: &Session, exchange: &Exchange) -> Own {
    let allowed = exchange.cors.as_ref().map(|_| Cors::allowed_headers(&session.req_header().headers));
    Own::Preflight { allowed_headers: allowed }
}

/// The socket address of an internet connection.
pub fn inet(address: Option<&pingora::protocols::l4::socket::SocketAddr>) -> Option<SocketAddr> {
    let address = address.and_then(|address| address.as_inet())?;
    // A listener on `[::]` sees IPv4 peers as mapped addresses; networks and logs speak of the real ones.
    Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
}
