//! What single texts of the file mean: addresses, origins, names, tokens.
//!
//! Pure functions from a text to a value or a fault. Must know no key.

use std::net::{IpAddr, SocketAddr};

use http::HeaderName;
use ipnet::IpNet;

use super::complaint::Fault;
use super::endpoint::{host_name, split_port};

/// The longest name of a server, a prefix or a route, in characters.
const MAX_NAME: usize = 32;

pub(super) fn socket(text: &str) -> Result<SocketAddr, Fault> {
    let address = address_and_port(text)?;
    if address.port() == 0 {
        return Err(Fault::new(format!("\"{text}\" names no port"), "write the port that clients connect to"));
    }
    Ok(address)
}

fn address_and_port(text: &str) -> Result<SocketAddr, Fault> {
    text.parse().map_err(|_| {
        let help = match (text.strip_prefix("localhost"), text.strip_prefix(':')) {
            _ if text.parse::<IpAddr>().is_ok() => {
                "write the port too, as in \"127.0.0.1:8080\" or \"[::1]:8080\"".into()
            }
            (Some(port), _) => format!("write the address: \"127.0.0.1{port}\""),
            (_, Some(port)) => format!("write the address too: \"127.0.0.1:{port}\", or \"0.0.0.0:{port}\" for all"),
            _ => "write an address and a port, as in \"127.0.0.1:8080\" or \"[::1]:8080\"".to_owned(),
        };
        Fault::new(format!("\"{text}\" is not an address with a port"), help)
    })
}

pub(super) fn network(text: &str) -> Result<IpNet, Fault> {
    let network = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    network.map(|network| network.trunc()).ok_or_else(|| {
        Fault::new(format!("\"{text}\" is not an address or a network"), "write it like \"10.0.0.7\" or \"10.0.0.0/8\"")
    })
}

/// The path of the merged endpoint, without a slash at its end.
pub(super) fn mount(text: &str) -> Result<String, Fault> {
    let bad = |why: &str, help: &str| Fault::new(format!("\"{text}\" cannot be the path: {why}"), help);
    if !text.starts_with('/') {
        return Err(bad("it does not begin with `/`", "write it like \"/mcp\""));
    }
    if text.contains(['?', '#']) {
        return Err(bad("it has a query or a fragment", "write it like \"/mcp\""));
    }
    if !text.is_ascii() || text.parse::<http::uri::PathAndQuery>().is_err() {
        return Err(bad("it has characters that a URL cannot hold", "write them as %XX"));
    }
    let path = text.trim_end_matches('/');
    if path.contains("//") {
        return Err(bad("it has an empty segment", "write one `/` between segments"));
    }
    if path == "/.well-known" || path.starts_with("/.well-known/") {
        return Err(bad("`/.well-known` is kept for metadata", "write it like \"/mcp\""));
    }
    Ok(if path.is_empty() { "/".to_owned() } else { path.to_owned() })
}

pub(super) fn origin(text: &str) -> Result<String, Fault> {
    let like = "write scheme, host and port alone, as in \"https://app.example\", or \"*\"";
    let bad = |help: &str| Fault::new(format!("\"{text}\" is not an origin"), help);
    if text == "*" {
        return Ok(text.to_owned());
    }
    let (scheme, authority) = text.split_once("://").ok_or_else(|| bad(like))?;
    if let Some((authority, _)) = authority.split_once(['/', '?', '#']) {
        return Err(bad(&format!("write it without a path: \"{scheme}://{authority}\"")));
    }
    let lawful_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let host = split_port(authority).and_then(|(host, _)| host_name(host));
    if lawful_scheme && host.is_some() { Ok(text.to_owned()) } else { Err(bad(like)) }
}

