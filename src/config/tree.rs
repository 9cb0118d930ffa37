//! The file as a tree whose every name and value knows where it stands.
//!
//! Built on the crate `toml`, because its `DeTable` gives spans of keys and values inside inline tables and arrays of
//! tables too, and goes on after a syntax error. Must never judge anything but syntax.

use std::borrow::Cow;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::complaint::{Findings, Span, Told};

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) span: Span,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    /// `None`: an integer that 64 bits cannot hold.
    Integer(Option<i64>),
    Boolean(bool),
    /// What a text became where the key table asks for a duration.
    Duration(Duration),
    List(Vec<Node>),
    Table(Table),
    /// What was wrong, and was complained about.
    Broken(Told),
    /// A kind that no key takes, by name.
    Other(&'static str),
}

/// A table's entries in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) name_span: Span,
    pub(super) node: Node,
}

impl Table {
    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    pub(super) fn node(&self, name: &str) -> Option<&Node> {
        self.entry(name).map(|entry| &entry.node)
    }
}

impl Value {
    /// What the value is, with its article.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::Duration(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Boolean(_) => "a boolean",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(kind) => kind,
            Self::Broken(_) => "nothing that holds",
        }
    }
}

/// Reads what can be read. The second is the first byte from which on the tree cannot be relied on.
pub(super) fn read(text: &str, findings: &mut Findings) -> (Table, Option<usize>) {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut broken_from: Option<usize> = None;
    for error in errors {
        let span = error.span().map_or(Span { start: text.len(), end: text.len() }, Span::from);
        let message = error.message();
        let help = if message.starts_with("duplicate key") {
            "each key and each table stands once: remove one of the two, or rename it"
        } else {
            broken_from = Some(broken_from.map_or(span.start, |first| first.min(span.start)));
            "mend the TOML here; what follows is checked once it can be read"
        };
        findings.add(span, format!("the file is not lawful TOML: {message}"), help);
    }
    (table(document.get_ref()), broken_from)
}

/// A literal of the key table, such as `["127.0.0.1:8080"]`, standing as a whole at `span`.
pub(super) fn literal(text: &'static str, span: Span) -> Option<Node> {
    DeValue::parse(text).ok().map(|value| stand_at(node(&value), span))
}

/// A literal's own places are places of no file.
fn stand_at(node: Node, span: Span) -> Node {
    let value = match node.value {
        Value::List(nodes) => Value::List(nodes.into_iter().map(|node| stand_at(node, span)).collect()),
        Value::Table(table) => {
            let entries = table.entries.into_iter();
            let entries =
                entries.map(|Entry { name, node, .. }| Entry { name, name_span: span, node: stand_at(node, span) });
            Value::Table(Table { entries: entries.collect() })
        }
        other => other,
    };
    Node { span, value }
}

fn table(table: &DeTable<'_>) -> Table {
    let mut entries: Vec<Entry> = table.iter().map(|(name, value)| entry(name, value)).collect();
    entries.sort_by_key(|entry| entry.name_span.start);
    Table { entries }
}

fn entry(name: &Spanned<Cow<'_, str>>, value: &Spanned<DeValue<'_>>) -> Entry {
    Entry { name: name.get_ref().to_string(), name_span: name.span().into(), node: node(value) }
}

fn node(value: &Spanned<DeValue<'_>>) -> Node {
    let span = value.span().into();
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => Value::Integer(i64::from_str_radix(number.as_str(), number.radix()).ok()),
        DeValue::Boolean(value) => Value::Boolean(*value),
        DeValue::Array(list) => Value::List(list.iter().map(node).collect()),
        DeValue::Table(inner) => Value::Table(table(inner)),
        DeValue::Float(_) => Value::Other("a number with a fraction"),
        DeValue::Datetime(_) => Value::Other("a date or time"),
    };
    Node { span, value }
}
