//! Which places of a body are looked at for a kind of request.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use crate::protocol::decimal::canonical;
use crate::protocol::{Head, NamedBy, meta};
use crate::protocol::{ParamKind, ToolRules};
use crate::scan::{Capture, Slot, Text, Watch, WatchBuilder};

/// The protected keys (architecture, idea 4): a second spelling of one of these could make two parsers read two requests.
const ROOT_KEYS: [&str; 4] = ["jsonrpc", "id", "method", "params"];
const PARAMS_KEYS: [&str; 9] =
    ["name", "uri", "taskId", "arguments", "_meta", "ref", "inputResponses", "requestState", "cursor"];
const REFERENCE_KEYS: [&str; 3] = ["type", "name", "uri"];
const META_KEYS: [&str; 2] = [meta::VERSION, meta::CAPABILITIES];

/// How much of an id is kept, so that it can be echoed. A longer one is lawful; our own errors then say `null`.
const ID_BYTES: u32 = 1024;
/// Raw bytes of a name or URI that a completion is for.
const REFERENCE_BYTES: u32 = 8192;
/// Kept of values that only have to be quoted in a message.
const QUOTED_BYTES: u32 = 128;

/// What to look at in the body of one kind of request. Built once, shared by all requests of the kind.
#[derive(Debug)]
pub struct Plan {
    pub(super) watch: Arc<Watch>,
    pub(super) slots: Slots,
    pub(super) named_by: Option<NamedBy>,
    pub(super) params: Vec<Param>,
}

/// A parameter that the configuration declares for all tools of a server.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The `{X}` of `Mcp-Param-{X}`.
    pub header: String,
    /// The keys that lead from `params.arguments` to the value.
    pub path: Vec<String>,
}

/// One annotated parameter.
#[derive(Debug)]
pub(super) struct Param {
    pub header: String,
    /// The argument's path, as messages show it.
    pub member: String,
    /// Unknown where the configuration declares the parameter instead of a schema.
    pub kind: Option<ParamKind>,
    pub slot: Slot,
}

#[derive(Debug)]
pub(super) struct Slots {
    pub jsonrpc: Slot,
    pub id: Slot,
    pub method: Slot,
    pub params: Slot,
    pub version: Slot,
    pub capabilities: Slot,
    pub named: Option<Slot>,
    /// What a completion is for: `name` of a prompt, `uri` of a resource template.
    pub reference: Option<[Slot; 2]>,
}

static COMPLETION: LazyLock<Arc<Plan>> = LazyLock::new(|| Arc::new(Plan::build_completion()));
static BY_NAME: LazyLock<Arc<Plan>> = LazyLock::new(|| Arc::new(Plan::build(Some(NamedBy::Name), std::iter::empty())));
static BY_URI: LazyLock<Arc<Plan>> = LazyLock::new(|| Arc::new(Plan::build(Some(NamedBy::Uri), std::iter::empty())));
static BY_TASK: LazyLock<Arc<Plan>> =
    LazyLock::new(|| Arc::new(Plan::build(Some(NamedBy::TaskId), std::iter::empty())));
static UNNAMED: LazyLock<Arc<Plan>> = LazyLock::new(|| Arc::new(Plan::build(None, std::iter::empty())));

impl Plan {
    /// The plan for a request whose parameters nobody annotated.
    pub fn plain(named_by: Option<NamedBy>) -> Arc<Self> {
        Arc::clone(match named_by {
            Some(NamedBy::Name) => &BY_NAME,
            Some(NamedBy::Uri) => &BY_URI,
            Some(NamedBy::TaskId) => &BY_TASK,
            None => &UNNAMED,
        })
    }

    /// The plan for `completion/complete`, which no header names ("Completion").
    pub fn completion() -> Arc<Self> {
        Arc::clone(&COMPLETION)
    }

    /// The plan for calls of a tool with these rules, and with what the configuration declares besides them. Where both
    /// speak of one header the tool's own rule holds.
    pub fn for_tool(rules: &ToolRules, declared: &[Declared]) -> Arc<Self> {
        let own = rules.rules.iter().map(|rule| (rule.header.as_str(), rule.path.as_slice(), Some(rule.kind)));
        let is_own = |header: &str| rules.rules.iter().any(|rule| rule.header.eq_ignore_ascii_case(header));
        let besides = declared.iter().filter(|declared| !is_own(&declared.header));
        Self::for_params(own.chain(besides.map(|declared| (declared.header.as_str(), declared.path.as_slice(), None))))
    }

