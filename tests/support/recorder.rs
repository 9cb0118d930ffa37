//! An MCP server that writes down what it sees, at the moment it sees it.
//!
//! It takes a request for *seen whole* as soon as the brace of the root value closes, as a server does that acts without
//! waiting for the end of the body. The header `X-Do` of a request makes it behave: `hold` (answer when released),
//! `trickle` (begin an event stream, end it when released), `slow` (begin to read the body late), `unauthorized` (answer
//! 401), `much` (answer with [`MUCH`] bytes and more), `foreign` (add headers that are not a server's to send through a gateway).

use std::collections::HashSet;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::braces::Braces;
use super::inbox::{Head, Inbox};
use super::request::TOKEN;
use super::tools;

/// What one request looked like from here.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub connection: usize,
    pub head: Head,
    pub body: Vec<u8>,
    /// A complete JSON root value arrived.
    pub whole: bool,
    /// The body ended as its framing says.
    pub ended: bool,
    /// The connection ended, or broke its framing, before the answer was given.
    pub lost: Option<Instant>,
    /// The body of the answer, once it was given.
    pub answer: Option<Vec<u8>>,
}

/// The server; it stops taking connections when dropped.
#[derive(Debug)]
pub struct Recorder {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    name: String,
    log: Mutex<Vec<Seen>>,
    changed: Condvar,
    released: Mutex<HashSet<String>>,
    faults: Mutex<Vec<String>>,
    connections: AtomicUsize,
    open: AtomicUsize,
    stop: AtomicBool,
}

impl Recorder {
    pub fn start(name: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            name: name.into(),
            log: Mutex::default(),
            changed: Condvar::new(),
            released: Mutex::default(),
            faults: Mutex::default(),
            connections: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || accept(&listener, &accepting));
        Self { address, shared }
    }

    /// Everything seen so far, the gateway's own requests for lists included.
    pub fn log(&self) -> Vec<Seen> {
        self.shared.log().clone()
    }

    /// What was seen of one client's request.
    pub fn seen(&self, token: &str) -> Vec<Seen> {
        self.shared.log().iter().filter(|seen| seen.token() == token).cloned().collect()
    }

    /// Waits until one request looks as it should; false after `limit`.
    pub fn wait(&self, token: &str, limit: Duration, mut is_so: impl FnMut(&Seen) -> bool) -> bool {
        let start = Instant::now();
        let mut log = self.shared.log();
        loop {
            if log.iter().any(|seen| seen.token() == token && is_so(seen)) {
                return true;
            }
            let Some(left) = limit.checked_sub(start.elapsed()) else { return false };
            log = self.shared.changed.wait_timeout(log, left.max(Duration::from_millis(1))).unwrap().0;
        }
    }

    /// Waits until nothing of this request is under way.
    pub fn wait_until_over(&self, token: &str, limit: Duration) -> bool {
        let is_over = |seen: &Seen| seen.lost.is_some() || seen.answer.is_some() || seen.token() != token;
        super::eventually(limit, || self.shared.log().iter().all(is_over))
    }

    /// Lets a held request be answered.
    pub fn release(&self, token: &str) {
        self.shared.released.lock().unwrap().insert(token.into());
    }

    /// Connections that are open now.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// What was no HTTP/1.1 at all on any connection.
    pub fn faults(&self) -> Vec<String> {
        self.shared.faults.lock().unwrap().clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; that it is gone is no fault.
        let _ = TcpStream::connect(self.address);
    }
}

impl Seen {
    pub fn token(&self) -> String {
        self.text(TOKEN)
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(self.head.get(name).unwrap_or_default()).into_owned()
    }
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.log.lock().unwrap()
    }

    fn change(&self, index: usize, change: impl FnOnce(&mut Seen)) {
        change(&mut self.log()[index]);
        self.changed.notify_all();
    }

    fn begin(&self, connection: usize, head: Head) -> usize {
        let mut log = self.log();
        log.push(Seen { connection, head, ..Seen::default() });
        self.changed.notify_all();
        log.len() - 1
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            shared.open.fetch_add(1, Ordering::SeqCst);
            let connection = shared.connections.fetch_add(1, Ordering::SeqCst);
            serve(&shared, connection, stream);
            shared.open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

fn serve(shared: &Shared, connection: usize, stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut inbox = Inbox::new(stream);
    loop {
        let head = match inbox.head() {
            Ok(Some(head)) => head,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return shared.faults.lock().unwrap().push(error.to_string());
            }
            Ok(None) | Err(_) => return,
        };
        if !head.start.starts_with("POST ") {
            return shared.faults.lock().unwrap().push(format!("instead of a request line: {:?}", head.start));
        }
        let index = shared.begin(connection, head);
        if take_body(shared, index, &mut inbox).is_err() || answer(shared, index, &mut inbox.stream).is_err() {
            return shared.change(index, |seen| seen.lost = Some(Instant::now()));
        }
    }
}

