//! What the rewriting must come to, done the slow way: whole messages, parsed into trees by `serde_json`, with the table
//! as paths. Shares no code and no idea with the rewriter. Panics where they differ.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::protocol::Method;
use crate::rewriting::{Form, GaveUp, Rewriter};

/// What it makes longer does not contain itself at its ends, so that insertions can be found again.
pub const PREFIX: &str = "k9";
const INSERTIONS: [&[u8]; 2] = [b"k9+", b"k9/"];

const RESULTS: [(Method, &[&str]); 4] = [
    (Method::ResourcesRead, &["contents [] uri"]),
    (Method::ToolsCall, &["content [] uri", "content [] resource uri"]),
    (
        Method::PromptsGet,
        &[
            "messages [] content uri",
            "messages [] content [] uri",
            "messages [] content resource uri",
            "messages [] content [] resource uri",
        ],
    ),
    (
        Method::TasksGet,
        &[
            "result contents [] uri",
            "result content [] uri",
            "result content [] resource uri",
            "result messages [] content uri",
            "result messages [] content [] uri",
            "result messages [] content resource uri",
            "result messages [] content [] resource uri",
        ],
    ),
];

/// Params by method; a method that comes too late means all of them.
fn params(method: Option<&str>) -> Vec<&'static str> {
    let tasks = RESULTS[3].1;
    match method {
        Some("notifications/resources/updated") => vec!["uri"],
        Some("notifications/subscriptions/acknowledged") => vec!["notifications resourceSubscriptions []"],
        Some("notifications/tasks") => tasks.to_vec(),
        Some(_) => Vec::new(),
        None => [&["uri", "notifications resourceSubscriptions []"], tasks].concat(),
    }
}

/// The members of the root object in their order, or a root that is something else.
#[derive(PartialEq, Debug)]
enum Root {
    Members(Vec<(String, Value)>),
    Other(Value),
}

fn parse(message: &[u8]) -> Option<Root> {
    let first = message.trim_ascii_start().first();
    if first == Some(&b'{') {
        return serde_json::from_slice(message).ok().map(|Members(members)| Root::Members(members));
    }
    serde_json::from_slice(message).ok().map(Root::Other)
}

struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

fn rewrite(root: &mut Root, request: Method, form: Form) {
    let Root::Members(members) = root else { return };
    let mut method = None;
    for (name, value) in members {
        match (name.as_str(), form) {
            ("result", _) => {
                let row = RESULTS.iter().find(|(method, _)| *method == request);
                follow_all(value, row.map_or(&[], |(_, paths)| *paths));
            }
            ("method", Form::Events) => method = value.as_str().map(str::to_owned).or(method),
            ("params", Form::Events) => follow_all(value, &params(method.as_deref())),
            _ => {}
        }
    }
}

fn follow_all(value: &mut Value, paths: &[&str]) {
    for path in paths {
        let path: Vec<&str> = path.split(' ').collect();
        follow(value, &path);
    }
}

fn follow(value: &mut Value, path: &[&str]) {
    match (path, value) {
        ([], Value::String(uri)) => *uri = grown(uri),
        (["[]", rest @ ..], Value::Array(items)) => items.iter_mut().for_each(|item| follow(item, rest)),
        ([name, rest @ ..], Value::Object(members)) => {
            if let Some(member) = members.get_mut(*name) {
                follow(member, rest);
            }
        }
        _ => {}
    }
}

/// The gateway's spelling of a URI.
pub fn grown(uri: &str) -> String {
    match uri.strip_prefix("ui://") {
        Some(rest) => format!("ui://{PREFIX}/{rest}"),
        None => format!("{PREFIX}+{uri}"),
    }
}

/// The messages of an answer: of a stream the data of its events, one that is not ended included.
fn messages(answer: &[u8], form: Form) -> Vec<Vec<u8>> {
    if form == Form::Json {
        return vec![answer.to_vec()];
    }
    let text = answer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(answer);
    let text = replace(&replace(text, b"\r\n", b"\n"), b"\r", b"\n");
    let mut events = vec![Vec::new()];
    for line in text.split(|byte| *byte == b'\n') {
        let (name, value) = line.split_at(line.iter().position(|byte| *byte == b':').unwrap_or(line.len()));
        if line.is_empty() {
            events.push(Vec::new());
        } else if let (b"data", Some(event)) = (name, events.last_mut()) {
            let value = value.strip_prefix(b":").unwrap_or(value);
            event.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            event.push(b'\n');
        }
    }
    events
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(from) {
            replaced.extend_from_slice(to);
            rest = after;
        } else {
            replaced.push(*first);
            rest = after;
        }
    }
    replaced
}

/// What comes out of an answer that comes in as pieces of these sizes, over and over; none: all at once.
pub fn run(method: Method, form: Form, answer: &[u8], sizes: &[u8]) -> (Vec<u8>, Option<GaveUp>) {
    let mut rewriter = Rewriter::new(PREFIX.into(), method, form);
    let mut out = Vec::new();
    let mut sizes = sizes.iter().map(|size| usize::from(*size)).cycle();
    let mut rest = answer;
    let mut taken = 0;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(sizes.next().unwrap_or(rest.len()).min(rest.len()));
        rewriter.feed(piece, &mut out);
        taken += piece.len();
        assert!(out.len() + 29 >= taken, "{} of {taken} bytes are held", taken - out.len());
        rest = after;
    }
    rewriter.finish(&mut out);
    (out, rewriter.gave_up())
}

/// Holds the rewriter against the oracle, whole and in pieces. How many URIs have grown.
pub fn holds(method: Method, form: Form, answer: &[u8], sizes: &[u8]) -> usize {
    let (out, gave_up) = run(method, form, answer, &[]);
    let sizes: Vec<u8> = sizes.iter().copied().filter(|size| *size > 0).collect();
    assert_eq!(run(method, form, answer, &sizes), (out.clone(), gave_up), "the outcome depends on the cut");
    let mut bare = out.clone();
    for insertion in INSERTIONS {
        if replace(answer, insertion, b"") != answer {
            return 0;
        }
        bare = replace(&bare, insertion, b"");
    }
    assert_eq!(bare.escape_ascii().to_string(), answer.escape_ascii().to_string(), "more than insertions");
    let (came, went) = (messages(answer, form), messages(&out, form));
    assert_eq!(came.len(), went.len());
    let mut all_are_json = true;
    for (came, went) in came.iter().zip(&went) {
        match parse(came) {
            Some(mut root) => {
                rewrite(&mut root, method, form);
                assert_eq!(parse(went), Some(root), "{}", came.escape_ascii());
            }
            // White space of JSON (RFC 8259, 2): a form feed is none.
            None => all_are_json &= came.iter().all(|byte| b" \t\r\n".contains(byte)),
        }
    }
    assert!(!all_are_json || gave_up.is_none(), "{gave_up:?} in {}", answer.escape_ascii());
    (out.len() - answer.len()) / 3
}
