//! The URL of one MCP endpoint, taken apart.
//!
//! Pure. Must accept nothing that the request line or the `Host` header could not carry as it stands.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::complaint::Fault;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Where one copy of a server answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    pub scheme: Scheme,
    /// A host name in lower case or an address, that of IPv6 without its brackets.
    pub host: String,
    pub port: u16,
    /// Begins with `/`; no query.
    pub path: String,
}

impl Endpoint {
    /// What `Host` and `:authority` say: the port only if it is not the scheme's own.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.scheme.default_port() { host } else { format!("{host}:{}", self.port) }
    }

    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        let bad = |why: &str, help: &str| Fault::new(format!("\"{text}\" is not an endpoint: {why}"), help);
        let like = "write it like \"http://10.0.0.7:9000/mcp\" or \"https://sql.example/mcp\"";
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Scheme::Http, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Scheme::Https, rest),
            Some(_) => return Err(bad("the scheme is neither http nor https", like)),
            None => return Err(bad("there is no scheme", like)),
        };
        if rest.contains(['?', '#']) {
            return Err(bad("it has a query or a fragment", "remove everything from the `?` or `#` on"));
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') {
            // Not quoted: beside the name there may be a password.
            return Err(Fault::new("an endpoint holds a user name", "remove it and use `authorization` or `headers`"));
        }
        let (host, port) = split_port(authority).ok_or_else(|| bad("the port is no number from 1 to 65535", like))?;
        let host = host_name(host).ok_or_else(|| bad("the host is no host name and no address", like))?;
        let path = if path.is_empty() { "/" } else { path };
        if path.parse::<http::uri::PathAndQuery>().is_err() || !path.is_ascii() {
            return Err(bad("the path has characters that a URL cannot hold", "write them as %XX"));
        }
        Ok(Self { scheme, host, port: port.unwrap_or(scheme.default_port()), path: path.to_owned() })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.as_str(), self.authority(), self.path)
    }
}

/// Host and port of an authority; `None` if what follows the colon is no port.
pub(super) fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let after_brackets = authority.find(']').map_or(0, |end| end + 1);
    let Some(colon) = authority.get(after_brackets..)?.find(':') else { return Some((authority, None)) };
    let (host, port) = authority.split_at_checked(after_brackets + colon)?;
    let port = port.get(1..)?;
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    port.parse().ok().filter(|port| *port != 0).map(|port| (host, Some(port)))
}

/// A host name or an address as it is kept, or `None` if it is neither.
pub(super) fn host_name(text: &str) -> Option<String> {
    if let Some(inner) = text.strip_prefix('[') {
        return inner.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(|ip| ip.to_string());
    }
    // What looks like an IPv4 address must be one: resolvers read "10.1" in surprising ways.
    if text.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit())) {
        return text.parse::<Ipv4Addr>().ok().map(|ip| ip.to_string());
    }
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    (name.len() <= 253 && name.split('.').all(label)).then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        for (text, scheme, host, port, path, shown) in [
            ("http://10.0.0.7:9000/mcp", Scheme::Http, "10.0.0.7", 9000, "/mcp", "http://10.0.0.7:9000/mcp"),
            ("https://SQL.example/mcp", Scheme::Https, "sql.example", 443, "/mcp", "https://sql.example/mcp"),
            ("HTTP://a:80", Scheme::Http, "a", 80, "/", "http://a/"),
            ("http://[::1]:9/", Scheme::Http, "::1", 9, "/", "http://[::1]:9/"),
            ("https://[2001:DB8::1]/x%20y", Scheme::Https, "2001:db8::1", 443, "/x%20y", "https://[2001:db8::1]/x%20y"),
            ("http://my_host.svc.:1/a/b/", Scheme::Http, "my_host.svc.", 1, "/a/b/", "http://my_host.svc.:1/a/b/"),
        ] {
            let endpoint = Endpoint::parse(text).expect(text);
            let expected = Endpoint { scheme, host: host.to_owned(), port, path: path.to_owned() };
            assert_eq!(endpoint, expected, "{text}");
            assert_eq!(endpoint.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        for text in [
            "",
            "http://",
            "sql.example/mcp",
            "10.0.0.7:9000",
            "ftp://a/",
            "http:///mcp",
            "http://a:0/",
            "http://a:x/",
            "http://a:/",
            "http://a:65536/",
            "http://a:+1/",
            "http://u@a/",
            "http://u:p@a/",
            "http://a/?q",
            "http://a/#f",
            "http://a?q",
            "http://a b/",
            "http://a/b c",
            "http://a/\n",
            "http://10.1/",
            "http://256.1.1.1/",
            "http://0x7f.1/",
            "http://[::1/",
            "http://::1/",
            "http://[::1]x/",
            "http://bücher.example/",
            "http://-a/",
            "http://a..b/",
            "http://a/bücher",
            "unix:///run/x",
        ] {
            assert!(Endpoint::parse(text).is_err(), "{text} was accepted");
        }
    }
}
