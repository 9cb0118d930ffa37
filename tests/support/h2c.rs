//! An HTTP/2 client with prior knowledge (RFC 9113, 3.3) that says where its frames end.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, SendStream};
use http::{HeaderName, HeaderValue};
use tokio::net::TcpStream;

use super::inbox::Head;
use super::raw::{PATIENCE, Response};
use super::request::Request;

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its last frame carries the end.
    WithLastPiece,
    /// An empty DATA frame after the last piece carries the end.
    EmptyFrame,
}

/// What is sent and in which pieces.
#[derive(Clone, Debug)]
pub struct Sending<'a> {
    pub request: &'a Request,
    pub pieces: Vec<&'a [u8]>,
    pub pause: Duration,
    pub end: End,
    /// Declare the length of the body.
    pub declared: bool,
}

pub type Error = Box<dyn std::error::Error + Send + Sync>;

impl<'a> Sending<'a> {
    /// The body in frames as the request's chunks say, its length declared where there are none.
    pub fn plain(request: &'a Request) -> Self {
        let pieces = request.chunk.map_or_else(|| vec![&*request.body], |size| request.body.chunks(size).collect());
        let declared = request.chunk.is_none();
        Self { request, pieces, pause: Duration::ZERO, end: End::WithLastPiece, declared }
    }

    pub fn in_pieces(request: &'a Request, pieces: Vec<&'a [u8]>, pause: Duration) -> Self {
        Self { pieces, pause, ..Self::plain(request) }
    }

    pub fn ending(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    pub fn undeclared(mut self) -> Self {
        self.declared = false;
        self
    }

    /// Whether HTTP/2 can say it at all: no connection-specific fields (RFC 9113, 8.2.2), no white space around values.
    pub fn is_expressible(&self) -> bool {
        self.request.headers.iter().all(|(name, value)| {
            let lower = name.to_ascii_lowercase();
            !matches!(lower.as_str(), "connection" | "transfer-encoding") && value.trim_ascii() == value.as_slice()
        })
    }
}

/// Runs to its end, on a runtime of its own.
pub fn run<T>(what: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { tokio::time::timeout(PATIENCE, what).await? })
}

/// One request on a connection of its own, and its answer.
pub fn exchange(address: SocketAddr, sending: &Sending<'_>) -> Result<Response, Error> {
    run(async {
        let mut connection = connect(address).await?;
        let (response, mut stream) = begin(&mut connection, address, sending)?;
        send_body(&mut stream, sending).await;
        receive(response).await
    })
}

/// Sends the pieces but no end, waits, then resets the stream and keeps the connection for a while.
pub fn reset_unfinished(address: SocketAddr, sending: &Sending<'_>, wait: Duration) -> Result<(), Error> {
    run(async {
        let mut connection = connect(address).await?;
        let (_response, mut stream) = begin(&mut connection, address, sending)?;
        send_pieces(&mut stream, sending, false).await;
        reset_later(&mut stream, wait).await;
        Ok(())
    })
}

/// Sends the whole request, waits, then resets the stream and keeps the connection for a while.
pub fn reset_unanswered(address: SocketAddr, sending: &Sending<'_>, wait: Duration) -> Result<(), Error> {
    run(async {
        let mut connection = connect(address).await?;
        let (_response, mut stream) = begin(&mut connection, address, sending)?;
        send_body(&mut stream, sending).await;
        reset_later(&mut stream, wait).await;
        Ok(())
    })
}

async fn reset_later(stream: &mut SendStream<Bytes>, wait: Duration) {
    tokio::time::sleep(wait).await;
    stream.send_reset(Reason::CANCEL);
    tokio::time::sleep(Duration::from_millis(1200)).await;
}

async fn connect(address: SocketAddr) -> Result<SendRequest<Bytes>, Error> {
    let socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let (client, connection) = h2::client::handshake(socket).await?;
    // Its end shows in the answers that are missing.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client.ready().await?)
}

fn begin(
    client: &mut SendRequest<Bytes>,
    address: SocketAddr,
    sending: &Sending<'_>,
) -> Result<(ResponseFuture, SendStream<Bytes>), Error> {
    let request = sending.request;
    let host = request.header("host").map(String::from_utf8_lossy).map_or(address.to_string(), String::from);
    let mut head = http::Request::builder()
        .method(request.method.as_str())
        .uri(format!("http://{host}{}", request.target))
        .version(http::Version::HTTP_2)
        .body(())?;
    for (name, value) in request.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host")) {
        head.headers_mut().append(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_bytes(value)?);
    }
    if sending.declared {
        head.headers_mut().insert("content-length", HeaderValue::from(request.body.len()));
    }
    let has_no_body = sending.pieces.iter().all(|piece| piece.is_empty()) && sending.end == End::WithLastPiece;
    Ok(client.send_request(head, has_no_body)?)
}

async fn send_body(stream: &mut SendStream<Bytes>, sending: &Sending<'_>) {
    send_pieces(stream, sending, sending.end == End::WithLastPiece).await;
    if sending.end == End::EmptyFrame {
        // A server that has answered may have closed the stream.
        let _ = stream.send_data(Bytes::new(), true);
    }
}

/// Sends what the other side takes; it may answer and close before all is sent.
async fn send_pieces(stream: &mut SendStream<Bytes>, sending: &Sending<'_>, last_ends: bool) {
    let count = sending.pieces.len();
    for (index, piece) in sending.pieces.iter().enumerate() {
        if index > 0 && !sending.pause.is_zero() {
            tokio::time::sleep(sending.pause).await;
        }
        let ends = last_ends && index + 1 == count;
        if !send_piece(stream, Bytes::copy_from_slice(piece), ends).await {
            return;
        }
    }
}

async fn send_piece(stream: &mut SendStream<Bytes>, mut piece: Bytes, ends: bool) -> bool {
    while !piece.is_empty() {
        stream.reserve_capacity(piece.len());
        let capacity = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await;
        let Some(Ok(capacity)) = capacity else { return false };
        let part = piece.split_to(capacity.min(piece.len()));
        let is_last = ends && piece.is_empty();
        if stream.send_data(part, is_last).is_err() {
            return false;
        }
        // Lets the connection write the frame, so that it is not merged with the next.
        tokio::task::yield_now().await;
    }
    true
}

async fn receive(response: ResponseFuture) -> Result<Response, Error> {
    let (parts, mut incoming) = response.await?.into_parts();
    let mut response = Response { status: parts.status.as_u16(), is_complete: true, ..Response::default() };
    response.head = Head {
        start: format!("HTTP/2 {}", parts.status.as_u16()),
        fields: parts.headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect(),
    };
    while let Some(piece) = incoming.data().await {
        let Ok(piece) = piece else {
            response.is_complete = false;
            break;
        };
        // The window is only for this stream's data.
        let _ = incoming.flow_control().release_capacity(piece.len());
        response.body.extend_from_slice(&piece);
    }
    Ok(response)
}
