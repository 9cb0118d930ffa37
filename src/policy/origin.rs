//! Browsers: which origins may call, and what they are told (CORS).

use http::header::{ACCESS_CONTROL_REQUEST_HEADERS, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::refusal::Refusal;

/// Header names that a preflight always allows, besides those it asks for.
const ALWAYS_ALLOWED: &str = "Content-Type, Accept, Authorization, MCP-Protocol-Version, Mcp-Method, Mcp-Name";

/// An allowed origin, and so the right to read our answers.
#[derive(Clone, Debug)]
pub struct Cors {
    pub origin: HeaderValue,
}

impl Cors {
    /// `Access-Control-Allow-Headers` for a preflight: what is always allowed and what was asked for, if those are names.
    pub fn allowed_headers(headers: &HeaderMap) -> String {
        let mut allowed = ALWAYS_ALLOWED.to_owned();
        let asked = headers.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter();
        for name in asked.flat_map(|value| value.to_str().unwrap_or_default().split(',')) {
            if let Ok(name) = HeaderName::from_bytes(name.trim().as_bytes()) {
                allowed.push_str(", ");
                allowed.push_str(name.as_str());
            }
        }
        allowed
    }
}

/// An absent Origin is no browser's; a present one must be known ("Security & Endpoint", 1).
pub(super) fn check(headers: &HeaderMap, allowed: &[String], loopback: bool) -> Result<Option<Cors>, Refusal> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let Some(origin) = origins.next() else { return Ok(None) };
    let text = origin.to_str().map_err(|_| Refusal::Origin)?;
    let known = allowed.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(text))
        || (loopback && is_loopback_origin(text));
    if origins.next().is_some() || !known {
        return Err(Refusal::Origin);
    }
    Ok(Some(Cors { origin: origin.clone() }))
}

fn is_loopback_origin(origin: &str) -> bool {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(|host| is_loopback_name(without_port(host)))
}

/// The host of `host[:port]`, brackets of IPv6 kept off; what is neither is left as it stands, and is nobody's name.
pub(super) fn without_port(host: &str) -> &str {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, "")) => (name, "0"),
        Some((name, rest)) => (name, rest.strip_prefix(':').unwrap_or("x")),
        None => host.split_once(':').unwrap_or((host, "0")),
    };
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if is_port { name } else { host }
}

pub(super) fn is_loopback_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
