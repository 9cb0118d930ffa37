//! What only the file as a whole can show: names that could be confused, listeners used twice, credentials lent.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::complaint::Span;
use super::reading::Reading;
use super::settings::is_loopback;
use super::tree::{Entry, Node, Table, Value};

pub(super) fn check(file: &Table, reading: &mut Reading<'_>) {
    listeners(file, reading);
    let Some(Node { value: servers, .. }) = file.node("servers") else { return no_servers(None, reading) };
    let Value::Table(servers) = servers else { return };
    if servers.entries.is_empty() {
        return no_servers(file.entry("servers"), reading);
    }
    prefixes(servers, reading);
    lent_credentials(file, servers, reading);
}

fn no_servers(entry: Option<&Entry>, reading: &mut Reading<'_>) {
    let span = entry.map(|entry| entry.name_span).unwrap_or_default();
    let help = "add `[servers.github]` and in it `endpoints = [\"http://127.0.0.1:9000/mcp\"]`";
    reading.findings.add_absence(span, "there are no servers", help);
}

/// Servers by prefix. A prefix holds no `_`, so that only equal ones can be confused.
fn prefixes(servers: &Table, reading: &mut Reading<'_>) {
    let mut first: HashMap<&str, (&str, Span)> = HashMap::new();
    for entry in &servers.entries {
        let Value::Table(server) = &entry.node.value else { continue };
        let (prefix, span) = match server.node("prefix") {
            Some(Node { value: Value::Text(prefix), span }) => (prefix.as_str(), *span),
            Some(_) => continue,
            None => (entry.name.as_str(), entry.name_span),
        };
        let Some((other, other_span)) = first.get(prefix).copied() else {
            first.insert(prefix, (&entry.name, span));
            continue;
        };
        let message = match prefix {
            "" => format!("servers `{other}` and `{}` both pass names unchanged: only one can", entry.name),
            _ => format!("servers `{other}` and `{}` have the same prefix \"{prefix}\"", entry.name),
        };
        let line = reading.lines.number(other_span.start);
        let help = format!("give one of them a `prefix` of its own; the other is on line {line}");
        reading.findings.add(span, message, help);
    }
}

fn listeners(file: &Table, reading: &mut Reading<'_>) {
    let mut bound: Vec<(SocketAddr, Span)> = Vec::new();
    let mut all = gateway_listeners(file);
    all.extend(admin_listener(file));
    all.sort_by_key(|(_, span)| span.start);
    for (address, span) in all {
        if let Some((other, first)) = bound.iter().find(|(other, _)| collide(*other, address)) {
            let message = if *other == address {
                format!("{address} is listened on twice")
            } else {
                format!("{address} and {other} cannot both be listened on: one includes the other")
            };
            // A default of a table that is not there has no place.
            let other_place = match first {
                Span { start: 0, end: 0 } => "the other is the default of `gateway.listen`".to_owned(),
                first => format!("the other is on line {}", reading.lines.number(first.start)),
            };
            let help = format!("give it another port, or remove it; {other_place}");
            reading.findings.add(span, message, help);
        }
        bound.push((address, span));
    }
}

fn gateway_listeners(file: &Table) -> Vec<(SocketAddr, Span)> {
    let gateway = file.node("gateway").map(|node| &node.value);
    let Some(Value::Table(gateway)) = gateway else { return Vec::new() };
    let Some(Value::List(listen)) = gateway.node("listen").map(|node| &node.value) else { return Vec::new() };
    listen.iter().filter_map(socket).collect()
}

fn admin_listener(file: &Table) -> Option<(SocketAddr, Span)> {
    let Value::Table(admin) = &file.node("admin")?.value else { return None };
    socket(admin.node("listen")?)
}

fn socket(node: &Node) -> Option<(SocketAddr, Span)> {
    let Value::Text(text) = &node.value else { return None };
    text.parse().ok().map(|address| (address, node.span))
}

/// Port 0 is any free one. `[::]` takes IPv4 too on most systems.
fn collide(a: SocketAddr, b: SocketAddr) -> bool {
    let includes = |a: SocketAddr, b: SocketAddr| a.ip().is_unspecified() && (a.is_ipv6() || b.is_ipv4());
    a.port() == b.port() && a.port() != 0 && (a.ip() == b.ip() || includes(a, b) || includes(b, a))
}

/// A credential of the gateway's own is lent to whoever reaches a listener, so that must be meant.
fn lent_credentials(file: &Table, servers: &Table, reading: &mut Reading<'_>) {
    let Some(Value::Table(gateway)) = file.node("gateway").map(|node| &node.value) else { return };
    let open = gateway_listeners(file).into_iter().find(|(address, _)| !is_loopback(address));
    let Some((address, _)) = open else { return };
    let unauthenticated = gateway.node("unauthenticated").map(|node| &node.value);
    if gateway.entry("bearer_file").is_some() || !matches!(unauthenticated, Some(Value::Boolean(false))) {
        return;
    }
    for span in servers.entries.iter().flat_map(own_credentials) {
        let message = format!("this credential would be lent to anyone who reaches {address}");
        let help = "let clients authenticate by `bearer_file` in [gateway], listen on a loopback address, \
                    or write `unauthenticated = true` in [gateway]";
        reading.findings.add(span, message, help);
    }
}

/// Where a server is given a credential of the gateway's own.
fn own_credentials(server: &Entry) -> Vec<Span> {
    let Value::Table(server) = &server.node.value else { return Vec::new() };
    let mut spans = Vec::new();
    if let Some(Node { value: Value::Table(bearer), .. }) = server.node("authorization") {
        let keys = bearer.entries.iter().filter(|entry| entry.name == "bearer_env" || entry.name == "bearer_file");
        spans.extend(keys.map(|entry| entry.name_span));
    }
    if let Some(Node { value: Value::Table(headers), .. }) = server.node("headers") {
        let credential =
            |entry: &&Entry| ["authorization", "cookie"].contains(&entry.name.to_ascii_lowercase().as_str());
        spans.extend(headers.entries.iter().filter(credential).map(|entry| entry.name_span));
    }
    spans
}
