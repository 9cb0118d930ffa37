//! One body, judged while it passes.

use std::ops::Range;
use std::sync::Arc;

use super::fault::{BodySays, Fault, in_words};
use super::plan::{Param, Plan};
use crate::protocol::ParamKind;
use crate::protocol::decimal::{Equality, canonical, integers_equal};
use crate::protocol::{Head, header, meta, method, quote};
use crate::scan::{Found, Kind, Limits, Scanner, Slot, token_len};

/// Nesting that real schemas stay far below and real parsers bear: `serde_json` refuses the 128th level.
const MAX_DEPTH: u8 = 127;
/// White space after the root object; more than a line break is nobody's need.
const MAX_TRAILING_SPACE: u32 = 4096;
/// Each character of a JSON string may be written in six bytes.
const ESCAPED_WIDTH: usize = 6;

/// Judges one body against one head.
///
/// Feed it every byte in order, then [`Verifier::finish`]. A fault, once found, stays. After a mismatch the scan goes on,
/// so that the request's id can still be read.
#[derive(Debug)]
pub struct Verifier {
    scanner: Scanner,
    plan: Arc<Plan>,
    name: Naming,
    fault: Option<Fault>,
}

/// A token to be overwritten in the body: `value` as a JSON string, padded to the same length or longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Bytes of the body, counted from its first.
    pub range: Range<u64>,
    pub value: String,
    /// Bytes by which the body becomes longer, whatever the token's spelling was.
    pub growth: usize,
}

/// What a completion is for ("Completion", reference types).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub to: Referent,
    /// A prompt's name, or a resource's URI or template.
    pub text: String,
    /// Where its token stands in the body.
    pub range: Range<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Referent {
    Prompt,
    Resource,
}

impl Edit {
    /// By how much the token for `said` grows when `new` takes its place: its shortest spelling counts, so that any fits.
    pub fn growth(said: &str, new: &str) -> usize {
        token_len(new).saturating_sub(token_len(said))
    }
}

/// How far the named member has been dealt with.
#[derive(Debug)]
enum Naming {
    /// Not seen yet; to be renamed to this once it is.
    Awaited {
        new: Option<String>,
    },
    Edit(Edit),
    Done,
}

impl Verifier {
    /// `new_name` is what the named member becomes once it is found to agree (the name without its prefix).
    pub fn new(head: &Head, plan: Arc<Plan>, new_name: Option<String>) -> Self {
        let limits = Limits { max_depth: MAX_DEPTH, max_trailing_space: MAX_TRAILING_SPACE };
        let mut scanner = Scanner::new(Arc::clone(&plan.watch), limits);
        scanner.set_max_bytes(plan.slots.method, longest(head.method_text()));
        if let (Some(slot), Some(name)) = (plan.slots.named, head.name()) {
            scanner.set_max_bytes(slot, longest(name));
        }
        for param in &plan.params {
            if let Some(Ok(value)) = head.param(&param.header) {
                scanner.set_max_bytes(param.slot, longest(&value));
            }
        }
        Self { scanner, plan, name: Naming::Awaited { new: new_name }, fault: None }
    }

    /// Takes in the next bytes of the body.
    pub fn feed(&mut self, head: &Head, chunk: &[u8]) {
        if let Err(error) = self.scanner.feed(chunk) {
            self.fault.get_or_insert(Fault::Malformed(error));
        }
        if matches!(self.name, Naming::Awaited { .. }) {
            self.look_for_name(head);
        }
    }

    /// The verdict: call it when the body has ended.
    pub fn finish(&mut self, head: &Head) -> Result<(), Fault> {
        if let Err(error) = self.scanner.finish() {
            // JSON that is no JSON outranks a disagreement: the values of a broken body mean nothing.
            let fault = Fault::Malformed(error);
            self.fault = Some(fault.clone());
            return Err(fault);
        }
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let verdict = self.judge(head);
        self.fault = verdict.as_ref().err().cloned();
        verdict
    }

    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// How many bytes of the body, from its start, may leave. Never past the closing brace of the root.
    pub fn safe(&self) -> u64 {
        self.scanner.safe()
    }

