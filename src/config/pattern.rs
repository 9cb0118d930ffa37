//! Patterns of parameter values: a text, or a text in which `*` stands for any run of characters.
//!
//! Pure. Matching is case-sensitive, as values are ("Custom Headers from Tool Parameters"), and takes time linear in
//! the value's length whatever the pattern: there is no backtracking.

use std::fmt;

/// What a value may look like. `*` is any run of characters, the empty one included; there is no escape for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    text: String,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Shape {
    Exact,
    /// `head*middle*middle*tail`, no middle empty.
    Glob {
        head: String,
        middles: Vec<String>,
        tail: String,
    },
}

/// A pattern that no lawful value can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a pattern with a control character matches nothing lawful")]
pub struct Unmatchable;

impl Pattern {
    pub fn new(text: &str) -> Result<Self, Unmatchable> {
        if text.chars().any(char::is_control) {
            return Err(Unmatchable);
        }
        let shape = match (text.split_once('*'), text.rsplit_once('*')) {
            (Some((head, _)), Some((before, tail))) => Shape::Glob {
                head: head.to_owned(),
                middles: middles(before.get(head.len()..).unwrap_or_default()),
                tail: tail.to_owned(),
            },
            _ => Shape::Exact,
        };
        Ok(Self { text: text.to_owned(), shape })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The one value it matches, if it is only one.
    pub fn exact(&self) -> Option<&str> {
        matches!(self.shape, Shape::Exact).then_some(self.text.as_str())
    }

    pub fn matches(&self, value: &str) -> bool {
        match &self.shape {
            Shape::Exact => self.text == value,
            Shape::Glob { head, middles, tail } => matches_glob(head, middles, tail, value),
        }
    }

    /// Whether it matches every value that `other` matches.
    ///
    /// Exact, because there is always a character in neither pattern: `other` with that character for each `*` is
    /// matched only if our own `*`s cover it, and then they cover any run in its place. For the same reason patterns
    /// that cover another one together include one that covers it alone.
    pub fn subsumes(&self, other: &Self) -> bool {
        match (&self.shape, &other.shape) {
            (Shape::Exact, Shape::Exact) => self.text == other.text,
            (Shape::Exact, Shape::Glob { .. }) => false,
            (Shape::Glob { .. }, Shape::Exact) => self.matches(&other.text),
            (Shape::Glob { head, middles, tail }, Shape::Glob { head: first, middles: between, tail: last }) => {
                let (Some(first), Some(last)) = (first.strip_prefix(head.as_str()), last.strip_suffix(tail.as_str()))
                else {
                    return false;
                };
                let segments = std::iter::once(first).chain(between.iter().map(String::as_str)).chain([last]);
                all_found_in_order(middles, segments)
            }
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn middles(text: &str) -> Vec<String> {
    text.split('*').filter(|middle| !middle.is_empty()).map(str::to_owned).collect()
}

/// Takes the leftmost place for each middle: if any choice of places works, that one does.
fn matches_glob(head: &str, middles: &[String], tail: &str, value: &str) -> bool {
    let Some(rest) = value.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail)) else { return false };
    all_found_in_order(middles, std::iter::once(rest))
}

/// Whether the wanted texts stand in the segments, in order, without overlap, each within one segment.
fn all_found_in_order<'a>(wanted: &[String], segments: impl Iterator<Item = &'a str>) -> bool {
    let mut wanted = wanted.iter();
    let Some(mut next) = wanted.next() else { return true };
    for mut segment in segments {
        while let Some((_, rest)) = segment.split_once(next.as_str()) {
            segment = rest;
            let Some(following) = wanted.next() else { return true };
            next = following;
        }
    }
    false
}

#[cfg(test)]
mod tests;
