//! Holds the tree against the key table: unknown and missing keys, wrong types, numbers out of range, durations.
//!
//! What it gives back has every required and defaulted key, and each value is of its key's kind or was complained about,
//! so that whoever reads it need not look again. Must know no key by name.

use super::complaint::{Findings, Span, Told};
use super::duration;
use super::keys::{FILE, Key, Kind, Presence};
use super::tree::{self, Entry, Node, Table, Value};

/// The part of the file that holds, and all defaults.
pub(super) fn check(file: Table, findings: &mut Findings) -> Table {
    let place = Place { path: String::new(), span: Span::default() };
    table(file, FILE, &place, findings)
}

/// The table that is being checked.
struct Place {
    /// Its dotted name; empty for the file itself.
    path: String,
    span: Span,
}

impl Place {
    fn below(&self, entry: &Entry) -> Self {
        let path = if self.path.is_empty() { entry.name.clone() } else { format!("{}.{}", self.path, entry.name) };
        Self { path, span: entry.name_span }
    }

    fn shown(&self) -> String {
        if self.path.is_empty() { "at the top of the file".to_owned() } else { format!("in [{}]", self.path) }
    }
}

fn table(given: Table, keys: &'static [Key], place: &Place, findings: &mut Findings) -> Table {
    let mut kept = Table::default();
    for entry in given.entries {
        match keys.iter().find(|key| key.name == entry.name) {
            Some(key) => kept.entries.push(checked(entry, key, &key.kind, place, findings)),
            None => kept.entries.extend(unknown(&entry, keys, place, findings)),
        }
    }
    for key in keys {
        if kept.entry(key.name).is_none() {
            kept.entries.extend(stand_in(key, place, findings));
        }
    }
    kept
}

/// What stands for a key that was left out.
fn stand_in(key: &'static Key, place: &Place, findings: &mut Findings) -> Option<Entry> {
    let node = match key.presence {
        Presence::Optional => return None,
        Presence::Defaulted(default) => tree::literal(default, place.span)?,
        Presence::Required => {
            let message = format!("`{}` is missing {}", key.name, place.shown());
            let help = format!("add for example `{} = {}`", key.name, key.example);
            Node { span: place.span, value: Value::Broken(findings.add_absence(place.span, message, help)) }
        }
    };
    let entry = Entry { name: key.name.to_owned(), name_span: place.span, node };
    Some(checked(entry, key, &key.kind, place, findings))
}

fn checked(entry: Entry, key: &'static Key, kind: &'static Kind, place: &Place, findings: &mut Findings) -> Entry {
    let inside = place.below(&entry);
    let node = node(entry.node, key, kind, &inside, findings);
    Entry { node, ..entry }
}

fn node(node: Node, key: &'static Key, kind: &'static Kind, place: &Place, findings: &mut Findings) -> Node {
    let span = node.span;
    let value = value(node, key, kind, place, findings).unwrap_or_else(Value::Broken);
    Node { span, value }
}

fn value(
    node: Node,
    key: &'static Key,
    kind: &'static Kind,
    place: &Place,
    findings: &mut Findings,
) -> Result<Value, Told> {
    let span = node.span;
    if !fits(kind, &node.value) {
        return Err(wrong_kind(&node, key, kind, place, findings));
    }
    Ok(match (kind, node.value) {
        (Kind::Word(words), Value::Text(text)) => Value::Text(word(text, words, key, span, findings)?),
        (Kind::Integer { min, max }, Value::Integer(number)) => {
            Value::Integer(Some(integer(number, *min..=*max, key, span, findings)?))
        }
        (Kind::Duration { min, max }, Value::Text(text)) => {
            let duration = duration::parse(&text, *min..=*max).map_err(|fault| findings.add_fault(span, fault))?;
            Value::Duration(duration)
        }
        (Kind::List(each) | Kind::OneOrList(each), Value::List(nodes)) => {
            let nodes = nodes.into_iter().enumerate();
            let nodes = nodes.map(|(index, node)| {
                let place = Place { path: element_path(&place.path, index, each), span: node.span };
                self::node(node, key, each, &place, findings)
            });
            Value::List(nodes.collect())
        }
        (Kind::OneOrList(each), value) => {
            Value::List(vec![self::node(Node { span, value }, key, each, place, findings)])
        }
        (Kind::Table(keys), Value::Table(inner)) => Value::Table(table(inner, keys, place, findings)),
        (Kind::Names { each, .. }, Value::Table(inner)) => {
            let entries = inner.entries.into_iter().map(|entry| checked(entry, key, each, place, findings));
            Value::Table(Table { entries: entries.collect() })
        }
        (Kind::Either(kinds), value) => {
            let node = Node { span, value };
            match kinds.iter().find(|kind| fits(kind, &node.value)) {
                Some(kind) => self::value(node, key, kind, place, findings)?,
                None => node.value,
            }
        }
        (_, value) => value,
    })
}

