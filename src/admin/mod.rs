//! The admin port: is it alive, is it ready, what does it count.
//!
//! Must never be reachable by the gateway's clients, and never look at servers to say that the gateway is well.

mod status;

use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use http::{Method, Response, StatusCode};
use pingora::apps::http_app::ServeHttp;
use pingora::protocols::http::ServerSession;

use crate::fleet::Snapshot;
use crate::telemetry::{AccessLog, Metrics};

/// What the process is up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Starting,
    Listening,
    Draining,
}

/// Tells what the process is up to.
pub type Teller = Arc<dyn Fn() -> State + Send + Sync>;

impl State {
    fn words(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Listening => "listening and configured",
            Self::Draining => "draining",
        }
    }
}

/// The application behind the admin port.
pub struct Admin {
    pub state: Teller,
    pub metrics: Arc<Metrics>,
    pub snapshot: Arc<ArcSwap<Snapshot>>,
    pub log: Arc<AccessLog>,
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admin").finish_non_exhaustive()
    }
}

#[async_trait]
impl ServeHttp for Admin {
    async fn response(&self, session: &mut ServerSession) -> Response<Vec<u8>> {
        let request = session.req_header();
        if request.method != Method::GET && request.method != Method::HEAD {
            return text(StatusCode::METHOD_NOT_ALLOWED, "this port answers GET\n".into());
        }
        let verbose = request.uri.query().is_some_and(|query| query.split('&').any(|word| word.starts_with("verbose")));
        match request.uri.path() {
            "/livez" => text(StatusCode::OK, check("process", "runs", verbose)),
            "/readyz" => self.readiness(verbose),
            "/metrics" => {
                self.metrics.log_lines_dropped.set(i64::try_from(self.log.dropped()).unwrap_or(i64::MAX));
                let (entries, bytes) = self.snapshot.load().catalog.store.size();
                self.metrics.catalog.kept(entries, bytes);
                metrics(self.metrics.text())
            }
            "/status" => self.status(),
            _ => text(StatusCode::NOT_FOUND, "there are /livez, /readyz, /metrics and /status\n".into()),
        }
    }
}

impl Admin {
    fn status(&self) -> Response<Vec<u8>> {
        let snapshot = self.snapshot.load();
        match serde_json::to_vec_pretty(&status::Status::of(&snapshot)) {
            Ok(body) => respond(StatusCode::OK, "application/json", body),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("the status cannot be written: {error}\n")),
        }
    }

    fn readiness(&self, verbose: bool) -> Response<Vec<u8>> {
        let state = (self.state)();
        let words = state.words();
        if state == State::Listening {
            return text(StatusCode::OK, check("gateway", words, verbose));
        }
        text(StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {words}\n"))
    }
}

fn check(what: &str, words: &str, verbose: bool) -> String {
    if verbose { format!("[+] {what}: {words}\nok\n") } else { "ok\n".into() }
}

fn text(status: StatusCode, body: String) -> Response<Vec<u8>> {
    respond(status, "text/plain; charset=utf-8", body.into_bytes())
}

fn metrics(body: Vec<u8>) -> Response<Vec<u8>> {
    respond(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", body)
}

fn respond(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response<Vec<u8>> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let length = response.body().len();
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    headers.insert(http::header::CONTENT_LENGTH, length.into());
    headers.insert(http::header::CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
    response
}
