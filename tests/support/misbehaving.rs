//! Servers that go wrong in one way each.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

use super::inbox::{Head, Inbox};

/// The way in which a server goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nobody listens.
    Refuses,
    /// RST as soon as the connection is there.
    ResetsAtOnce,
    /// RST once the request was read.
    ResetsAfterRequest,
    /// FIN once the request was read.
    ClosesAfterRequest,
    /// Reads the request and says nothing.
    SilentBeforeHead,
    /// Says half of a body and then nothing more.
    SilentInBody,
    /// Says half of a body of known length and closes.
    ClosesInBody,
    /// Says half of a chunked body and closes.
    ClosesInChunks,
    /// Answers what is no HTTP.
    Garbage,
    /// Answers with a head of some megabytes.
    HugeHead,
    /// Answers before it reads the body, and closes without reading it.
    AnswersEarly,
    /// An interim response and then the answer.
    InterimFirst,
    /// More bytes than its `Content-Length` says.
    SaysTooMuch,
}

/// The answer of those that give one.
pub const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#;
/// What [`Fault::SaysTooMuch`] says beside its answer: an answer that nobody asked for.
pub const SURPLUS: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"surplus":true}}"#;

/// A list without tools.
const LIST: &str =
    r#"{"jsonrpc":"2.0","id":0,"result":{"resultType":"complete","tools":[],"ttlMs":60000,"cacheScope":"public"}}"#;

/// A server with a fault; it stops when dropped.
#[derive(Debug)]
pub struct Misbehaving {
    pub address: SocketAddr,
    state: Arc<State>,
    /// A bound port on which nobody listens.
    _reserved: Option<Socket>,
}

#[derive(Debug, Default)]
struct State {
    stop: AtomicBool,
    calls: AtomicUsize,
    open: AtomicUsize,
}

impl Misbehaving {
    /// Goes wrong whatever it is asked.
    pub fn start(fault: Fault) -> Self {
        Self::begin(fault, false)
    }

    /// Answers `tools/list`, with no tools, and goes wrong at everything else; who refuses connections has no choice.
    pub fn start_with_lists(fault: Fault) -> Self {
        Self::begin(fault, true)
    }

    fn begin(fault: Fault, lists: bool) -> Self {
        let state = Arc::new(State::default());
        if fault == Fault::Refuses {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
            let address = socket.local_addr().unwrap().as_socket().unwrap();
            return Self { address, state, _reserved: Some(socket) };
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let accepting = Arc::clone(&state);
        std::thread::spawn(move || accept(&listener, &accepting, fault, lists));
        Self { address, state, _reserved: None }
    }

    /// How many calls arrived.
    pub fn calls(&self) -> usize {
        self.state.calls.load(Ordering::SeqCst)
    }

    /// Connections that are open now.
    pub fn open(&self) -> usize {
        self.state.open.load(Ordering::SeqCst)
    }
}

impl Drop for Misbehaving {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; that it is gone is no fault.
        let _ = TcpStream::connect(self.address);
    }
}

fn accept(listener: &TcpListener, state: &Arc<State>, fault: Fault, lists: bool) {
    for stream in listener.incoming() {
        if state.stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        state.open.fetch_add(1, Ordering::SeqCst);
        let state = Arc::clone(state);
        std::thread::spawn(move || {
            // A side that no longer listens is what these tests are about.
            let _ = serve(&state, stream, fault, lists);
            state.open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

fn serve(state: &State, stream: TcpStream, fault: Fault, lists: bool) -> std::io::Result<()> {
    if fault == Fault::ResetsAtOnce && !lists {
        return reset(&stream);
    }
    let mut inbox = Inbox::new(stream);
    while let Some(head) = inbox.head()? {
        let is_list = head.get("mcp-method") == Some(b"tools/list");
        if is_list && lists {
            inbox.body(head.request_framing()?, |_| ())?;
            inbox.stream.write_all(&answer("", LIST))?;
            continue;
        }
        state.calls.fetch_add(usize::from(!is_list), Ordering::SeqCst);
        if !misbehave(&mut inbox, &head, fault)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Answers one request, wrongly; whether the connection may be used again.
fn misbehave(inbox: &mut Inbox, head: &Head, fault: Fault) -> std::io::Result<bool> {
    if fault == Fault::AnswersEarly {
        inbox.stream.write_all(&answer("Connection: close\r\n", ANSWER))?;
        std::thread::sleep(Duration::from_millis(100));
        return Ok(false);
    }
    if fault == Fault::ResetsAtOnce {
        return reset(&inbox.stream).map(|()| false);
    }
    inbox.body(head.request_framing()?, |_| ())?;
    let says = match fault {
        Fault::ResetsAfterRequest => return reset(&inbox.stream).map(|()| false),
        Fault::SilentInBody | Fault::ClosesInBody => half("Content-Length: 8000\r\n", &"x".repeat(4000)),
        Fault::ClosesInChunks => half("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"),
        Fault::Garbage => b"\x16\x03\x01 this is no HTTP\r\n\r\n".to_vec(),
        Fault::HugeHead => answer(&format!("X-Huge: {}\r\n", "h".repeat(3_000_000)), ANSWER),
        Fault::InterimFirst => [b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), answer("", ANSWER)].concat(),
        Fault::SaysTooMuch => [answer("", ANSWER), answer("", SURPLUS)].concat(),
        _ => vec![],
    };
    inbox.stream.write_all(&says)?;
    if matches!(fault, Fault::SilentBeforeHead | Fault::SilentInBody) {
        inbox.stream.read_to_end(&mut Vec::new())?;
    }
    Ok(matches!(fault, Fault::InterimFirst | Fault::SaysTooMuch))
}

fn answer(field: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\n{field}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}").into()
}

fn half(framing: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{framing}\r\n{body}").into()
}

fn reset(stream: &TcpStream) -> std::io::Result<()> {
    SockRef::from(stream).set_linger(Some(Duration::ZERO))
}
