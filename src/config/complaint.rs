//! What is wrong with the file, where, and what to write instead.
//!
//! Knows positions in the text and how a complaint is shown. Must never know what a key means.

use std::fmt;

/// A range of bytes in the text of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl From<std::ops::Range<usize>> for Span {
    fn from(range: std::ops::Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// What is wrong, in lower case and without a final period.
    pub message: String,
    /// What to write instead.
    pub help: String,
    pub place: Place,
}

/// Where in the file something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's name as the caller gave it.
    pub origin: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// How many characters are meant, at least 1, never past the end of the line.
    pub length: usize,
    /// The line itself, without its end.
    pub text: String,
}

/// Everything that is wrong with one file, in its order; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Complaints(pub(super) Vec<Complaint>);

impl Complaints {
    pub fn iter(&self) -> std::slice::Iter<'_, Complaint> {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Complaints {
    type Item = &'a Complaint;
    type IntoIter = std::slice::Iter<'a, Complaint>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Complaints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, complaint) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{complaint}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { origin, line, column, length, text } = &self.place;
        let gutter = line.to_string().len();
        // Tabs before the place are kept, so that the caret stands under it whatever their width.
        let margin: String =
            text.chars().take(column.saturating_sub(1)).map(|c| if c == '\t' { c } else { ' ' }).collect();
        writeln!(f, "error: {}", self.message)?;
        writeln!(f, "{:gutter$}--> {origin}:{line}:{column}", "")?;
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{line} | {text}")?;
        writeln!(f, "{:gutter$} | {margin}{}", "", "^".repeat(*length))?;
        writeln!(f, "{:gutter$} = help: {}", "", self.help)
    }
}

/// Where the lines of a text begin.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// The number of the line that holds this byte, from 1.
    pub(super) fn number(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    pub(super) fn place(&self, origin: &str, span: Span) -> Place {
        let number = self.number(span.start);
        let start = self.starts.get(number.saturating_sub(1)).copied().unwrap_or(0);
        let rest = self.text.get(start..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let (from, to) = (clip(line, span.start.saturating_sub(start)), clip(line, span.end.saturating_sub(start)));
        let meant = line.get(from..to).unwrap_or_default().chars().count();
        Place {
            origin: origin.to_owned(),
            line: number,
            column: line.get(..from).unwrap_or_default().chars().count() + 1,
            length: meant.max(1),
            text: line.to_owned(),
        }
    }
}

/// `offset` kept within the line and off the middle of a character.
fn clip(line: &str, offset: usize) -> usize {
    let mut offset = offset.min(line.len());
    while !line.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The proof that a complaint was made: whoever has nothing to give back hands this on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told(());

/// The complaints found so far.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

#[derive(Debug)]
struct Finding {
    span: Span,
    fault: Fault,
    /// Whether it is about something that is not there.
    absence: bool,
}

impl Findings {
    pub(super) fn add(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) -> Told {
        self.add_fault(span, Fault::new(message, help))
    }

    pub(super) fn add_fault(&mut self, span: Span, fault: Fault) -> Told {
        self.0.push(Finding { span, fault, absence: false });
        Told(())
    }

    /// Something is missing; `span` is where it would belong.
    pub(super) fn add_absence(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) -> Told {
        self.0.push(Finding { span, fault: Fault::new(message, help), absence: true });
        Told(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops what cannot be known if the text from this byte on could not be read.
    pub(super) fn trust_before(&mut self, offset: usize) {
        self.0.retain(|finding| finding.span.start < offset && !finding.absence);
    }

    pub(super) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) fn into_complaints(mut self, lines: &Lines<'_>, origin: &str) -> Complaints {
        self.0.sort_by_key(|finding| (finding.span.start, finding.span.end));
        let complaints = self.0.into_iter().map(|Finding { span, fault, .. }| Complaint {
            message: fault.message,
            help: fault.help,
            place: lines.place(origin, span),
        });
        Complaints(complaints.collect())
    }
}

/// What is wrong with one value, before it is known where that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) help: String,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}