fn take_body(shared: &Shared, index: usize, inbox: &mut Inbox) -> io::Result<()> {
    let (framing, is_slow) = {
        let seen = &shared.log()[index];
        (seen.head.request_framing()?, seen.text("x-do") == "slow")
    };
    if is_slow {
        std::thread::sleep(Duration::from_millis(700));
    }
    let mut braces = Braces::default();
    inbox.body(framing, |piece| {
        shared.change(index, |seen| {
            seen.body.extend_from_slice(piece);
            seen.whole = braces.feed(piece);
        });
    })?;
    shared.change(index, |seen| seen.ended = true);
    Ok(())
}

/// An answer on the wire: what can be sent at once, what ends it, and the body that the client gets.
struct Answer {
    first: Vec<u8>,
    last: Vec<u8>,
    body: Vec<u8>,
}

fn answer(shared: &Shared, index: usize, stream: &mut TcpStream) -> io::Result<()> {
    let (token, doing, body) = {
        let seen = &shared.log()[index];
        (seen.token(), seen.text("x-do"), seen.body.clone())
    };
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let response = response(&shared.name, index, &request);
    let as_events = doing == "trickle" || shared.name == "beta" && request["method"] == "tools/list";
    let answer = if as_events { events(&response) } else { object(&doing, &response) };
    stream.write_all(&answer.first)?;
    if matches!(doing.as_str(), "hold" | "trickle") {
        wait_for_release(shared, &token, stream)?;
    }
    // Before the last byte leaves, so that whoever has the answer finds it here.
    shared.change(index, |seen| seen.answer = Some(answer.body));
    stream.write_all(&answer.last)
}

fn response(server: &str, serial: usize, request: &Value) -> String {
    let result = match request["method"].as_str() {
        Some("tools/list") => tools::page(server, request["params"]["cursor"].as_str()),
        Some("prompts/get") => tools::prompt_result(server, serial),
        _ => tools::call_result(server, serial),
    };
    json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()
}

/// Headers that a gateway drops, and one that it keeps.
const FOREIGN: &str = "Set-Cookie: a=1\r\nAlt-Svc: h3=\":1\"\r\nStrict-Transport-Security: max-age=1\r\n\
    Clear-Site-Data: \"*\"\r\nAccess-Control-Allow-Origin: *\r\nAccess-Control-Allow-Credentials: true\r\n\
    Mcp-Session-Id: s1\r\nX-Kept: 1\r\n";

/// More than the buffers between a server and a client who does not read can take.
pub const MUCH: usize = 32 * 1024 * 1024;

fn object(doing: &str, response: &str) -> Answer {
    let response = if doing == "much" { response.to_owned() + &" ".repeat(MUCH) } else { response.to_owned() };
    let (status, fields) = match doing {
        "unauthorized" => ("401 Unauthorized", "WWW-Authenticate: Bearer scope=\"x\"\r\n"),
        "foreign" => ("200 OK", FOREIGN),
        _ => ("200 OK", ""),
    };
    let length = response.len();
    let head =
        format!("HTTP/1.1 {status}\r\n{fields}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
    Answer { first: vec![], last: [head, response.clone()].concat().into(), body: response.into() }
}

const EVENTS: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const PROGRESS: &str = "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\r\n\r\n";

/// A notification first, then the response.
fn events(response: &str) -> Answer {
    let end = format!("data: {response}\n\n");
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len()).into_bytes();
    Answer {
        first: [EVENTS, &chunk(PROGRESS)].concat(),
        last: [&chunk(&end)[..], b"0\r\n\r\n"].concat(),
        body: [PROGRESS, &end].concat().into(),
    }
}

/// Waits, and notices if the other side goes meanwhile.
fn wait_for_release(shared: &Shared, token: &str, stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_millis(10)))?;
    while !shared.released.lock().unwrap().contains(token) {
        match stream.peek(&mut [0]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    stream.set_read_timeout(None)
}
