//! An HTTP/1.1 client that sends exact bytes and reads exact bytes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use socket2::SockRef;

use super::inbox::{Head, Inbox, find};
use super::request::Request;

/// How long any read may take before the test fails.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// One connection.
#[derive(Debug)]
pub struct Client {
    inbox: Inbox,
    address: SocketAddr,
}

/// A response as it came.
#[derive(Clone, Debug, Default)]
pub struct Response {
    pub status: u16,
    pub head: Head,
    pub body: Vec<u8>,
    /// Whether the body ended as its framing says.
    pub is_complete: bool,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).expect("connecting")
    }

    pub fn try_connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { inbox: Inbox::new(stream), address })
    }

    /// Sends bytes. That the other side no longer listens is no error here: it may have answered already.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.inbox.stream.write_all(bytes).is_ok()
    }

    /// Sends pieces with a pause between them; stops where the other side no longer takes them.
    pub fn send_pieces(&mut self, pieces: &[&[u8]], pause: Duration) -> bool {
        for (index, piece) in pieces.iter().enumerate() {
            if index > 0 {
                std::thread::sleep(pause);
            }
            if !self.send(piece) {
                return false;
            }
        }
        true
    }

    pub fn send_request(&mut self, request: &Request) -> bool {
        self.send(&request.bytes(self.address))
    }

    /// The next response, whatever its status.
    pub fn read_any(&mut self) -> io::Result<Response> {
        let head = self.inbox.head()?.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        let status = head.start.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, head.start.clone()))?;
        let framing = head.response_framing(status)?;
        let mut body = Vec::new();
        let is_complete = self.inbox.body(framing, |piece| body.extend_from_slice(piece)).is_ok();
        Ok(Response { status, head, body, is_complete })
    }

    /// The next final response.
    pub fn read(&mut self) -> io::Result<Response> {
        loop {
            let response = self.read_any()?;
            if response.status >= 200 {
                return Ok(response);
            }
        }
    }

    /// The head of the next response and nothing of its body.
    pub fn read_head(&mut self) -> io::Result<Head> {
        self.inbox.head()?.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    }

    /// Whether these bytes arrive within `limit`; what came is taken.
    pub fn read_until(&mut self, wanted: &[u8], limit: Duration) -> bool {
        self.inbox.stream.set_read_timeout(Some(limit)).unwrap();
        let mut arrived = Vec::new();
        let mut block = [0; 4096];
        while let Ok(read @ 1..) = self.inbox.stream.read(&mut block) {
            arrived.extend_from_slice(&block[..read]);
            if find(&arrived, wanted).is_some() {
                return true;
            }
        }
        false
    }

    /// Sends a request and reads its answer.
    pub fn exchange(&mut self, request: &Request) -> io::Result<Response> {
        self.send_request(request);
        self.read()
    }

    /// Whether the other side closes within `limit`; what it sends before is thrown away.
    pub fn is_closed_within(&mut self, limit: Duration) -> bool {
        let start = std::time::Instant::now();
        let mut block = [0; 4096];
        while start.elapsed() < limit {
            let left = limit.saturating_sub(start.elapsed()).max(Duration::from_millis(1));
            self.inbox.stream.set_read_timeout(Some(left)).unwrap();
            match self.inbox.stream.read(&mut block) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
            }
        }
        false
    }

    /// Says that nothing more will be sent.
    pub fn half_close(&mut self) {
        // It may be closed already.
        let _ = self.inbox.stream.shutdown(Shutdown::Write);
    }

    /// Ends the connection by RST.
    pub fn reset(self) {
        SockRef::from(&self.inbox.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }
}

impl Response {
    pub fn header(&self, name: &str) -> Option<String> {
        self.head.get(name).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    pub fn code(&self) -> Option<i64> {
        self.json()?.get("error")?.get("code")?.as_i64()
    }

    pub fn message(&self) -> String {
        let message = self.json().and_then(|body| Some(body.get("error")?.get("message")?.as_str()?.to_owned()));
        message.unwrap_or_default()
    }

    /// For messages of failed tests.
    pub fn brief(&self) -> String {
        let body = String::from_utf8_lossy(&self.body);
        format!("{} {}", self.status, body.chars().take(300).collect::<String>())
    }
}

/// One request on a connection of its own.
pub fn exchange(address: SocketAddr, request: &Request) -> io::Result<Response> {
    Client::try_connect(address)?.exchange(request)
}
