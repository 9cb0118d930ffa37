//! Requests that the gateway itself makes of a server, such as `tools/list`.
//!
//! Bounded in time and bytes. The answer may be one JSON object or a stream that ends with it.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use pingora::connectors::ConnectorOptions;
use pingora::connectors::http::Connector;
use pingora::http::RequestHeader;
use pingora::protocols::http::client::HttpSession;
use serde_json::{Value, json};

use super::{Endpoint, Upstreams};
use crate::protocol::sse::LastResponse;
use crate::protocol::{VERSIONS, header, meta};

/// What is sent: a method of the protocol and its parameters, `_meta` added.
#[derive(Debug)]
pub struct OwnRequest<'a> {
    pub method: &'a str,
    pub params: serde_json::Map<String, Value>,
    /// Credentials and configured headers.
    pub headers: &'a HeaderMap,
    pub max_bytes: usize,
}

/// A result, and how many bytes it took.
#[derive(Debug)]
pub struct OwnAnswer {
    pub result: Value,
    pub bytes: usize,
}

/// Why the gateway's own request got no result. Says nothing of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnError {
    #[error("the server cannot be reached")]
    Unreachable,
    #[error("the server did not answer within {0:?}")]
    Late(Duration),
    #[error("the server answered with HTTP status {0}")]
    Status(u16),
    #[error("the server's answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the server's answer is no JSON-RPC response: {0}")]
    Unreadable(String),
    #[error("the server answered with the error {code}: {message}")]
    Refused { code: i64, message: String },
    #[error("the server broke off")]
    BrokeOff,
}

/// The gateway as a client of its servers; its connections are its own, beside those of relayed requests.
pub struct OwnClient {
    connector: Connector<Upstreams>,
}

impl std::fmt::Debug for OwnClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnClient").finish_non_exhaustive()
    }
}

/// Idle connections that the gateway's own requests keep.
const POOL: usize = 64;

impl Default for OwnClient {
    fn default() -> Self {
        let options = ConnectorOptions::new(POOL);
        Self { connector: Connector::new_custom(Some(options.clone()), Upstreams::new(options)) }
    }
}

impl OwnClient {
    /// Sends one request and reads its result, all within `time`.
    pub async fn result(
        &self,
        endpoint: &Endpoint,
        request: &OwnRequest<'_>,
        time: Duration,
    ) -> Result<OwnAnswer, OwnError> {
        tokio::time::timeout(time, self.exchange(endpoint, request)).await.unwrap_or(Err(OwnError::Late(time)))
    }

    async fn exchange(&self, endpoint: &Endpoint, request: &OwnRequest<'_>) -> Result<OwnAnswer, OwnError> {
        let peer = endpoint.peer().await.map_err(|_| OwnError::Unreachable)?;
        let (mut session, _) = self.connector.get_http_session(&*peer).await.map_err(|_| OwnError::Unreachable)?;
        let body = body(request);
        let head = head(endpoint, request, body.len()).map_err(|_| OwnError::BrokeOff)?;
        send(&mut session, head, body).await.map_err(|_| OwnError::BrokeOff)?;
        let (message, bytes) = receive(&mut session, request.max_bytes).await?;
        // A stream may go on after its response; such a connection is not used again.
        if session.response_done() {
            self.connector.release_http_session(session, &*peer, peer.options.idle_timeout).await;
        }
        Ok(OwnAnswer { result: result_of(message)?, bytes })
    }
}

fn body(request: &OwnRequest<'_>) -> Bytes {
    let mut params = request.params.clone();
    let about = json!({
        meta::VERSION: VERSIONS[0],
        meta::CLIENT_INFO: { "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") },
        meta::CAPABILITIES: {},
    });
    params.insert("_meta".into(), about);
    Bytes::from(json!({ "jsonrpc": "2.0", "id": 0, "method": request.method, "params": params }).to_string())
}

fn head(endpoint: &Endpoint, request: &OwnRequest<'_>, length: usize) -> pingora_error::Result<Box<RequestHeader>> {
    let mut head = RequestHeader::build("POST", endpoint.path().as_bytes(), Some(12))?;
    for (name, value) in request.headers {
        head.append_header(name.clone(), value.clone())?;
    }
    head.insert_header(HOST, endpoint.authority().clone())?;
    head.insert_header(CONTENT_TYPE, HeaderValue::from_static("application/json"))?;
    head.insert_header(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"))?;
    head.insert_header(CONTENT_LENGTH, HeaderValue::from(length))?;
    head.insert_header(USER_AGENT, HeaderValue::from_static(concat!("mcp-signpost/", env!("CARGO_PKG_VERSION"))))?;
    head.insert_header(HeaderName::from_static("mcp-protocol-version"), HeaderValue::from_static(VERSIONS[0]))?;
    head.insert_header(header::METHOD, HeaderValue::from_str(request.method).unwrap_or(HeaderValue::from_static("")))?;
    Ok(Box::new(head))
}

async fn send(session: &mut HttpSession, head: Box<RequestHeader>, body: Bytes) -> pingora_error::Result<()> {
    session.write_request_header(head).await?;
    session.write_request_body(body, true).await?;
    session.finish_request_body().await
}

async fn receive(session: &mut HttpSession, max_bytes: usize) -> Result<(Value, usize), OwnError> {
    session.read_response_header().await.map_err(|_| OwnError::BrokeOff)?;
    let head = session.response_header().ok_or(OwnError::BrokeOff)?;
    let status = head.status.as_u16();
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_stream = kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream");
    if !head.status.is_success() && !kind.contains("json") {
        return Err(OwnError::Status(status));
    }
    if is_stream { stream(session, max_bytes).await } else { object(session, max_bytes).await }
}

async fn object(session: &mut HttpSession, max_bytes: usize) -> Result<(Value, usize), OwnError> {
    let mut body = Vec::new();
    while let Some(chunk) = session.read_response_body().await.map_err(|_| OwnError::BrokeOff)? {
        if body.len() + chunk.len() > max_bytes {
            return Err(OwnError::TooLarge(max_bytes));
        }
        body.extend_from_slice(&chunk);
    }
    let message = serde_json::from_slice(&body).map_err(unreadable)?;
    Ok((message, body.len()))
}

/// Reads a stream until the message that is the response; what comes before it (notifications) is not for us.
async fn stream(session: &mut HttpSession, max_bytes: usize) -> Result<(Value, usize), OwnError> {
    let mut response = LastResponse::new(max_bytes);
    let mut bytes = 0;
    while let Some(chunk) = session.read_response_body().await.map_err(|_| OwnError::BrokeOff)? {
        bytes += chunk.len();
        if bytes > max_bytes {
            return Err(OwnError::TooLarge(max_bytes));
        }
        if response.feed(&chunk).map_err(unreadable)? {
            break;
        }
    }
    Ok((response.finish().map_err(unreadable)?, bytes))
}

fn unreadable(error: impl std::fmt::Display) -> OwnError {
    OwnError::Unreadable(error.to_string())
}

fn result_of(mut message: Value) -> Result<Value, OwnError> {
    if let Some(error) = message.get("error") {
        let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        let text = error.get("message").and_then(Value::as_str).unwrap_or_default();
        return Err(OwnError::Refused { code, message: crate::agreement::quote(text) });
    }
    match message.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => Err(OwnError::Unreadable("it has neither result nor error".into())),
    }
}
