//! One body, cut in one way: everything the scanner says is held against the oracle. Panics where they differ.

use std::ops::Range;
use std::sync::Arc;

use crate::oracle::{self, Node};
use crate::scan::{Capture, Kind, Limits, ScanError, ScanErrorKind, Scanner, Slot, Text, Watch, overwrite_string};

/// Small, so that the bounds are met often.
const LIMITS: Limits = Limits { max_depth: 6, max_trailing_space: 3 };

/// Short keys, so that they are met often; one that folds in all three ways.
const PROTECTED: [(&[&str], &[&str]); 2] = [(&[], &["id", "ks"]), (&["p"], &["n", "s"])];
const CAPTURES: [(&[&str], Capture); 7] = [
    (&[], capture(200, false, Text::Raw)),
    (&["id"], capture(12, false, Text::Raw)),
    (&["p"], capture(0, false, Text::Decoded)),
    (&["p", "n"], capture(10, true, Text::Decoded)),
    (&["p", "a", "r"], capture(150, false, Text::Decoded)),
    (&["p", "a", "é"], capture(1, false, Text::Decoded)),
    (&["p", "x"], capture(5, true, Text::Raw)),
];
/// Text kept of a token that is cut.
const QUOTABLE: usize = 128;

const fn capture(max_bytes: u32, held: bool, text: Text) -> Capture {
    Capture { max_bytes, held, text }
}

/// A value as the scanner reports it.
#[derive(PartialEq, Debug)]
struct Value {
    kind: Kind,
    text: Vec<u8>,
    range: Range<u64>,
    cut: bool,
}

type Outcome = (Vec<Option<Value>>, Result<(), ScanError>, Option<Kind>);

fn watch() -> (Arc<Watch>, Vec<Slot>) {
    let mut watch = Watch::builder();
    for (path, keys) in PROTECTED {
        watch.protect(path, keys);
    }
    let slots = CAPTURES.iter().map(|(path, capture)| watch.capture(path, *capture)).collect();
    (Arc::new(watch.build()), slots)
}

