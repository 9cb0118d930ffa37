//! What is looked for in a body: a tree of object keys, compiled once and shared by all requests of a kind.
//! Knows nothing of any one body.

use super::key::{LONGEST_FOLD, fold, folds_to};

/// The entry that stands for the root value.
pub(super) const ROOT: EntryId = 0;

pub(super) type EntryId = usize;
pub(super) type NodeId = usize;

/// How a captured value is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capture {
    /// Raw bytes of the token (quotes and escapes included) past which it is reported as cut.
    /// [`Scanner::set_max_bytes`](super::Scanner::set_max_bytes) overrides it for one request.
    pub max_bytes: u32,
    /// The token may not leave before it is complete; one that is cut may not leave at all. Containers are never held.
    pub held: bool,
    pub text: Text,
}

/// What is kept of a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Text {
    /// Unescaped, without quotes.
    Decoded,
    /// As on the wire, with quotes: for what is echoed.
    Raw,
}

/// Through which a captured value is read. Belongs to the [`Watch`] whose builder gave it out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub(super) EntryId);

/// A value that is looked for, or an object on the way to one.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Dotted, for messages.
    pub(super) path: Box<str>,
    pub(super) capture: Option<Capture>,
    pub(super) protected: bool,
    /// The object that its key stands in.
    around: Option<NodeId>,
    /// What is looked for inside, should it be an object.
    pub(super) node: Option<NodeId>,
}

/// The keys that matter in one object.
#[derive(Clone, Debug)]
struct Node {
    /// The object around this one.
    parent: Option<NodeId>,
    /// Sorted by length, then bytes: most keys of a body differ from all of these in length already.
    keys: Vec<(Box<str>, EntryId)>,
    /// Folded.
    protected: Vec<(Box<[u8]>, EntryId)>,
}

/// Builds a [`Watch`].
#[derive(Clone, Debug)]
pub struct WatchBuilder {
    entries: Vec<Entry>,
    nodes: Vec<Node>,
}

/// The compiled tree.
#[derive(Debug)]
pub struct Watch {
    entries: Vec<Entry>,
    nodes: Vec<Node>,
    longest_key: usize,
}

/// What a key of a watched object is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Match {
    Exact(EntryId),
    /// Not a protected key, but some parsers take it for one.
    Folded(EntryId),
    Nothing,
}

impl Entry {
    fn new(path: Box<str>) -> Self {
        Self { path, capture: None, protected: false, around: None, node: None }
    }
}

impl WatchBuilder {
    /// Protects keys of the object at `path` (`&[]` is the root object): a second occurrence, or a spelling that only
    /// simple case folding makes equal, is an error. Keys should be ASCII.
    pub fn protect(&mut self, path: &[&str], keys: &[&str]) {
        let object = self.entry(path);
        for key in keys {
            let child = self.child(object, key);
            if let Some(entry) = self.entries.get_mut(child) {
                entry.protected = true;
            }
        }
    }

    /// Watches the value at `path`, through object members only, never array elements; `&[]` is the root value. Each
    /// key of the path may stand only once in its object. The same path again gives the same slot: the larger
    /// `max_bytes` and `held` win, `text` stays as it was.
    pub fn capture(&mut self, path: &[&str], capture: Capture) -> Slot {
        let id = self.entry(path);
        if let Some(entry) = self.entries.get_mut(id) {
            entry.capture = Some(match entry.capture {
                None => capture,
                Some(before) => Capture {
                    max_bytes: before.max_bytes.max(capture.max_bytes),
                    held: before.held || capture.held,
                    text: before.text,
                },
            });
        }
        Slot(id)
    }

    pub fn build(mut self) -> Watch {
        let mut longest_key = 0;
        for node in &mut self.nodes {
            node.keys.sort_by(|(one, _), (other, _)| in_order(one, other.as_bytes()));
            node.protected.clear();
            for (key, id) in &node.keys {
                longest_key = longest_key.max(key.len());
                if self.entries.get(*id).is_some_and(|entry| entry.protected) {
                    node.protected.push((fold(key), *id));
                }
            }
        }
        Watch { entries: self.entries, nodes: self.nodes, longest_key: longest_key.saturating_mul(LONGEST_FOLD) }
    }

    fn entry(&mut self, path: &[&str]) -> EntryId {
        path.iter().fold(ROOT, |entry, key| self.child(entry, key))
    }

    /// The entry for `key` in the object that `parent` is.
    fn child(&mut self, parent: EntryId, key: &str) -> EntryId {
        let node_id = self.node(parent);
        let fresh = self.entries.len();
        let Some(node) = self.nodes.get_mut(node_id) else {
            return ROOT;
        };
        if let Some((_, known)) = node.keys.iter().find(|(known, _)| **known == *key) {
            return *known;
        }
        node.keys.push((key.into(), fresh));
        let path = match self.entries.get(parent) {
            Some(entry) if !entry.path.is_empty() => format!("{}.{key}", entry.path),
            _ => key.to_owned(),
        };
        self.entries.push(Entry { around: Some(node_id), ..Entry::new(path.into()) });
        fresh
    }

    fn node(&mut self, parent: EntryId) -> NodeId {
        let fresh = self.nodes.len();
        let Some(entry) = self.entries.get_mut(parent) else {
            return fresh;
        };
        let id = *entry.node.get_or_insert(fresh);
        if id == fresh {
            let parent = entry.around;
            self.nodes.push(Node { parent, keys: Vec::new(), protected: Vec::new() });
        }
        id
    }
}

impl Watch {
    pub fn builder() -> WatchBuilder {
        WatchBuilder { entries: vec![Entry::new("".into())], nodes: Vec::new() }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn entry(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(id)
    }

    pub(super) fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.nodes.get(node).and_then(|node| node.parent)
    }

    /// Unescaped keys longer than this match nothing.
    pub(super) fn longest_key(&self) -> usize {
        self.longest_key
    }

    /// What `key`, unescaped, is in that object.
    pub(super) fn look_up(&self, node: NodeId, key: &[u8]) -> Match {
        let Some(node) = self.nodes.get(node) else {
            return Match::Nothing;
        };
        let exact = node.keys.binary_search_by(|(name, _)| in_order(name, key));
        let exact = exact.ok().and_then(|index| node.keys.get(index)).map(|(_, id)| *id);
        if let Some(id) = exact.filter(|id| self.entry(*id).is_some_and(|entry| entry.protected)) {
            return Match::Exact(id);
        }
        // A key that is watched in a spelling which folds to a protected one is refused all the same.
        let folded = node.protected.iter().find(|(name, _)| folds_to(key, name));
        match (folded, exact) {
            (Some((_, id)), _) => Match::Folded(*id),
            (None, Some(id)) => Match::Exact(id),
            (None, None) => Match::Nothing,
        }
    }
}

fn in_order(name: &str, key: &[u8]) -> std::cmp::Ordering {
    name.len().cmp(&key.len()).then_with(|| name.as_bytes().cmp(key))
}
