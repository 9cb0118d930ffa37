//! What pingora lets through although two HTTP parsers could read it differently.

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, Version};

use crate::protocol::header;
use crate::refusal::Refusal;

/// RFC 9112, sections 3.2 (Host), 6.1 and 6.3 (length), and RFC 9110, 7.6.1 (`Connection`).
pub fn check(head: &Parts) -> Result<(), Refusal> {
    let headers = &head.headers;
    if head.version == Version::HTTP_11 && headers.get_all(HOST).iter().count() != 1 {
        return Err(Refusal::Framing("send exactly one Host header"));
    }
    if headers.get_all(CONTENT_LENGTH).iter().count() > 1 {
        return Err(Refusal::Framing("send Content-Length once"));
    }
    if headers.get(CONTENT_LENGTH).is_some_and(|length| !is_plain_number(length.as_bytes())) {
        return Err(Refusal::Framing("Content-Length must be one plain number"));
    }
    check_transfer_coding(headers)?;
    if connection_names_judged_header(headers) {
        return Err(Refusal::Connection);
    }
    Ok(())
}

fn is_plain_number(value: &[u8]) -> bool {
    let digits = value.trim_ascii();
    !digits.is_empty() && digits.len() < 20 && digits.iter().all(u8::is_ascii_digit)
}

fn check_transfer_coding(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else { return Ok(()) };
    if headers.contains_key(CONTENT_LENGTH) {
        return Err(Refusal::Framing("send either Content-Length or Transfer-Encoding"));
    }
    if codings.next().is_some() || !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") {
        return Err(Refusal::Framing("the only transfer coding taken here is chunked"));
    }
    Ok(())
}

/// What was judged here must reach the server: a header that `Connection` names is stripped on the way.
const JUDGED: [&[u8]; 4] = [b"content-type", b"accept", b"content-encoding", b"host"];

fn connection_names_judged_header(headers: &HeaderMap) -> bool {
    headers.get_all(CONNECTION).iter().any(|value| {
        value.as_bytes().split(|byte| *byte == b',').any(|option| {
            let option = option.trim_ascii();
            let start = option.get(..header::PREFIX.len()).unwrap_or_default();
            start.eq_ignore_ascii_case(header::PREFIX.as_bytes())
                || JUDGED.iter().any(|name| option.eq_ignore_ascii_case(name))
        })
    })
}
