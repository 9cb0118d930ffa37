//! A gateway before the two servers of the wire cases.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use super::gateway::{Gateway, Setup};
use super::raw::{self, Response};
use super::recorder::{Recorder, Seen};
use super::refusal;
use super::request::Request;

/// Two servers and a gateway before them. The gateway ends first.
#[derive(Debug)]
pub struct World {
    pub gateway: Gateway,
    pub alpha: Recorder,
    pub beta: Recorder,
}

impl World {
    /// Starts all three; `lines` go into the table `[gateway]`.
    pub fn start(lines: &str) -> Self {
        let (alpha, beta) = (Recorder::start("alpha"), Recorder::start("beta"));
        let setup = Setup::default().gateway(lines).server("alpha", alpha.address, "").server("beta", beta.address, "");
        Self { gateway: setup.start(), alpha, beta }
    }

    /// The same world for all tests that run at the same time; the last to end takes it down.
    pub fn shared(place: &Mutex<Weak<Self>>, lines: &str) -> Arc<Self> {
        let mut place = place.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        place.upgrade().unwrap_or_else(|| {
            let world = Arc::new(Self::start(lines));
            *place = Arc::downgrade(&world);
            world
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.gateway.address
    }

    pub fn recorder(&self, server: &str) -> &Recorder {
        if server == "alpha" { &self.alpha } else { &self.beta }
    }

    /// What any server saw of a request.
    pub fn seen(&self, request: &Request) -> Vec<Seen> {
        let token = request.token();
        [self.alpha.seen(&token), self.beta.seen(&token)].concat()
    }

    /// Fails if a server was asked at all.
    pub fn assert_unseen(&self, request: &Request) {
        let seen = self.seen(request);
        assert!(seen.is_empty(), "a server saw {:?}", seen[0].head);
    }

    /// Fails if a server could have acted, now or later; what was begun must be given up within a second.
    pub fn assert_never_whole(&self, request: &Request) -> Result<(), String> {
        for server in [&self.alpha, &self.beta] {
            if !server.wait_until_over(&request.token(), Duration::from_secs(1)) {
                return Err("the upstream request is still open a second after the refusal".into());
            }
        }
        match self.seen(request).iter().find(|seen| seen.whole || seen.ended) {
            Some(seen) if seen.whole => Err("a server saw it whole".into()),
            Some(_) => Err("a server saw it end".into()),
            None => Ok(()),
        }
    }

    /// Sends a request that must reach a server, and be answered by it.
    pub fn assert_passes(&self, request: &Request, what: &str) -> Response {
        let response = raw::exchange(self.address(), request).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(response.status, 200, "{what}: {}", response.brief());
        assert_eq!(self.seen(request).len(), 1, "{what}");
        response
    }

    /// Sends a request that must be refused and reach no server; its body is small enough to be searched for its id.
    pub fn assert_refused(&self, request: &Request, status: u16, what: &str) -> Response {
        let response = raw::exchange(self.address(), request).unwrap_or_else(|error| panic!("{what}: {error}"));
        self.check_refused(request, &response, status).unwrap_or_else(|why| panic!("{what}: {why}"));
        response
    }

    pub fn check_refused(&self, request: &Request, response: &Response, status: u16) -> Result<(), String> {
        refusal::check_any(response, status, request.id().as_ref())?;
        self.check_unseen(request)
    }

    /// A request whose framing is not sound is refused; its body is not read, not even for an id. What pingora cannot
    /// parse it answers itself, without a body.
    pub fn check_framing_refused(&self, request: &Request, response: &Response) -> Result<(), String> {
        if response.status != 400 || !response.body.is_empty() {
            refusal::check_any(response, 400, None)?;
        }
        self.check_unseen(request)
    }

    fn check_unseen(&self, request: &Request) -> Result<(), String> {
        if self.seen(request).is_empty() { Ok(()) } else { Err("a server saw it".into()) }
    }
}