/// The body cut into pieces of these sizes, over and over; an empty list is the whole at once.
pub fn pieces<'b>(body: &'b [u8], sizes: &[u8]) -> Vec<&'b [u8]> {
    let mut rest = body;
    let mut pieces = Vec::new();
    let mut sizes = sizes.iter().map(|size| usize::from(*size)).filter(|size| *size > 0).cycle();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(sizes.next().unwrap_or(rest.len()).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Input of the fuzz target `scan`: the first byte says how many sizes of pieces follow it, the rest is the body.
pub fn scan_case(data: &[u8]) {
    let Some((&count, rest)) = data.split_first() else { return };
    let (sizes, body) = rest.split_at(usize::from(count % 4).min(rest.len()));
    agrees(body, sizes);
}

/// Input of the fuzz target `edit`: the first byte is the length of the new name that follows it, the rest is a body
/// or, if there is nothing in it to rename, a string to put into one.
pub fn edit_case(data: &[u8]) {
    let Some((&len, rest)) = data.split_first() else { return };
    let (name, body) = rest.split_at(usize::from(len).min(rest.len()));
    let name = String::from_utf8_lossy(name);
    if !renames(body, &name) {
        let old = serde_json::to_string(&String::from_utf8_lossy(body)).expect("a string is JSON");
        assert!(renames(format!("{{\"p\":{{\"n\": {old},\"x\":1}}}}").as_bytes(), &name));
    }
}

/// Holds the scanner against the oracle, whole and cut. True if the body is taken.
pub fn agrees(body: &[u8], sizes: &[u8]) -> bool {
    let tree = oracle::parse(body, usize::from(LIMITS.max_depth), LIMITS.max_trailing_space as usize);
    let whole = run(&[body], tree.as_ref(), body);
    let cut = run(&pieces(body, sizes), tree.as_ref(), body);
    assert_eq!(whole, cut, "the outcome depends on the cut");
    let (values, verdict, root) = whole;
    let Some(tree) = tree else {
        assert!(verdict.is_err(), "taken, but it is no JSON");
        return false;
    };
    assert_eq!(root, Some(tree.kind));
    if let Some(error) = doubled(&tree) {
        assert_eq!(verdict, Err(error));
        return false;
    }
    assert_eq!(verdict, Ok(()));
    for ((path, capture), value) in CAPTURES.iter().zip(values) {
        assert_eq!(value, expected(&tree, path, *capture), "at {path:?}");
    }
    true
}

fn run(pieces: &[&[u8]], tree: Option<&Node>, body: &[u8]) -> Outcome {
    let (watch, slots) = watch();
    let mut scanner = Scanner::new(watch, LIMITS);
    let mut verdict = Ok(());
    let mut safe = 0;
    for piece in pieces {
        verdict = scanner.feed(piece);
        assert!(scanner.safe() >= safe && scanner.safe() <= scanner.fed());
        assert!(verdict.is_ok() || scanner.safe() == safe, "moved by a wrong chunk");
        safe = scanner.safe();
        if verdict.is_err() {
            break;
        }
        if let Some(tree) = tree {
            assert_eq!(safe, safe_at(scanner.fed(), tree, body), "at {} of {}", scanner.fed(), body.len());
        }
    }
    let end = scanner.finish();
    assert!(verdict.is_ok() || verdict == end, "an error stays");
    assert_eq!(scanner.safe(), safe);
    let values = slots.iter().map(|slot| {
        scanner.found(*slot).map(|found| Value {
            kind: found.kind,
            text: found.text.to_vec(),
            range: found.range,
            cut: found.cut,
        })
    });
    (values.collect(), end, scanner.root())
}

/// How far a body that is valid so far may leave when so many bytes have been fed.
fn safe_at(fed: u64, tree: &Node, body: &[u8]) -> u64 {
    let mut safe = fed;
    let front = &body[..fed as usize];
    if let Err(error) = std::str::from_utf8(front) {
        safe = error.valid_up_to() as u64;
    }
    let mut bounds = vec![last_byte(tree, body)];
    for (path, capture) in CAPTURES.iter().filter(|(_, capture)| capture.held) {
        let Some(node) = find(tree, path).filter(|node| !matches!(node.kind, Kind::Object | Kind::Array)) else {
            continue;
        };
        let cut = node.range.end - node.range.start > u64::from(capture.max_bytes);
        // A number is complete only when something follows it.
        let complete = if node.kind == Kind::Number { node.range.end + 1 } else { node.range.end };
        if safe < complete || cut {
            bounds.push(node.range.start);
        }
    }
    bounds.into_iter().fold(safe, u64::min).min(number_root(tree, safe))
}

fn last_byte(tree: &Node, body: &[u8]) -> u64 {
    match tree.kind {
        Kind::Object | Kind::Array => {
            let close = body.iter().rposition(|byte| matches!(byte, b'}' | b']'));
            close.expect("a container closes") as u64
        }
        _ => tree.range.end - 1,
    }
}

/// Each digit of a number at the root may be its last.
fn number_root(tree: &Node, safe: u64) -> u64 {
    if tree.kind == Kind::Number && safe > tree.range.start { (safe - 1).min(tree.range.end - 1) } else { safe }
}

fn find<'t>(tree: &'t Node, path: &[&str]) -> Option<&'t Node> {
    path.iter()
        .try_fold(tree, |node, key| node.members.iter().find(|member| member.key == *key).map(|member| &member.value))
}

fn expected(tree: &Node, path: &[&str], capture: Capture) -> Option<Value> {
    let node = find(tree, path)?;
    let container = matches!(node.kind, Kind::Object | Kind::Array);
    let cut = !container && node.range.end - node.range.start > u64::from(capture.max_bytes);
    let text = if node.kind == Kind::String && capture.text == Text::Decoded { &node.text } else { &node.raw };
    let room = if cut { QUOTABLE.max(capture.max_bytes as usize) } else { usize::MAX };
    let text = &text[..text.floor_char_boundary(room)];
    Some(Value { kind: node.kind, text: text.as_bytes().to_vec(), range: node.range.clone(), cut })
}

