//! One request's state, from its head to its log line.

use std::sync::Arc;
use std::time::Instant;

use pingora::upstreams::peer::HttpPeer;
use pingora_error::{Error, ErrorType, Result};

use super::body::Body;
use super::record;
use super::results::ResultWatch;
use crate::catalog::schemas::Schemas;
use crate::fleet::Server;
use crate::fleet::Share;
use crate::fleet::Snapshot;
use crate::policy::Cors;
use crate::protocol::{Head, Method};
use crate::refusal::Refusal;
use crate::rewriting::Rewriter;
use crate::telemetry::{AccessLog, UpstreamOutcome};
use crate::upstream::{Endpoint, Pool, Way};
use crate::wire::dial::DialError;
use crate::wire::patience::Sending;

/// What pingora carries from phase to phase.
#[derive(Debug)]
pub struct Exchange {
    /// The configuration this request began under; it keeps it to its end.
    pub snapshot: Arc<Snapshot>,
    log: Arc<AccessLog>,
    /// Whether its line was written.
    is_recorded: bool,
    pub started: Instant,
    /// The trace that it belongs to, if it says so.
    pub trace: Option<String>,
    pub in_flight: Option<Share>,
    pub cors: Option<Cors>,
    pub head: Option<Arc<Head>>,
    /// The server that is asked, as soon as that is known.
    pub asked: Option<Arc<Server>>,
    pub target: Option<Target>,
    pub body: Body,
    /// The request's id as it was written, once read.
    pub id: Option<Box<str>>,
    pub refusal: Option<Refusal>,
    pub times: Times,
    pub answer: AnswerNotes,
    /// The upstream connection's word on whether the request is still being sent.
    pub sending: Option<Sending>,
}

/// Where a request goes.
#[derive(Debug)]
pub struct Target {
    pub server: Arc<Server>,
    /// Index into the server's pools.
    pub pool: usize,
    /// Through the pool's endpoints.
    pub way: Way,
    /// What the server calls what is asked for, where that differs from what the client said.
    pub new_name: Option<String>,
    /// Bytes by which the body becomes longer on its way.
    pub growth: usize,
    /// What is put into the URIs of its results; `None` where they pass as they are.
    pub uri_prefix: Option<Arc<str>>,
    /// What the tool's results are checked against.
    pub schemas: Option<Arc<Schemas>>,
}

impl Target {
    pub fn pool(&self) -> Option<&Pool> {
        self.server.pool(self.pool)
    }

    /// The endpoint that was chosen last.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.pool()?.endpoint(self.way.current()?).map(|endpoint| &**endpoint)
    }
}

impl Target {
    /// The next endpoint to connect to.
    pub fn peer(&mut self) -> Result<Box<HttpPeer>> {
        let endpoint = self.server.next_endpoint(self.pool, &mut self.way);
        endpoint.map(|endpoint| endpoint.peer()).ok_or_else(|| Error::new(ErrorType::ConnectError).into_up())
    }

    /// The endpoint could not be connected; whether there is another one to try.
    pub fn could_not_connect(&mut self, why: &DialError) -> bool {
        self.server.endpoint_failed(self.pool, &mut self.way, why);
        self.server.pool(self.pool).is_some_and(|pool| pool.has_more(&self.way))
    }

    pub fn connected(&self) {
        self.server.endpoint_connected(self.pool, &self.way);
    }
}

#[derive(Debug, Default)]
pub struct Times {
    pub decided: Option<Instant>,
    pub connected: Option<Instant>,
}

/// What is noted of the answer while it passes.
#[derive(Debug, Default)]
pub struct AnswerNotes {
    pub status: u16,
    /// Interim answers so far.
    pub interim: u8,
    pub outcome: Option<UpstreamOutcome>,
    /// The beginning of an error's body, to read its code.
    pub error_body: Option<Vec<u8>>,
    pub code: Option<i64>,
    pub rewriter: Option<Rewriter>,
    pub result_watch: Option<ResultWatch>,
}

impl Exchange {
    pub fn new(snapshot: Arc<Snapshot>, log: Arc<AccessLog>) -> Self {
        Self {
            snapshot,
            log,
            is_recorded: false,
            started: Instant::now(),
            trace: None,
            in_flight: None,
            cors: None,
            head: None,
            asked: None,
            target: None,
            body: Body::Unread,
            id: None,
            refusal: None,
            times: Times::default(),
            answer: AnswerNotes::default(),
            sending: None,
        }
    }

    /// The log that its line goes to; taken once.
    pub fn take_log(&mut self) -> Option<Arc<AccessLog>> {
        let is_first = !std::mem::replace(&mut self.is_recorded, true);
        is_first.then(|| Arc::clone(&self.log))
    }

    /// The method as a label.
    pub fn method(&self) -> Method {
        self.head.as_ref().map_or(Method::Other, |head| head.method)
    }
}

/// A request that is dropped before its end was cut: the process ends, or it failed on it.
impl Drop for Exchange {
    fn drop(&mut self) {
        record::cut(self);
    }
}
