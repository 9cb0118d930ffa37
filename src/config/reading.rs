//! Takes values out of the checked tree, and texts through the functions that know their meaning.

use std::time::Duration;

use super::complaint::{Fault, Findings, Lines, Span, Told};
use super::surroundings::Surroundings;
use super::tree::{Entry, Node, Table, Value};

/// What reading a file needs besides the file.
pub(super) struct Reading<'a> {
    pub(super) findings: Findings,
    pub(super) lines: &'a Lines<'a>,
    pub(super) surroundings: &'a dyn Surroundings,
}

impl Reading<'_> {
    pub(super) fn text<'t>(&mut self, table: &'t Table, key: &str) -> Result<(&'t str, Span), Told> {
        let node = self.node(table, key)?;
        match &node.value {
            Value::Text(text) => Ok((text, node.span)),
            _ => Err(self.unread(key, node)),
        }
    }

    pub(super) fn boolean(&mut self, table: &Table, key: &str) -> Result<bool, Told> {
        let node = self.node(table, key)?;
        match node.value {
            Value::Boolean(value) => Ok(value),
            _ => Err(self.unread(key, node)),
        }
    }

    pub(super) fn duration(&mut self, table: &Table, key: &str) -> Result<Duration, Told> {
        let node = self.node(table, key)?;
        match node.value {
            Value::Duration(value) => Ok(value),
            _ => Err(self.unread(key, node)),
        }
    }

    /// The key table bounds every integer well within these types.
    pub(super) fn integer<T: TryFrom<i64>>(&mut self, table: &Table, key: &str) -> Result<T, Told> {
        let node = self.node(table, key)?;
        let Value::Integer(Some(number)) = node.value else { return Err(self.unread(key, node)) };
        T::try_from(number).map_err(|_| self.unread(key, node))
    }

    pub(super) fn table<'t>(&mut self, table: &'t Table, key: &str) -> Result<&'t Table, Told> {
        let node = self.node(table, key)?;
        match &node.value {
            Value::Table(inner) => Ok(inner),
            _ => Err(self.unread(key, node)),
        }
    }

    pub(super) fn list<'t>(&mut self, table: &'t Table, key: &str) -> Result<&'t [Node], Told> {
        let node = self.node(table, key)?;
        self.nodes(key, node)
    }

    pub(super) fn nodes<'t>(&mut self, key: &str, node: &'t Node) -> Result<&'t [Node], Told> {
        match &node.value {
            Value::List(nodes) => Ok(nodes),
            _ => Err(self.unread(key, node)),
        }
    }

    /// Each text of a list through `parse`, every fault told.
    pub(super) fn texts<T>(
        &mut self,
        table: &Table,
        key: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Told> {
        let nodes = self.list(table, key)?;
        let parsed = nodes.iter().map(|node| match &node.value {
            Value::Text(text) => parse(text).map_err(|fault| self.findings.add_fault(node.span, fault)),
            _ => Err(self.unread(key, node)),
        });
        all(parsed.collect())
    }

    /// As `texts`, for a list that must not be empty.
    pub(super) fn some_texts<T>(
        &mut self,
        table: &Table,
        key: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Told> {
        let parsed = self.texts(table, key, parse)?;
        if parsed.is_empty() {
            let span = self.node(table, key)?.span;
            return Err(self.findings.add(span, format!("`{key}` is empty"), "write at least one, or remove the key"));
        }
        Ok(parsed)
    }

    /// The node of a key that the shape made sure of.
    fn node<'t>(&mut self, table: &'t Table, key: &str) -> Result<&'t Node, Told> {
        match table.entry(key) {
            Some(Entry { node: Node { value: Value::Broken(told), .. }, .. }) => Err(*told),
            Some(entry) => Ok(&entry.node),
            None => Err(self.findings.add(Span::default(), format!("`{key}` was not read"), REPORT)),
        }
    }

    fn unread(&mut self, key: &str, node: &Node) -> Told {
        match node.value {
            Value::Broken(told) => told,
            _ => self.findings.add(node.span, format!("`{key}` was not read"), REPORT),
        }
    }
}

const REPORT: &str = "this is a defect of mcp-signpost: please report it with the file";

/// All values, or word that something was wrong with one.
pub(super) fn all<T>(results: Vec<Result<T, Told>>) -> Result<Vec<T>, Told> {
    results.into_iter().collect()
}
