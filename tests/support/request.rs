//! Requests as exact bytes.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

/// The header by which upstreams tell the requests of parallel tests apart; the gateway has no opinion on it.
pub const TOKEN: &str = "X-Case";
pub const VERSION: &str = "2026-07-28";

/// A request, spelled as it will be sent. `Host` and the framing are added unless they are there.
#[derive(Clone)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    /// Send the body in chunks of this size.
    pub chunk: Option<usize>,
}

/// As short as a message of a failed test needs it.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.target)?;
        for (name, value) in &self.headers {
            write!(f, " {name}: {:.60};", String::from_utf8_lossy(value))?;
        }
        write!(f, " {} bytes, chunk {:?}", self.body.len(), self.chunk)
    }
}

/// `params._meta` as every request must have it.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Request {
    /// A bare POST to the merged endpoint.
    pub fn post(body: impl Into<Vec<u8>>) -> Self {
        Self { method: "POST".into(), target: "/mcp".into(), headers: vec![], body: body.into(), chunk: None }
            .with(TOKEN, &format!("c{}", unique()))
    }

    /// A lawful request of any method, with a fresh id.
    pub fn of(method: &str, name: Option<&str>, mut params: Value) -> Self {
        params["_meta"] = meta();
        if let Some(name) = name {
            params["name"] = name.into();
        }
        let body = json!({ "jsonrpc": "2.0", "id": unique(), "method": method, "params": params });
        let request = Self::post(body.to_string())
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream")
            .with("MCP-Protocol-Version", VERSION)
            .with("Mcp-Method", method);
        match name {
            Some(name) => request.with("Mcp-Name", name),
            None => request,
        }
    }

    /// A lawful call of a tool without parameters of its own in headers.
    pub fn call(name: &str) -> Self {
        Self::of("tools/call", Some(name), json!({ "arguments": { "text": "hello" } }))
    }

    /// A lawful call whose body has exactly `size` bytes.
    pub fn sized(name: &str, size: usize) -> Self {
        let filled = |text: &str| Self::of("tools/call", Some(name), json!({ "arguments": { "text": text } }));
        let mut request = filled("");
        let marker = br#""text":"#;
        let at = super::inbox::find(&request.body, marker).unwrap() + marker.len() + 1;
        let missing = size - request.body.len();
        request.body.splice(at..at, std::iter::repeat_n(b'q', missing));
        assert_eq!(request.body.len(), size);
        request
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.as_bytes().to_vec()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(field, _)| !field.eq_ignore_ascii_case(name));
        self
    }

    pub fn replacing(self, name: &str, value: &str) -> Self {
        self.without(name).with(name, value)
    }

    pub fn to(mut self, target: &str) -> Self {
        self.target = target.into();
        self
    }

    pub fn by(mut self, method: &str) -> Self {
        self.method = method.into();
        self
    }

    pub fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub fn chunked(mut self, size: usize) -> Self {
        self.chunk = Some(size);
        self
    }

    pub fn header(&self, name: &str) -> Option<&[u8]> {
        super::inbox::values(&self.headers, name).first().copied()
    }

    pub fn token(&self) -> String {
        String::from_utf8_lossy(self.header(TOKEN).unwrap_or_default()).into_owned()
    }

    /// The id in the body, if a common parser finds one.
    pub fn id(&self) -> Option<Value> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        body.get("id").filter(|id| id.is_string() || id.is_number()).cloned()
    }

    /// The head, its empty line included.
    pub fn head(&self, address: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        let mut field = |name: &str, value: &[u8]| {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        };
        if self.header("host").is_none() {
            field("Host", address.to_string().as_bytes());
        }
        for (name, value) in &self.headers {
            field(name, value);
        }
        let is_framed = self.header("content-length").is_some() || self.header("transfer-encoding").is_some();
        match self.chunk {
            _ if is_framed => {}
            Some(_) => field("Transfer-Encoding", b"chunked"),
            None => field("Content-Length", self.body.len().to_string().as_bytes()),
        }
        head.extend_from_slice(b"\r\n");
        head
    }

    /// The body in its framing.
    pub fn framed_body(&self) -> Vec<u8> {
        let Some(size) = self.chunk else { return self.body.clone() };
        let mut framed = Vec::new();
        for chunk in self.body.chunks(size) {
            framed.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            framed.extend_from_slice(chunk);
            framed.extend_from_slice(b"\r\n");
        }
        framed.extend_from_slice(b"0\r\n\r\n");
        framed
    }

    /// The whole request.
    pub fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        [self.head(address), self.framed_body()].concat()
    }
}
