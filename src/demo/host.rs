//! Puts a server behind an HTTP listener.
//!
//! Knows how an rmcp server is told to speak revision 2026-07-28 alone: no sessions, each request with its own version.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{CacheScope, ListToolsResult, Tool};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Where the servers answer.
const PATH: &str = "/mcp";

/// How long the servers' lists are fresh: they never change.
pub(super) const LIST_TTL_MS: u64 = 60_000;

/// A list of all tools, for everybody.
pub(super) fn listed(tools: Vec<Tool>) -> ListToolsResult {
    ListToolsResult::with_all_items(tools).with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Public)
}

/// A server that listens. It stops to accept when this is dropped, and ends with the requests it has.
#[derive(Debug)]
pub struct Running {
    pub addr: SocketAddr,
    /// Dropped with the rest: that is the signal.
    _stop: oneshot::Sender<()>,
}

impl Running {
    /// The address of its MCP endpoint.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.addr)
    }
}

/// Serves `server` on `addr` (port 0: any) until the result is dropped. Needs a tokio runtime.
pub(super) async fn host<S: ServerHandler + Clone>(server: S, addr: SocketAddr) -> io::Result<Running> {
    let listener = TcpListener::bind(addr).await?;
    let addr = listener.local_addr()?;
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_stateless_protocol_metadata_required(true)
        // One JSON object where there is nothing to stream: that is what a person at a terminal wants to see.
        .with_json_response(true);
    let service =
        StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config);
    let (stop, stopped) = oneshot::channel::<()>();
    let serve = axum::serve(listener, axum::Router::new().route_service(PATH, service));
    tokio::spawn(async move {
        let stopped = async {
            // Nothing is ever sent: the sender's end is what is waited for.
            let _ = stopped.await;
        };
        if let Err(error) = serve.with_graceful_shutdown(stopped).await {
            log::warn!("the example server on {addr} ended: {error}");
        }
    });
    Ok(Running { addr, _stop: stop })
}
