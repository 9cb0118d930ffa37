//! One `[servers.NAME]`.

use http::HeaderName;
use http::header::AUTHORIZATION;

use super::complaint::{Fault, Span, Told};
use super::endpoint::Endpoint;
use super::offer;
use super::reading::{Reading, all};
use super::route;
use super::secrets;
use super::settings::{AddedHeader, Authorization, Parameter, Secret, Server, ServerTimeouts, Source};
use super::texts;
use super::tree::{Entry, Node, Table, Value};

/// Headers that belong to one connection (RFC 9110, section 7.6.1, and what was used so before it).
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers that say what the message is, or that the gateway sets itself.
const OWN: [&str; 11] = [
    "accept",
    "accept-encoding",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "forwarded",
    "host",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
];

pub(super) fn server(entry: &Entry, reading: &mut Reading<'_>) -> Result<Server, Told> {
    let name = texts::name(&entry.name, "the name of a server");
    let name = name.map_err(|fault| reading.findings.add_fault(entry.name_span, fault));
    let table = match &entry.node.value {
        Value::Table(table) => table,
        Value::Broken(told) => return Err(*told),
        _ => return Err(reading.findings.add(entry.name_span, "the server is not a table", "write `[servers.name]`")),
    };
    let prefix = prefix(table, &name, reading);
    let endpoints = table.entry("endpoints").map(|_| reading.some_texts(table, "endpoints", Endpoint::parse));
    let authorization = authorization(table, reading);
    let credential_headers = reading.texts(table, "credential_headers", credential_header);
    let headers = added_headers(table, reading);
    let timeouts = timeouts(table, reading);
    let expose = reading.boolean(table, "expose");
    let params = parameters(table, reading);
    let rules_ttl = reading.duration(table, "rules_ttl");
    let tools = offer::tools(table, reading);
    let cache = offer::cache(table, reading);
    let required = reading.boolean(table, "required");
    let validation = offer::validation(table, reading);
    let uris = offer::uris(table, reading);
    let routes = route::routes(table, reading);
    pools(entry, table, reading);
    headers_agree(table, reading);
    Ok(Server {
        name: name?,
        prefix: prefix?,
        endpoints: endpoints.transpose()?.unwrap_or_default(),
        authorization: authorization?,
        credential_headers: credential_headers?,
        headers: headers?,
        timeouts: timeouts?,
        expose: expose?,
        params: params?,
        rules_ttl: rules_ttl?,
        tools: tools?,
        cache: cache?,
        required: required?,
        validation: validation?,
        uris: uris?,
        routes: routes?,
    })
}

fn prefix(table: &Table, name: &Result<String, Told>, reading: &mut Reading<'_>) -> Result<String, Told> {
    if table.entry("prefix").is_none() {
        return name.clone();
    }
    let (text, span) = reading.text(table, "prefix")?;
    if text.is_empty() {
        return Ok(String::new());
    }
    texts::name(text, "a prefix").map_err(|fault| reading.findings.add_fault(span, fault))
}

fn authorization(table: &Table, reading: &mut Reading<'_>) -> Result<Authorization, Told> {
    match table.node("authorization") {
        Some(Node { value: Value::Table(bearer), span }) => secrets::bearer(bearer, *span, reading),
        _ => match reading.text(table, "authorization")? {
            ("forward", _) => Ok(Authorization::Forward),
            _ => Ok(Authorization::Strip),
        },
    }
}

/// `forward` sends the credential headers, so it would forward nothing without this one.
fn headers_agree(table: &Table, reading: &mut Reading<'_>) {
    let Some(Node { value: Value::Text(word), span }) = table.node("authorization") else { return };
    let Some(Node { value: Value::List(names), .. }) = table.node("credential_headers") else { return };
    let is_authorization = |node: &Node| match &node.value {
        Value::Text(name) => name.eq_ignore_ascii_case(AUTHORIZATION.as_str()),
        Value::Broken(_) => true,
        _ => false,
    };
    if word == "forward" && !names.iter().any(is_authorization) {
        let message = "`authorization = \"forward\"` without \"authorization\" in `credential_headers`";
        reading.findings.add(*span, message, "add \"authorization\" to `credential_headers`, or write \"strip\"");
    }
}

fn credential_header(text: &str) -> Result<HeaderName, Fault> {
    let name = texts::header(text)?;
    // These two are hop-by-hop or of older revisions, yet they do identify a caller where they are named here.
    let allowed = ["proxy-authorization", "mcp-session-id"].contains(&name.as_str());
    if let (false, Some(why)) = (allowed, forbidden(&name)) {
        let message = format!("`{name}` cannot identify a caller: {why}");
        return Err(Fault::new(message, "name headers such as \"authorization\", \"cookie\" or \"x-api-key\""));
    }
    Ok(name)
}

fn added_headers(table: &Table, reading: &mut Reading<'_>) -> Result<Vec<AddedHeader>, Told> {
    let headers = reading.table(table, "headers")?;
    let mut seen: Vec<(HeaderName, Span)> = Vec::new();
    let added = headers.entries.iter().map(|entry| {
        let name = added_name(entry, table, reading).and_then(|name| {
            first_of_its_name(name.clone(), entry, &mut seen, reading)?;
            Ok(name)
        });
        let (value, source) = added_value(&entry.node, reading)?;
        Ok(AddedHeader { name: name?, value, source })
    });
    all(added.collect())
}