    /// Whether the tool's rules declare this header (`Region` of `Mcp-Param-Region`).
    pub fn declares(&self, header: &str) -> bool {
        self.params.iter().any(|param| param.header.eq_ignore_ascii_case(header))
    }

    /// Whether no parameter is looked at.
    pub fn is_plain(&self) -> bool {
        self.params.is_empty()
    }

    /// The value of a declared parameter by which a call is routed: an integer in its one canonical spelling, so that
    /// `42.0` goes where the body's `42` belongs. `None` where the header is missing or cannot be decoded.
    pub fn routed<'h>(&self, header: &str, head: &'h Head) -> Option<Cow<'h, str>> {
        let said = head.param(header)?.ok()?;
        let param = self.params.iter().find(|param| param.header.eq_ignore_ascii_case(header))?;
        match param.kind {
            Some(ParamKind::Integer) => Some(canonical(&said).map_or(said, Cow::Owned)),
            _ => Some(said),
        }
    }

    /// The headers that the tool's parameters are mirrored in, as the schema spells them.
    pub fn headers(&self) -> impl Iterator<Item = &str> {
        self.params.iter().map(|param| param.header.as_str())
    }

    fn build_completion() -> Self {
        let (mut watch, mut slots) = common(None);
        watch.protect(&["params", "ref"], &REFERENCE_KEYS);
        let kept = Capture { max_bytes: REFERENCE_BYTES, held: false, text: Text::Decoded };
        slots.reference = Some(["name", "uri"].map(|member| watch.capture(&["params", "ref", member], kept)));
        Self { watch: Arc::new(watch.build()), slots, named_by: None, params: Vec::new() }
    }

    fn for_params<'a>(params: impl Iterator<Item = (&'a str, &'a [String], Option<ParamKind>)>) -> Arc<Self> {
        let mut params = params.peekable();
        if params.peek().is_none() {
            return Self::plain(Some(NamedBy::Name));
        }
        Arc::new(Self::build(Some(NamedBy::Name), params))
    }

    fn build<'a>(
        named_by: Option<NamedBy>,
        params: impl Iterator<Item = (&'a str, &'a [String], Option<ParamKind>)>,
    ) -> Self {
        let (mut watch, slots) = common(named_by);
        let params = params.map(|(header, path, kind)| Param {
            header: header.to_owned(),
            member: format!("params.arguments.{}", path.join(".")),
            kind,
            slot: argument(&mut watch, path),
        });
        let params = params.collect();
        Self { watch: Arc::new(watch.build()), slots, named_by, params }
    }
}

/// What every request has.
fn common(named_by: Option<NamedBy>) -> (WatchBuilder, Slots) {
    let mut watch = Watch::builder();
    watch.protect(&[], &ROOT_KEYS);
    watch.protect(&["params"], &PARAMS_KEYS);
    watch.protect(&["params", "_meta"], &META_KEYS);
    let slots = Slots {
        jsonrpc: watch.capture(&["jsonrpc"], short(Text::Decoded)),
        id: watch.capture(&["id"], Capture { max_bytes: ID_BYTES, held: false, text: Text::Raw }),
        method: watch.capture(&["method"], short(Text::Decoded)),
        params: watch.capture(&["params"], short(Text::Decoded)),
        version: watch.capture(&["params", "_meta", meta::VERSION], short(Text::Decoded)),
        capabilities: watch.capture(&["params", "_meta", meta::CAPABILITIES], short(Text::Decoded)),
        named: named_by.map(|by| watch.capture(&["params", by.member()], held())),
        reference: None,
    };
    (watch, slots)
}

fn argument(watch: &mut WatchBuilder, path: &[String]) -> Slot {
    let path: Vec<&str> = ["params", "arguments"].into_iter().chain(path.iter().map(String::as_str)).collect();
    watch.capture(&path, short(Text::Decoded))
}

fn short(text: Text) -> Capture {
    Capture { max_bytes: QUOTED_BYTES, held: false, text }
}

fn held() -> Capture {
    Capture { max_bytes: QUOTED_BYTES, held: true, text: Text::Decoded }
}