    /// The edit that must be made before the bytes it covers leave; given out once.
    pub fn take_edit(&mut self) -> Option<Edit> {
        match std::mem::replace(&mut self.name, Naming::Done) {
            Naming::Edit(edit) => Some(edit),
            other => {
                self.name = other;
                None
            }
        }
    }

    /// The request's id as it was written, if it was seen and can be echoed.
    pub fn id(&self) -> Option<&str> {
        let id = self.scanner.found(self.plan.slots.id)?;
        let lawful = matches!(id.kind, Kind::String | Kind::Number) && !id.cut;
        // With two ids nobody knows whose answer this is.
        let doubled = self.scanner.doubled("id");
        (lawful && !doubled).then(|| std::str::from_utf8(id.text).ok()).flatten()
    }

    fn method(&self) -> Option<&str> {
        self.text(self.plan.slots.method)
    }

    /// What a completion is for, in a body that was found lawful. `None`: nothing, or a prompt and a resource at once.
    pub fn reference(&self) -> Option<Reference> {
        let [name, uri] = self.plan.slots.reference?;
        let read = |slot| Some((self.text(slot)?.to_owned(), self.scanner.found(slot)?.range));
        match (read(name), read(uri)) {
            (Some((text, range)), None) => Some(Reference { to: Referent::Prompt, text, range }),
            (None, Some((text, range))) => Some(Reference { to: Referent::Resource, text, range }),
            _ => None,
        }
    }

    fn text(&self, slot: Slot) -> Option<&str> {
        let found = self.scanner.found(slot)?;
        (found.kind == Kind::String && !found.cut).then(|| std::str::from_utf8(found.text).ok()).flatten()
    }

    fn look_for_name(&mut self, head: &Head) {
        let (Some(slot), Some(name), Some(by)) = (self.plan.slots.named, head.name(), self.plan.named_by) else {
            return;
        };
        let Some(found) = self.scanner.found(slot) else { return };
        let range = found.range.clone();
        let agreed = agree_text(header::NAME, name, &format!("params.{}", by.member()), Some(&found));
        let Naming::Awaited { new } = std::mem::replace(&mut self.name, Naming::Done) else { return };
        match agreed {
            Err(fault) => drop(self.fault.get_or_insert(fault)),
            Ok(()) => self.name = new.map_or(Naming::Done, |value| Naming::Edit(edit(range, name, value))),
        }
    }

    fn judge(&self, head: &Head) -> Result<(), Fault> {
        self.is_request()?;
        let slots = &self.plan.slots;
        agree_text(header::METHOD, head.method_text(), "method", self.scanner.found(slots.method).as_ref())?;
        self.has_meta()?;
        agree_text(
            header::VERSION,
            crate::protocol::VERSIONS[0],
            &format!("params._meta[{:?}]", meta::VERSION),
            self.scanner.found(slots.version).as_ref(),
        )?;
        if let (Some(slot), Some(name), Some(by)) = (slots.named, head.name(), self.plan.named_by) {
            agree_text(header::NAME, name, &format!("params.{}", by.member()), self.scanner.found(slot).as_ref())?;
        }
        self.plan.params.iter().try_for_each(|param| agree_param(head, param, self.scanner.found(param.slot).as_ref()))
    }

    /// JSON-RPC 2.0, section 4, and the schema's `JSONRPCRequest`.
    fn is_request(&self) -> Result<(), Fault> {
        let slots = &self.plan.slots;
        let kind = |slot| self.scanner.found(slot).map(|found| found.kind);
        match self.scanner.root() {
            Some(Kind::Object) => {}
            Some(Kind::Array) => {
                return Err(Fault::NotARequest("batches are not part of this revision; send one request"));
            }
            _ => return Err(Fault::NotARequest("the body is not an object; send one JSON-RPC request")),
        }
        if self.text(slots.jsonrpc) != Some("2.0") {
            return Err(Fault::NotARequest("jsonrpc must be \"2.0\""));
        }
        if kind(slots.method) != Some(Kind::String) {
            return Err(Fault::NotARequest("the body has no method; clients send requests, never responses"));
        }
        match self.scanner.found(slots.id) {
            None if self.method().is_some_and(method::is_notification) => {
                return Err(Fault::NotARequest("no notification from a client is accepted here"));
            }
            None => return Err(Fault::NotARequest("the request has no id")),
            Some(id) if !lawful_id(&id) => return Err(Fault::NotARequest("an id must be a string or an integer")),
            Some(_) => {}
        }
        if kind(slots.params).is_some_and(|kind| kind != Kind::Object) {
            return Err(Fault::NotARequest("params must be an object"));
        }
        Ok(())
    }