fn added_name(entry: &Entry, server: &Table, reading: &mut Reading<'_>) -> Result<HeaderName, Told> {
    let span = entry.name_span;
    let name = texts::header(&entry.name).map_err(|fault| reading.findings.add_fault(span, fault))?;
    if let Some(why) = forbidden(&name) {
        let message = format!("`{}` cannot be added: {why}", entry.name);
        return Err(reading.findings.add(span, message, "remove it"));
    }
    let stripped =
        matches!(server.node("authorization"), Some(Node { value: Value::Text(word), .. }) if word == "strip");
    if name == AUTHORIZATION && !stripped {
        let message = format!("`{}` is what `authorization` sets", entry.name);
        return Err(reading.findings.add(span, message, "remove it here, or remove `authorization`"));
    }
    Ok(name)
}

fn first_of_its_name(
    name: HeaderName,
    entry: &Entry,
    seen: &mut Vec<(HeaderName, Span)>,
    reading: &mut Reading<'_>,
) -> Result<(), Told> {
    if let Some((_, first)) = seen.iter().find(|(other, _)| *other == name) {
        let line = reading.lines.number(first.start);
        let message = format!("`{}` is the header of line {line} again: names compare without case", entry.name);
        return Err(reading.findings.add(entry.name_span, message, "remove one of the two"));
    }
    seen.push((name, entry.name_span));
    Ok(())
}

fn added_value(node: &Node, reading: &mut Reading<'_>) -> Result<(Secret, Source), Told> {
    let (text, source) = match &node.value {
        Value::Text(text) => (text.clone(), Source::Written),
        Value::Table(table) => {
            let (name, span) = reading.text(table, "env")?;
            (secrets::variable(name, span, reading)?, Source::Variable(name.to_owned()))
        }
        Value::Broken(told) => return Err(*told),
        _ => return Err(reading.findings.add(node.span, "the value is no string", "write a string")),
    };
    let value = secrets::header_value(&text).ok_or_else(|| {
        let help = "let it be visible ASCII, spaces and tabs";
        reading.findings.add(node.span, "the value cannot stand in a header", help)
    })?;
    Ok((value, source))
}

/// Why nobody but the gateway itself may set this header.
fn forbidden(name: &HeaderName) -> Option<&'static str> {
    let name = name.as_str();
    if HOP_BY_HOP.contains(&name) {
        Some("it belongs to one connection (hop-by-hop)")
    } else if OWN.contains(&name) {
        Some("the gateway sets it itself")
    } else if name.starts_with("mcp-") {
        Some("it belongs to the protocol")
    } else {
        None
    }
}

fn timeouts(table: &Table, reading: &mut Reading<'_>) -> Result<ServerTimeouts, Told> {
    let table = reading.table(table, "timeouts")?;
    let connect = reading.duration(table, "connect");
    let response = reading.duration(table, "response");
    let idle = reading.duration(table, "idle");
    let list = reading.duration(table, "list");
    Ok(ServerTimeouts { connect: connect?, response: response?, idle: idle?, list: list? })
}

fn parameters(table: &Table, reading: &mut Reading<'_>) -> Result<Vec<Parameter>, Told> {
    let params = reading.table(table, "params")?;
    let mut seen = Vec::new();
    let parameters = params.entries.iter().map(|entry| {
        let header = route::parameter(entry, &mut seen, reading);
        let path = match &entry.node.value {
            Value::Text(text) => {
                texts::argument_path(text).map_err(|fault| reading.findings.add_fault(entry.node.span, fault))
            }
            Value::Broken(told) => Err(*told),
            _ => Err(reading.findings.add(entry.node.span, "the path is no string", "write a string")),
        };
        Ok(Parameter { header: header?, path: path? })
    });
    all(parameters.collect())
}

/// Every request has somewhere to go.
fn pools(entry: &Entry, table: &Table, reading: &mut Reading<'_>) {
    let routes: &[Node] = match table.node("routes") {
        Some(Node { value: Value::List(routes), .. }) => routes,
        _ => return,
    };
    let has_pool = table.entry("endpoints").is_some();
    if !has_pool && routes.is_empty() {
        let message = format!("server `{}` has neither `endpoints` nor routes", entry.name);
        let help = "add `endpoints = [\"http://127.0.0.1:9000/mcp\"]`";
        reading.findings.add_absence(entry.name_span, message, help);
        return;
    }
    let marked: Vec<&Node> = routes.iter().filter_map(marked_for_lists).collect();
    if let [first, others @ ..] = marked.as_slice() {
        for other in others {
            let line = reading.lines.number(first.span.start);
            let message = format!("two routes of server `{}` are marked `lists = true`", entry.name);
            reading.findings.add(other.span, message, format!("remove it here or on line {line}"));
        }
    } else if !has_pool && !routes.iter().any(|route| matches!(route.value, Value::Broken(_))) {
        let message = format!("server `{}` has only routes and none for requests without parameters", entry.name);
        let help = "mark one route `lists = true`, or add `endpoints` as the default pool";
        reading.findings.add_absence(entry.name_span, message, help);
    }
}

/// The word `true` of `lists = true`. What is broken there may have been meant so.
fn marked_for_lists(route: &Node) -> Option<&Node> {
    let Value::Table(table) = &route.value else { return None };
    table.node("lists").filter(|lists| matches!(lists.value, Value::Boolean(true) | Value::Broken(_)))
}
