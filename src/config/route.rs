//! `[[servers.NAME.routes]]`: one route, and which routes can never match.

use std::collections::{HashMap, HashSet};

use super::complaint::{Fault, Span, Told};
use super::endpoint::Endpoint;
use super::pattern::Pattern;
use super::reading::{Reading, all};
use super::settings::{Condition, Route};
use super::shadow::{self, Candidate};
use super::texts;
use super::tree::{Entry, Node, Table, Value};

/// The routes of one server, in order.
pub(super) fn routes(server: &Table, reading: &mut Reading<'_>) -> Result<Vec<Route>, Told> {
    let nodes = reading.list(server, "routes")?;
    let mut names: HashMap<String, Span> = HashMap::new();
    let mut lawful: Vec<Candidate> = Vec::new();
    let routes = nodes.iter().map(|node| {
        let table = match &node.value {
            Value::Table(table) => table,
            Value::Broken(told) => return Err(*told),
            _ => {
                return Err(reading.findings.add(
                    node.span,
                    "the route is not a table",
                    "write `[[servers.x.routes]]`",
                ));
            }
        };
        let (route, conditions) = route(table, &mut names, reading);
        if let (Ok(conditions), Some(when)) = (conditions, table.entry("when")) {
            let name = reading.text(table, "name").map(|(name, _)| name.to_owned()).unwrap_or_default();
            lawful.push(Candidate { name, conditions, span: when.name_span });
        }
        route
    });
    let routes = routes.collect();
    shadow::complain(&lawful, reading);
    all(routes)
}

/// The route, and its conditions even if the rest does not hold.
fn route(
    table: &Table,
    names: &mut HashMap<String, Span>,
    reading: &mut Reading<'_>,
) -> (Result<Route, Told>, Result<Vec<Condition>, Told>) {
    let name = name(table, names, reading);
    let when = conditions(table, reading);
    let endpoints = reading.some_texts(table, "endpoints", Endpoint::parse);
    let lists = reading.boolean(table, "lists");
    let conditions = when.clone();
    let route = || Ok(Route { name: name?, when: when?, endpoints: endpoints?, lists: lists? });
    (route(), conditions)
}

fn name(table: &Table, names: &mut HashMap<String, Span>, reading: &mut Reading<'_>) -> Result<String, Told> {
    let (text, span) = reading.text(table, "name")?;
    if text == "default" {
        let message = "a route cannot be called \"default\": that is the pool of `endpoints`";
        return Err(reading.findings.add(span, message, "give it another name"));
    }
    if let Some(first) = names.get(text) {
        let message = format!("a route of this server is called \"{text}\" already");
        let help =
            format!("give one of the two another name; the first is on line {}", reading.lines.number(first.start));
        return Err(reading.findings.add(span, message, help));
    }
    names.insert(text.to_owned(), span);
    texts::name(text, "the name of a route").map_err(|fault| reading.findings.add_fault(span, fault))
}

fn conditions(table: &Table, reading: &mut Reading<'_>) -> Result<Vec<Condition>, Told> {
    let when = reading.table(table, "when")?;
    if let (true, Some(entry)) = (when.entries.is_empty(), table.entry("when")) {
        let help = "name a parameter, as in `when = { Region = \"eu-*\" }`, or make it the default pool";
        return Err(reading.findings.add(entry.node.span, "`when` names no parameter", help));
    }
    let mut seen = Vec::new();
    let conditions = when.entries.iter().map(|entry| {
        let header = parameter(entry, &mut seen, reading);
        let patterns = patterns(entry, reading);
        Ok(Condition { header: header?, patterns: patterns? })
    });
    all(conditions.collect())
}

/// The name of a parameter, the first of its kind among `seen`.
pub(super) fn parameter(
    entry: &Entry,
    seen: &mut Vec<(String, Span)>,
    reading: &mut Reading<'_>,
) -> Result<String, Told> {
    let span = entry.name_span;
    let name = texts::parameter(&entry.name).map_err(|fault| reading.findings.add_fault(span, fault))?;
    if let Some((other, _)) = seen.iter().find(|(other, _)| other.eq_ignore_ascii_case(&name)) {
        let message = format!("`{name}` is the parameter `{other}` again: names compare without case");
        return Err(reading.findings.add(span, message, "remove one of the two"));
    }
    seen.push((name.clone(), span));
    Ok(name)
}

fn patterns(entry: &Entry, reading: &mut Reading<'_>) -> Result<Vec<Pattern>, Told> {
    let nodes = reading.nodes(&entry.name, &entry.node)?;
    if nodes.is_empty() {
        let message = format!("`{}` has no pattern, so the route matches nothing", entry.name);
        return Err(reading.findings.add(entry.node.span, message, "write at least one pattern, such as \"eu-*\""));
    }
    let mut seen: HashSet<&str> = HashSet::with_capacity(nodes.len());
    let patterns = nodes.iter().map(|node| pattern(node, &mut seen, reading));
    all(patterns.collect())
}

fn pattern<'t>(node: &'t Node, seen: &mut HashSet<&'t str>, reading: &mut Reading<'_>) -> Result<Pattern, Told> {
    let text = match &node.value {
        Value::Text(text) => text.as_str(),
        Value::Broken(told) => return Err(*told),
        _ => return Err(reading.findings.add(node.span, "the pattern is no string", "write a string")),
    };
    if !seen.insert(text) {
        let message = format!("the pattern \"{}\" stands in this list twice", text.escape_debug());
        return Err(reading.findings.add(node.span, message, "remove it"));
    }
    Pattern::new(text).map_err(|error| {
        let fault = Fault::new(error.to_string(), "remove the control character");
        reading.findings.add_fault(node.span, fault)
    })
}