    /// Every request carries its version and capabilities ("basic/index", `_meta`).
    fn has_meta(&self) -> Result<(), Fault> {
        let kind = |slot| self.scanner.found(slot).map(|found| found.kind);
        if kind(self.plan.slots.version) != Some(Kind::String) {
            return Err(Fault::Meta("the string \"io.modelcontextprotocol/protocolVersion\""));
        }
        if kind(self.plan.slots.capabilities) != Some(Kind::Object) {
            return Err(Fault::Meta("the object \"io.modelcontextprotocol/clientCapabilities\""));
        }
        Ok(())
    }
}

fn edit(range: Range<u64>, said: &str, value: String) -> Edit {
    let growth = Edit::growth(said, &value);
    Edit { range, value, growth }
}

fn lawful_id(id: &Found<'_>) -> bool {
    match id.kind {
        Kind::String => true,
        Kind::Number => !id.text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')),
        _ => false,
    }
}

/// Raw bytes that a token can have and still equal `value`.
fn longest(value: &str) -> u32 {
    u32::try_from(value.len() * ESCAPED_WIDTH + 2).unwrap_or(u32::MAX)
}

fn agree_text(header: &str, said: &str, member: &str, found: Option<&Found<'_>>) -> Result<(), Fault> {
    match found {
        Some(found) if found.kind == Kind::String && !found.cut && found.text == said.as_bytes() => Ok(()),
        found => Err(disagree(header, Some(said), member, found)),
    }
}

/// "Server Behavior for Custom Headers": a value demands its header, no value or `null` forbids it.
fn agree_param(head: &Head, param: &Param, found: Option<&Found<'_>>) -> Result<(), Fault> {
    let header = || format!("Mcp-Param-{}", param.header);
    let value = found.filter(|found| found.kind != Kind::Null);
    match (head.param(&param.header), value) {
        (None, None) => Ok(()),
        (None, Some(found)) => Err(disagree(&header(), None, &param.member, Some(found))),
        (Some(Err(_)), _) => Err(Fault::Mismatch {
            header: header(),
            said: Some("a value".into()),
            member: param.member.clone(),
            body: BodySays::Unread,
        }),
        (Some(Ok(said)), Some(body)) if equal(param.kind, &said, body) => Ok(()),
        (Some(Ok(said)), _) => Err(disagree(&header(), Some(&said), &param.member, found)),
    }
}

fn equal(kind: Option<ParamKind>, said: &str, found: &Found<'_>) -> bool {
    let may_be = |this| kind.is_none_or(|kind| kind == this);
    if found.cut {
        return false;
    }
    match found.kind {
        Kind::String => may_be(ParamKind::String) && found.text == said.as_bytes(),
        Kind::True => may_be(ParamKind::Boolean) && said == "true",
        Kind::False => may_be(ParamKind::Boolean) && said == "false",
        Kind::Number => std::str::from_utf8(found.text).is_ok_and(|body| match kind {
            Some(ParamKind::Integer) => integers_equal(said, body) == Equality::Equal,
            // Where no schema says that it is a number, the header is routed by as it stands.
            None => canonical(body).as_deref() == Some(said),
            _ => false,
        }),
        _ => false,
    }
}

fn disagree(header: &str, said: Option<&str>, member: &str, found: Option<&Found<'_>>) -> Fault {
    let body = match found {
        None => BodySays::Nothing,
        Some(found) => match found.kind {
            Kind::Object | Kind::Array | Kind::Null => BodySays::A(in_words(found.kind)),
            _ if found.cut => BodySays::TooLong(quote(&String::from_utf8_lossy(found.text))),
            _ => BodySays::Value(quote(&String::from_utf8_lossy(found.text))),
        },
    };
    Fault::Mismatch { header: header.to_owned(), said: said.map(quote), member: member.to_owned(), body }
}