/// The name of one element of a list, unless that is a table and its keys have names of their own.
fn element_path(path: &str, index: usize, each: &Kind) -> String {
    if matches!(each, Kind::Table(_)) { path.to_owned() } else { format!("{path}[{index}]") }
}

fn word(text: String, words: &[&str], key: &Key, span: Span, findings: &mut Findings) -> Result<String, Told> {
    if words.contains(&text.as_str()) {
        return Ok(text);
    }
    let message = format!("`{}` cannot be \"{text}\"", key.name);
    Err(findings.add(span, message, format!("write {}", describe(&key.kind))))
}

fn integer(
    number: Option<i64>,
    range: std::ops::RangeInclusive<i64>,
    key: &Key,
    span: Span,
    findings: &mut Findings,
) -> Result<i64, Told> {
    if let Some(number) = number.filter(|number| range.contains(number)) {
        return Ok(number);
    }
    let message = format!("`{}` is out of range", key.name);
    let help = format!("write a number from {} to {}", grouped(*range.start()), grouped(*range.end()));
    Err(findings.add(span, message, help))
}

fn wrong_kind(node: &Node, key: &Key, kind: &Kind, place: &Place, findings: &mut Findings) -> Told {
    let message = format!("`{}` takes {}, not {}", place.path, describe(kind), node.value.kind());
    let help = match (kind, &node.value) {
        (Kind::Duration { .. }, Value::Integer(Some(number))) => format!("write {}", duration::suggest(*number)),
        _ => format!("write for example `{} = {}`", key.name, key.example),
    };
    findings.add(node.span, message, help)
}

/// A misspelt key stands for the one that was meant, so that nobody complains that this one is missing.
fn unknown(entry: &Entry, keys: &[Key], place: &Place, findings: &mut Findings) -> Option<Entry> {
    let message = format!("unknown key `{}` {}", entry.name, place.shown());
    let nearest = keys.iter().map(|key| (strsim::damerau_levenshtein(key.name, &entry.name), key.name)).min();
    let Some((_, name)) = nearest.filter(|(distance, name)| *distance <= (name.len() / 3).max(1)) else {
        let names: Vec<String> = keys.iter().map(|key| format!("`{}`", key.name)).collect();
        findings.add(entry.name_span, message, format!("remove it; known here: {}", names.join(", ")));
        return None;
    };
    let told = findings.add(entry.name_span, message, format!("did you mean `{name}`?"));
    let node = Node { span: entry.node.span, value: Value::Broken(told) };
    Some(Entry { name: name.to_owned(), name_span: entry.name_span, node })
}

/// Whether the value's TOML type is one that this kind takes.
fn fits(kind: &Kind, value: &Value) -> bool {
    match kind {
        _ if matches!(value, Value::Broken(_)) => true,
        Kind::Text { .. } | Kind::Word(_) | Kind::Duration { .. } => matches!(value, Value::Text(_)),
        Kind::Boolean => matches!(value, Value::Boolean(_)),
        Kind::Integer { .. } => matches!(value, Value::Integer(_)),
        Kind::List(_) => matches!(value, Value::List(_)),
        Kind::OneOrList(each) => matches!(value, Value::List(_)) || fits(each, value),
        Kind::Table(_) | Kind::Names { .. } => matches!(value, Value::Table(_)),
        Kind::Either(kinds) => kinds.iter().any(|kind| fits(kind, value)),
    }
}

/// The kind in words, with its article.
fn describe(kind: &Kind) -> String {
    match kind {
        Kind::Text { .. } => "a string".to_owned(),
        Kind::Word(words) => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", "),
        Kind::Boolean => "true or false".to_owned(),
        Kind::Integer { .. } => "an integer".to_owned(),
        Kind::Duration { .. } => "a duration".to_owned(),
        Kind::List(Kind::Table(_)) => "a list of tables".to_owned(),
        Kind::List(_) => "a list of strings".to_owned(),
        Kind::OneOrList(_) => "a string or a list of strings".to_owned(),
        Kind::Table(keys) => {
            let names: Vec<String> = keys.iter().map(|key| format!("`{}`", key.name)).collect();
            if names.len() > 4 { "a table".to_owned() } else { format!("a table of {}", names.join(", ")) }
        }
        Kind::Names { .. } => "a table".to_owned(),
        Kind::Either(kinds) => kinds.iter().map(describe).collect::<Vec<_>>().join(" or "),
    }
}

/// `16777216` as `16_777_216`.
pub(super) fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
