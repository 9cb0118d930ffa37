//! Which of a request's header fields go to the server, and what is said there of the client.
//!
//! Runs after hop-by-hop fields were taken off. Must never let a peer say what the gateway did not see itself.

use std::net::IpAddr;

use http::header::{EXPECT, FORWARDED, ORIGIN};
use http::{HeaderName, HeaderValue};

use super::credentials::Credentials;
use super::fields::Fields;
use crate::protocol::header;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// What the gateway saw of a client.
#[derive(Debug)]
pub struct Client {
    pub ip: Option<IpAddr>,
    /// Whether what it says of others is kept.
    pub is_trusted: bool,
    pub is_tls: bool,
    /// The host that it asked for.
    pub host: Option<HeaderValue>,
}

/// Takes off what is not the server's to see.
///
/// Names with an underscore: servers behind CGI or WSGI take `Content_Type` for `Content-Type`, `X_Real_IP` for
/// `X-Real-IP`; what would so get past us is dropped, as nginx does. Parameters keep their spelling; they were proven
/// under it. `Expect`: the body was asked for here if it was asked for at all. `Origin`: judged here; a server that
/// guards itself would not know our clients' origins.
pub fn strip(head: &mut impl Fields, credentials: &Credentials) {
    head.remove_all(|name| {
        let text = name.as_str();
        text.contains('_') && !text.starts_with(header::PARAM_PREFIX) && !credentials.names().contains(name)
    });
    head.remove(&EXPECT);
    head.remove(&ORIGIN);
}

/// `X-Forwarded-*` says what this gateway saw; what a peer says of others is kept only if the peer is trusted.
pub fn introduce(head: &mut impl Fields, client: &Client) {
    if !client.is_trusted {
        head.remove_all(|name| name.as_str().starts_with("x-forwarded-") || *name == X_REAL_IP || *name == FORWARDED);
    }
    if let Some(chain) = client.ip.and_then(|ip| chain(head, ip)) {
        head.set(&X_FORWARDED_FOR, chain);
    }
    if !head.map().contains_key(X_FORWARDED_PROTO) {
        head.set(&X_FORWARDED_PROTO, HeaderValue::from_static(if client.is_tls { "https" } else { "http" }));
    }
    if let (false, Some(host)) = (head.map().contains_key(X_FORWARDED_HOST), &client.host) {
        head.set(&X_FORWARDED_HOST, host.clone());
    }
}

/// The addresses so far, in one field, and this one.
fn chain(head: &impl Fields, ip: IpAddr) -> Option<HeaderValue> {
    let before = head.map().get_all(X_FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
    let mut chain = String::new();
    for hop in before {
        chain.push_str(hop);
        chain.push_str(", ");
    }
    chain.push_str(&ip.to_string());
    HeaderValue::from_str(&chain).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Nothing};
    use http::HeaderMap;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn what_is_not_the_servers_to_see() {
        let text = "[servers.s]\nendpoints = [\"http://a/\"]\ncredential_headers = [\"api_key\"]";
        let credentials = Credentials::of(&config::parse(text, "test", &Nothing).unwrap().servers[0]).unwrap();
        let mut head = map(&[
            ("content_type", "x"),
            ("x_real_ip", "1"),
            ("api_key", "k"),
            ("mcp-param-dry_run", "true"),
            ("expect", "100-continue"),
            ("origin", "http://a"),
            ("mcp-name", "n"),
            ("x-other", "y"),
        ]);
        strip(&mut head, &credentials);
        let kept = [("api_key", "k"), ("mcp-param-dry_run", "true"), ("mcp-name", "n"), ("x-other", "y")];
        assert_eq!(head, map(&kept));
    }

    #[test]
    fn hearsay_is_kept_from_trusted_peers_alone() {
        let said = [
            ("x-forwarded-for", "1.1.1.1"),
            ("x-forwarded-for", "2.2.2.2, 3.3.3.3"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "a.example"),
            ("x-forwarded-port", "1"),
            ("x-real-ip", "1.1.1.1"),
            ("forwarded", "for=1.1.1.1"),
        ];
        let client = |is_trusted| Client {
            ip: Some([10, 0, 0, 1].into()),
            is_trusted,
            is_tls: false,
            host: Some(HeaderValue::from_static("b.example")),
        };
        let mut head = map(&said);
        introduce(&mut head, &client(false));
        let own = [("x-forwarded-for", "10.0.0.1"), ("x-forwarded-proto", "http"), ("x-forwarded-host", "b.example")];
        assert_eq!(head, map(&own));
        let mut head = map(&said);
        introduce(&mut head, &client(true));
        assert_eq!(head["x-forwarded-for"], "1.1.1.1, 2.2.2.2, 3.3.3.3, 10.0.0.1");
        for (name, value) in &said[2..] {
            assert_eq!(head[*name], *value);
        }
        let mut head = HeaderMap::new();
        introduce(&mut head, &Client { ip: None, host: None, is_tls: true, is_trusted: true });
        assert_eq!(head, map(&[("x-forwarded-proto", "https")]));
    }
}
