//! How a connection begins: with HTTP/1.1 or HTTP/2, told apart before a byte is taken.

use std::time::Duration;

use pingora::protocols::{ALPN, Stream};

/// What only the preface of HTTP/2 begins with (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI";

pub(super) enum Begins {
    Http1,
    Http2,
    /// With too little in too long a time.
    Late,
    /// With nothing, or not at all.
    Not,
}

/// One byte tells HTTP/2 from everything but `POST`, `PUT` and the like, three tell it from those.
pub(super) async fn begins(stream: &mut Stream, time: Duration) -> Begins {
    if matches!(stream.selected_alpn_proto(), Some(ALPN::H2)) {
        return Begins::Http2;
    }
    let mut first = [0; 1];
    match tokio::time::timeout(time, stream.try_peek(&mut first)).await {
        Ok(Ok(true)) if first != PREFACE[..1] => return Begins::Http1,
        Ok(Ok(true)) => {}
        Ok(Ok(false)) => return Begins::Http1,
        Ok(Err(_)) | Err(_) => return Begins::Not,
    }
    let mut start = [0; PREFACE.len()];
    match tokio::time::timeout(time, stream.try_peek(&mut start)).await {
        Ok(Ok(_)) if start == PREFACE => Begins::Http2,
        Ok(Ok(_)) => Begins::Http1,
        Ok(Err(_)) => Begins::Not,
        Err(_) => Begins::Late,
    }
}