/// The first key in the body that may not stand there.
fn doubled(tree: &Node) -> Option<ScanError> {
    doubled_in(tree, &[])
}

fn doubled_in(node: &Node, path: &[&str]) -> Option<ScanError> {
    let protected = PROTECTED.iter().find(|(at, _)| *at == path).map_or(&[][..], |(_, keys)| keys);
    let captured =
        CAPTURES.iter().filter(|(at, _)| at.len() > path.len() && at.starts_with(path)).map(|(at, _)| at[path.len()]);
    let named: Vec<&str> = captured.chain(protected.iter().copied()).collect();
    let dotted = |key: &str| [path, &[key]].concat().join(".").into_boxed_str();
    let mut seen: Vec<&str> = Vec::new();
    for member in &node.members {
        let key = member.key.as_str();
        let fail = |kind| Some(ScanError { kind, at: member.key_at });
        if let Some(name) = protected.iter().find(|name| ***name != *key && fold(name) == fold(key)) {
            return fail(ScanErrorKind::FoldedKey(dotted(name)));
        }
        let Some(name) = named.iter().find(|name| ***name == *key) else {
            continue;
        };
        if seen.contains(name) {
            return fail(ScanErrorKind::DuplicateKey(dotted(name)));
        }
        seen.push(name);
        let inside = doubled_in(&member.value, &[path, &[*name]].concat());
        if inside.is_some() {
            return inside;
        }
    }
    None
}

fn fold(key: &str) -> String {
    key.replace('\u{17f}', "s").replace('\u{212a}', "k").to_ascii_lowercase()
}

/// Holds that a body which is taken is not taken when its end is missing, at some hundred places.
pub fn misses_its_end(body: &[u8]) {
    let (watch, _) = watch();
    let whole = body.trim_ascii_end().len();
    for len in (0..whole).rev().step_by(1 + whole / 100) {
        let mut scanner = Scanner::new(Arc::clone(&watch), LIMITS);
        assert_eq!(scanner.feed(&body[..len]), Ok(()));
        assert_eq!(scanner.finish(), Err(ScanError { kind: ScanErrorKind::Truncated, at: len as u64 }));
        assert!(scanner.safe() <= len as u64);
    }
}

/// Renames `p.n` in the body if it is a string that is found, and holds the edited body against the oracle. True if
/// there was something to rename.
pub fn renames(body: &[u8], name: &str) -> bool {
    let mut watch = Watch::builder();
    let slot = watch.capture(&["p", "n"], capture(u32::MAX, true, Text::Decoded));
    let mut scanner = Scanner::new(Arc::new(watch.build()), Limits { max_depth: 128, max_trailing_space: 100 });
    if scanner.feed(body).and_then(|()| scanner.finish()).is_err() {
        return false;
    }
    let Some(found) = scanner.found(slot).filter(|found| found.kind == Kind::String) else {
        return false;
    };
    let mut edited = body.to_vec();
    let range = found.range.start as usize..found.range.end as usize;
    let fits = serde_json::to_string(name).expect("a string is JSON").len() <= range.len();
    let done = overwrite_string(&mut edited[range], name);
    assert_eq!(done.is_ok(), fits, "{done:?}");
    let read = |bytes: &[u8]| std::str::from_utf8(bytes).ok().and_then(oracle::whole);
    let mut wanted = read(body).expect("the scanner took it");
    if fits {
        assert_eq!(wanted["p"]["n"].as_str().map(str::as_bytes), Some(found.text));
        wanted["p"]["n"] = name.into();
    }
    assert_eq!(edited.len(), body.len());
    assert_eq!(read(&edited), Some(wanted));
    true
}
