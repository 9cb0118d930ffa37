//! Which of a server's header fields go to the client.

use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CONNECTION, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::fields::Fields;
use super::origin::Cors;

const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What servers say that is not theirs to say to this gateway's clients.
const DROPPED: [&str; 5] = ["set-cookie", "alt-svc", "strict-transport-security", "clear-site-data", "mcp-session-id"];

/// What speaks of one connection alone (RFC 9110, 7.6.1), but for what frames the body.
const HOP_BY_HOP: [&str; 7] =
    ["connection", "keep-alive", "proxy-connection", "proxy-authenticate", "te", "trailer", "upgrade"];
const FRAMING: [&str; 2] = ["transfer-encoding", "content-length"];

/// Headers of ours that a browser's script may read besides the simple ones.
const EXPOSED: HeaderValue = HeaderValue::from_static("WWW-Authenticate, Retry-After");

/// Takes off what is not the client's to see.
pub fn strip(head: &mut impl Fields) {
    let options = head.map().get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let options = options.flat_map(|value| value.split(','));
    let named: Vec<String> = options.map(|name| name.trim().to_ascii_lowercase()).collect();
    head.remove_all(|name| {
        let name = name.as_str();
        DROPPED.contains(&name)
            || HOP_BY_HOP.contains(&name)
            || name.starts_with("access-control-")
            // What frames the body is written anew, whatever the server says of it.
            || (named.iter().any(|other| other == name) && !FRAMING.contains(&name))
    });
}

/// An allowed browser origin may read the answer.
pub fn allow_origin(head: &mut impl Fields, cors: Option<&Cors>) {
    let Some(cors) = cors else { return };
    head.set(&ACCESS_CONTROL_ALLOW_ORIGIN, cors.origin.clone());
    head.set(&ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    head.add(&VARY, HeaderValue::from_static("Origin"));
}

/// Events must not wait in a proxy before us ("Sending Messages to the Server").
pub fn forbid_buffering(head: &mut impl Fields) {
    head.set(&X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
}

pub fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.and_then(|kind| kind.get(..17)).is_some_and(|kind| kind.eq_ignore_ascii_case(b"text/event-stream"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn what_is_not_the_clients_to_see() {
        let kept = [
            ("content-type", "application/json"),
            ("content-length", "3"),
            ("transfer-encoding", "chunked"),
            ("www-authenticate", "Bearer"),
            ("retry-after", "1"),
            ("vary", "Accept"),
            ("x-other", "y"),
        ];
        let dropped = [
            ("set-cookie", "a=b"),
            ("alt-svc", "h3"),
            ("strict-transport-security", "max-age=1"),
            ("clear-site-data", "*"),
            ("mcp-session-id", "s"),
            ("access-control-allow-origin", "*"),
            ("access-control-max-age", "1"),
            ("keep-alive", "timeout=1"),
            ("proxy-authenticate", "Basic"),
            ("connection", "close, X-Hop"),
            ("connection", "Content-Length, Transfer-Encoding"),
            ("x-hop", "1"),
        ];
        let mut head = map(&[&kept[..], &dropped[..]].concat());
        strip(&mut head);
        assert_eq!(head, map(&kept));
    }

    #[test]
    fn an_allowed_origin_may_read_and_nobody_else() {
        let mut head = map(&[("vary", "Accept")]);
        allow_origin(&mut head, None);
        assert_eq!(head, map(&[("vary", "Accept")]));
        allow_origin(&mut head, Some(&Cors { origin: HeaderValue::from_static("https://a") }));
        let expected = [
            ("vary", "Accept"),
            ("vary", "Origin"),
            ("access-control-allow-origin", "https://a"),
            ("access-control-expose-headers", "WWW-Authenticate, Retry-After"),
        ];
        assert_eq!(head, map(&expected));
    }

    #[test]
    fn a_stream_is_known_by_its_type() {
        for (kind, is_stream) in [
            ("text/event-stream", true),
            ("Text/Event-Stream; charset=utf-8", true),
            ("application/json", false),
            ("text/event", false),
        ] {
            assert_eq!(is_event_stream(&map(&[("content-type", kind)])), is_stream, "{kind}");
        }
        assert!(!is_event_stream(&HeaderMap::new()));
    }
}
