//! Requests that the gateway itself makes of a server, such as `tools/list`.
//!
//! Bounded in time and bytes. The answer may be one JSON object or a stream that ends with it.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue};
use pingora::connectors::ConnectorOptions;
use pingora::connectors::http::Connector;
use pingora::http::RequestHeader;
use pingora::protocols::http::client::HttpSession;
use pingora::upstreams::peer::HttpPeer;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Endpoint;
use crate::protocol::sse::LastResponse;
use crate::protocol::{VERSIONS, header, meta};
use crate::wire::dial::DialError;
use crate::wire::{Dials, Upstreams};

/// What is sent: a method of the protocol and its parameters, `_meta` added.
#[derive(Debug)]
pub struct OwnRequest<'a> {
    pub method: &'a str,
    pub params: serde_json::Map<String, Value>,
    /// The client's that the gateway asks for, as JSON; an object.
    pub capabilities: &'a str,
    /// Credentials and configured headers.
    pub headers: &'a HeaderMap,
    pub max_bytes: usize,
}

/// A result as it was written, and the head it came with.
#[derive(Debug)]
pub struct OwnAnswer {
    pub result: Bytes,
    pub headers: HeaderMap,
}

/// Why the gateway's own request got no result. Says nothing of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnError {
    #[error("the server answered with HTTP status {0}; is its path right?")]
    Path(u16),
    #[error("the server answered with HTTP status {0}")]
    Status(u16),
    /// 401 or 403, with its `WWW-Authenticate`.
    #[error("the server wants other credentials (HTTP status {status})")]
    Unauthorized { status: u16, challenge: Option<String> },
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

/// A connection to an endpoint, for one request.
pub struct OwnConnection<'e> {
    session: HttpSession,
    peer: Box<HttpPeer>,
    endpoint: &'e Endpoint,
}

impl std::fmt::Debug for OwnConnection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnConnection").field("endpoint", &self.endpoint.label()).finish_non_exhaustive()
    }
}

impl OwnClient {
    pub fn new(dials: Arc<Dials>) -> Self {
        let options = ConnectorOptions::new(POOL);
        Self { connector: Connector::new_custom(Some(options), Upstreams::new(dials)) }
    }

    /// Connects an endpoint, or takes a connection that was kept. Errors say addresses: they are for the log.
    pub async fn connect<'e>(&self, endpoint: &'e Endpoint) -> Result<OwnConnection<'e>, DialError> {
        let peer = endpoint.peer();
        let (session, _) = self.connector.get_http_session(&*peer).await.map_err(|error| DialError::of(&error))?;
        Ok(OwnConnection { session, peer, endpoint })
    }

    /// Sends one request and reads its result. How long that may take is the caller's to bound.
    pub async fn result(
        &self,
        mut connection: OwnConnection<'_>,
        request: &OwnRequest<'_>,
    ) -> Result<OwnAnswer, OwnError> {
        let session = &mut connection.session;
        let body = body(request);
        let head = head(connection.endpoint, request, body.len()).map_err(|_| OwnError::BrokeOff)?;
        send(session, head, body).await.map_err(|_| OwnError::BrokeOff)?;
        let message = receive(session, request.max_bytes).await?;
        let headers = session.response_header().map(|head| head.headers.clone()).unwrap_or_default();
        // A stream may go on after its response; such a connection is not used again.
        if session.response_done() {
            let OwnConnection { session, peer, .. } = connection;
            self.connector.release_http_session(session, &*peer, peer.options.idle_timeout).await;
        }
        Ok(OwnAnswer { result: result_of(&message)?, headers })
    }
}

fn body(request: &OwnRequest<'_>) -> Bytes {
    let mut params = request.params.clone();
    let about = json!({
        meta::VERSION: VERSIONS[0],
        meta::CLIENT_INFO: { "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") },
        meta::CAPABILITIES: serde_json::from_str::<Value>(request.capabilities).unwrap_or_else(|_| json!({})),
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

/// The response, as it was written.
async fn receive(session: &mut HttpSession, max_bytes: usize) -> Result<Bytes, OwnError> {
    session.read_response_header().await.map_err(|_| OwnError::BrokeOff)?;
    let head = session.response_header().ok_or(OwnError::BrokeOff)?;
    let status = head.status.as_u16();
    if matches!(status, 401 | 403) {
        let challenge = head.headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        return Err(OwnError::Unauthorized { status, challenge: challenge.map(str::to_owned) });
    }
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_stream = kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream");
    if !head.status.is_success() && !kind.contains("json") {
        let is_path = matches!(status, 404 | 405);
        return Err(if is_path { OwnError::Path(status) } else { OwnError::Status(status) });
    }
    if is_stream { stream(session, max_bytes).await } else { object(session, max_bytes).await }
}

async fn object(session: &mut HttpSession, max_bytes: usize) -> Result<Bytes, OwnError> {
    let mut body = BytesMut::new();
    while let Some(chunk) = session.read_response_body().await.map_err(|_| OwnError::BrokeOff)? {
        if body.len() + chunk.len() > max_bytes {
            return Err(OwnError::TooLarge(max_bytes));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Reads a stream until the message that is the response; what comes before it (notifications) is not for us.
async fn stream(session: &mut HttpSession, max_bytes: usize) -> Result<Bytes, OwnError> {
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
    response.finish().map(Bytes::from).map_err(unreadable)
}

fn unreadable(error: impl std::fmt::Display) -> OwnError {
    OwnError::Unreadable(error.to_string())
}

/// A response; a member that stands twice is an error.
#[derive(Deserialize)]
struct Response<'m> {
    #[serde(borrow)]
    result: Option<&'m RawValue>,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

fn result_of(message: &Bytes) -> Result<Bytes, OwnError> {
    let response: Response<'_> = serde_json::from_slice(message).map_err(unreadable)?;
    match response {
        Response { error: Some(RpcError { code, message }), .. } => {
            Err(OwnError::Refused { code, message: crate::protocol::quote(&message) })
        }
        Response { result: Some(result), .. } => Ok(message.slice_ref(result.get().as_bytes())),
        _ => Err(OwnError::Unreadable("it has neither result nor error".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_a_response_is_its_own_bytes() {
        let response = Bytes::from_static(br#"{"jsonrpc":"2.0","id":0,"result":{"b": 1.50, "a":[]} }"#);
        assert_eq!(result_of(&response).unwrap(), &br#"{"b": 1.50, "a":[]}"#[..]);
    }

    #[test]
    fn what_is_no_response_is_an_error_that_says_so() {
        for (message, words) in [
            (&br#"{"error":{"code":-32601,"message":"no"}}"#[..], "-32601: 'no'"),
            (br#"{"error":{},"result":{}}"#, "the error 0"),
            (br#"{"id":1}"#, "neither"),
            (br#"{"result":{},"result":{}}"#, "duplicate"),
            (br"[]", "no JSON-RPC response"),
            (br#"{"result":{"#, "no JSON-RPC response"),
        ] {
            let error = result_of(&Bytes::from_static(message)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