/// A host name without a port.
pub(super) fn host(text: &str) -> Result<String, Fault> {
    let bare = text.parse::<std::net::Ipv6Addr>().ok().map(|ip| ip.to_string());
    bare.or_else(|| host_name(text)).ok_or_else(|| {
        let help = match split_port(text) {
            Some((name, Some(_))) if host_name(name).is_some() => format!("write it without the port: \"{name}\""),
            _ => "write a name or an address alone, as in \"mcp.local\" or \"[::1]\"".to_owned(),
        };
        Fault::new(format!("\"{text}\" is not a host name"), help)
    })
}

/// An absolute http or https URL, kept as it is written.
pub(super) fn url(text: &str) -> Result<String, Fault> {
    let lawful = text.parse::<http::Uri>().is_ok_and(|uri| {
        let host = uri.host().and_then(host_name);
        matches!(uri.scheme_str(), Some("http" | "https")) && host.is_some()
    });
    if lawful && !text.contains(['#', '@']) {
        return Ok(text.to_owned());
    }
    Err(Fault::new(format!("\"{text}\" is not a URL"), "write it like \"https://login.example\""))
}

/// The name of a server, a prefix or a route: `what`, with its article.
pub(super) fn name(text: &str, what: &str) -> Result<String, Fault> {
    let lawful = text.starts_with(|c: char| c.is_ascii_lowercase())
        && !text.ends_with('-')
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if lawful && text.len() <= MAX_NAME {
        return Ok(text.to_owned());
    }
    let message = format!("\"{text}\" cannot be {what}");
    let suggestion = lawful_like(text);
    let rule = "a letter from a to z, then such letters, digits and `-`, no `-` at the end; at most 32 characters";
    let help = match suggestion.as_str() {
        "" => format!("write {rule}"),
        _ => format!("write for example \"{suggestion}\": {rule}"),
    };
    Err(Fault::new(message, help))
}

/// What a name may have been meant to be, or nothing.
fn lawful_like(text: &str) -> String {
    let dashed = text.to_lowercase().replace(['_', '.', ' ', '/'], "-");
    let kept: String = dashed.chars().filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-').collect();
    let kept = kept.trim_start_matches(|c: char| !c.is_ascii_lowercase());
    let kept: String = kept.chars().take(MAX_NAME).collect();
    kept.trim_end_matches('-').to_owned()
}

/// The part of a parameter's header after `Mcp-Param-`.
pub(super) fn parameter(text: &str) -> Result<String, Fault> {
    if text.get(..10).is_some_and(|start| start.eq_ignore_ascii_case("mcp-param-")) {
        let rest = text.get(10..).unwrap_or_default();
        let message = format!("`{text}` names the header, not the parameter");
        return Err(Fault::new(message, format!("write what follows `Mcp-Param-`: `{rest}`")));
    }
    match HeaderName::from_bytes(text.as_bytes()) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(not_a_token(text, "a parameter's name")),
    }
}

pub(super) fn header(text: &str) -> Result<HeaderName, Fault> {
    HeaderName::from_bytes(text.as_bytes()).map_err(|_| not_a_token(text, "a header's name"))
}

fn not_a_token(text: &str, what: &str) -> Fault {
    let help = "write letters, digits and any of !#$%&'*+-.^_`|~ (an HTTP token)";
    Fault::new(format!("\"{text}\" cannot be {what}"), help)
}

/// A dotted path in a tool's arguments.
pub(super) fn argument_path(text: &str) -> Result<Vec<String>, Fault> {
    let path: Vec<String> = text.split('.').map(str::to_owned).collect();
    if path.iter().any(String::is_empty) {
        let message = format!("\"{text}\" is not a path to an argument");
        return Err(Fault::new(message, "write names with dots between them, as in \"filter.tenant\""));
    }
    Ok(path)
}

/// A scope as RFC 6749, section 3.3, writes it.
pub(super) fn scope(text: &str) -> Result<String, Fault> {
    let lawful = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte));
    if lawful {
        return Ok(text.to_owned());
    }
    Err(Fault::new(format!("\"{text}\" is not a scope"), "write visible ASCII without spaces, quotes and backslashes"))
}

#[cfg(test)]
mod tests;
