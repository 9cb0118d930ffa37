//! An MCP server whose answers a test writes, and changes while it runs.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::inbox::Inbox;

/// A running server; it ends when dropped.
#[derive(Debug)]
pub struct Scripted {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    /// Tool, prompt or URI by its header.
    pub name: Option<String>,
    pub cursor: Option<String>,
    pub credential: Option<String>,
    pub capabilities: Value,
    pub body: Value,
    pub accept_encoding: Option<String>,
    pub at: Instant,
}

/// What is sent back.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: &'static str,
    /// Whole header lines.
    pub fields: String,
    /// The response without its id; `None`: the connection is closed without a word.
    pub response: Option<Value>,
    /// Takes the place of the response's result.
    pub raw_result: Option<String>,
    /// Takes the place of everything.
    pub html: Option<String>,
    pub after: Duration,
    pub in_events: bool,
}

type Script = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

struct Shared {
    script: Mutex<Script>,
    asked: Mutex<Vec<Asked>>,
    /// The open connections.
    streams: Mutex<HashMap<RawFd, TcpStream>>,
    stop: AtomicBool,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Reply {
    pub fn result(result: &Value) -> Self {
        Self::response(json!({ "result": result }))
    }

    /// A result exactly as it is written here.
    pub fn raw(result: String) -> Self {
        Self { raw_result: Some(result), ..Self::response(json!({})) }
    }

    /// What is no answer of the protocol at all.
    pub fn html(text: &str) -> Self {
        Self { html: Some(text.to_owned()), ..Self::response(json!({})) }
    }

    pub fn error(code: i64, message: &str) -> Self {
        Self::response(json!({ "error": { "code": code, "message": message } }))
    }

    pub fn no_method() -> Self {
        Self { status: "404 Not Found", ..Self::error(-32601, "no such method") }
    }

    pub fn unauthorized() -> Self {
        let fields = "WWW-Authenticate: Bearer scope=\"lists\"\r\n".to_owned();
        Self { status: "401 Unauthorized", fields, ..Self::error(-1, "who are you?") }
    }

    pub fn silence() -> Self {
        Self { after: Duration::from_secs(3600), ..Self::response(json!({})) }
    }

    pub fn closing() -> Self {
        Self { response: None, ..Self::response(json!({})) }
    }

    fn response(response: Value) -> Self {
        let after = Duration::ZERO;
        let fields = String::new();
        Self {
            status: "200 OK",
            fields,
            response: Some(response),
            raw_result: None,
            html: None,
            after,
            in_events: false,
        }
    }

    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    pub fn with_field(mut self, line: &str) -> Self {
        self.fields.push_str(line);
        self.fields.push_str("\r\n");
        self
    }

    pub fn in_events(self) -> Self {
        Self { in_events: true, ..self }
    }
}

/// A page of tools with these names, which say whose list it is in their descriptions.
pub fn tools(names: &[&str], ttl_ms: u64, scope: &str) -> Reply {
    let tools: Vec<Value> = names.iter().map(|name| tool(name)).collect();
    Reply::result(&json!({ "resultType": "complete", "tools": tools, "ttlMs": ttl_ms, "cacheScope": scope }))
}

pub fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("what {name} does"), "inputSchema": { "type": "object" } })
}

impl Scripted {
    pub fn start(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into(), script)
    }

    /// The same at an address that is free again.
    pub fn start_at(address: SocketAddr, script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Shared {
            script: Mutex::new(Arc::new(script)),
            asked: Mutex::default(),
            streams: Mutex::default(),
            stop: AtomicBool::new(false),
        };
        let shared = Arc::new(shared);
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || accept(&listener, &accepting));
        Self { address, shared }
    }

    /// Only `tools/list` is answered; every other method is not there.
    pub fn lists(page: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(move |asked| if asked.method == "tools/list" { page(asked) } else { Reply::no_method() })
    }

    pub fn answer(&self, script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) {
        *self.shared.script.lock().unwrap() = Arc::new(script);
    }

    pub fn answer_lists(&self, page: impl Fn(&Asked) -> Reply + Send + Sync + 'static) {
        self.answer(move |asked| if asked.method == "tools/list" { page(asked) } else { Reply::no_method() });
    }

    /// Closes the port and every connection.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; that it is gone is no fault.
        let _ = TcpStream::connect(self.address);
        for (_, stream) in self.shared.streams.lock().unwrap().drain() {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// All requests with this method so far.
    pub fn asked(&self, method: &str) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().iter().filter(|asked| asked.method == method).cloned().collect()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stop();
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let (shared, handle) = (Arc::clone(shared), stream.try_clone().unwrap());
        let number = handle.as_raw_fd();
        shared.streams.lock().unwrap().insert(number, handle);
        std::thread::spawn(move || {
            serve(&shared, stream);
            if let Some(stream) = shared.streams.lock().unwrap().remove(&number) {
                // It may be closed already.
                let _ = stream.shutdown(Shutdown::Both);
            }
        });
    }
}

/// Until the other side goes, or something breaks.
fn serve(shared: &Shared, stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut inbox = Inbox::new(stream);
    loop {
        let head = inbox.head().ok()??;
        let mut body = Vec::new();
        inbox.body(head.request_framing().ok()?, |piece| body.extend_from_slice(piece)).ok()?;
        let body: Value = serde_json::from_slice(&body).ok()?;
        let text = |name: &str| head.get(name).map(|value| String::from_utf8_lossy(value).into_owned());
        let asked = Asked {
            method: body["method"].as_str().unwrap_or_default().to_owned(),
            name: text("mcp-name"),
            cursor: body["params"]["cursor"].as_str().map(str::to_owned),
            credential: text("authorization"),
            capabilities: body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"].clone(),
            accept_encoding: text("accept-encoding"),
            at: Instant::now(),
            body,
        };
        shared.asked.lock().unwrap().push(asked.clone());
        let script = Arc::clone(&shared.script.lock().unwrap());
        let reply = script(&asked);
        wait(shared, reply.after);
        send(&mut inbox.stream, &reply, &asked.body["id"]).ok()?;
    }
}

fn wait(shared: &Shared, time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time && !shared.stop.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(5).min(time));
    }
}

fn send(stream: &mut TcpStream, reply: &Reply, id: &Value) -> io::Result<()> {
    let Some(mut response) = reply.response.clone() else {
        return Err(io::ErrorKind::ConnectionAborted.into());
    };
    response["jsonrpc"] = "2.0".into();
    response["id"] = id.clone();
    let response = match &reply.raw_result {
        Some(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        None => response.to_string(),
    };
    let (kind, body) = if let Some(html) = &reply.html {
        ("text/html", html.clone())
    } else if reply.in_events {
        ("text/event-stream", format!("event: message\ndata: {response}\n\n"))
    } else {
        ("application/json", response)
    };
    let Reply { status, fields, .. } = reply;
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())
}
