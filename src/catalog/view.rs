//! The lists of several servers as one: in order, under public names, page by page.
//!
//! Pure. Whatever depends on the door (prefixes, what the configuration hides) is applied here, never in what is kept.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Value, json};

use super::about::server_info;
use super::cursor::Cursor;
use super::kind::Kind;
use super::list::List;
use super::names::{self, public_name};
use super::omission::{LeftOut, Omission};
use crate::config;
use crate::protocol::Scope;
use crate::protocol::meta;
use crate::routing::{Door, Table, prefixed_uri};

/// What all names of one configuration must respect.
#[derive(Clone, Debug)]
pub struct Naming {
    /// In characters.
    pub max_name_length: usize,
    /// Where names lead.
    pub table: Arc<Table>,
}

/// What a server's names are like at a door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// Its own: at its own endpoint.
    Bare,
    /// Behind this prefix, at the merged endpoint; an empty one leaves them as they are.
    Merged(Arc<str>),
}

/// Which tools of a server the configuration shows.
pub type Shown = Arc<config::Tools>;
/// What becomes of a server's URIs.
pub type Uris = Arc<config::Uris>;

/// One server's part of a merged list.
#[derive(Clone, Debug)]
pub struct Part {
    pub server: Arc<str>,
    /// Its place in the configuration.
    pub position: usize,
    pub names: Names,
    pub list: Arc<List>,
    pub shown: Shown,
    pub uris: Uris,
}

/// A merged list: servers in the configuration's order, items in the order of their own keys.
#[derive(Debug)]
pub struct View {
    kind: Kind,
    parts: Vec<Part>,
    entries: Vec<Entry>,
    /// What this view leaves out besides what the lists do, by server.
    left_out: Vec<(Arc<str>, Vec<LeftOut>)>,
}

#[derive(Debug)]
struct Entry {
    part: u32,
    item: u32,
    public: Box<str>,
}

/// One page of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    range: Range<usize>,
    next: Option<String>,
}

/// What is said of a page besides its items.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    pub scope: Scope,
    /// Servers that did not answer.
    pub unavailable: &'a [Arc<str>],
}

impl View {
    pub fn merge(kind: Kind, parts: Vec<Part>, naming: &Naming) -> Self {
        let mut entries = Vec::with_capacity(parts.iter().map(|part| part.list.items().len()).sum());
        let mut left_out = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let mut omitted = Vec::new();
            for (item, listed) in part.list.items().iter().enumerate() {
                match part.public(kind, listed.key(), naming) {
                    Ok(public) => entries.push(Entry { part: small(index), item: small(item), public: public.into() }),
                    Err(omission) => omitted.push(LeftOut::new(listed.key(), omission)),
                }
            }
            if !omitted.is_empty() {
                left_out.push((Arc::clone(&part.server), omitted));
            }
        }
        Self { kind, parts, entries, left_out }
    }

    pub fn left_out(&self) -> &[(Arc<str>, Vec<LeftOut>)] {
        &self.left_out
    }

    /// What the lists and this view leave out, each with its server.
    pub fn all_left_out(&self) -> impl Iterator<Item = (&str, &LeftOut)> {
        let own = self.parts.iter().flat_map(|part| part.list.left_out().iter().map(|item| (&*part.server, item)));
        let here = self.left_out.iter().flat_map(|(server, items)| items.iter().map(|item| (&**server, item)));
        own.chain(here)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Each item's server, its public name and its own key.
    pub fn items(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.entries.iter().filter_map(|entry| {
            let part = self.parts.get(entry.part as usize)?;
            let item = part.list.items().get(entry.item as usize)?;
            Some((&*part.server, &*entry.public, item.key()))
        })
    }

    /// The servers whose list was cut short.
    pub fn cut(&self) -> impl Iterator<Item = &Arc<str>> {
        self.parts.iter().filter(|part| part.list.cut().is_some()).map(|part| &part.server)
    }

    /// Bytes it takes besides the lists, about.
    pub fn bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.public.len() + std::mem::size_of::<Entry>()).sum()
    }

    /// The page after an item, or after where it was; all that is left where there is no size.
    pub fn page(&self, after: Option<&Cursor>, size: Option<NonZeroUsize>) -> Slice {
        let start = after.map_or(0, |cursor| self.after(cursor));
        let end = size.map_or(self.entries.len(), |size| start.saturating_add(size.get()).min(self.entries.len()));
        let next = (end < self.entries.len()).then(|| self.cursor_at(end)).flatten();
        Slice { range: start..end, next: next.map(|cursor| cursor.encode()) }
    }

    /// A page as the result of a list request, up to where the digits of `ttlMs` go.
    pub fn render(&self, slice: &Slice, about: &About<'_>) -> Vec<u8> {
        let entries = self.entries.get(slice.range.clone()).unwrap_or_default();
        let items = || entries.iter().filter_map(|entry| self.item(entry));
        let size: usize = items().map(|(_, item)| item.raw().len() + 64).sum();
        let mut out = Vec::with_capacity(size + 512);
        out.extend_from_slice(b"{\"resultType\":\"complete\",\"");
        out.extend_from_slice(self.kind.member().as_bytes());
        out.extend_from_slice(b"\":[");
        for (index, entry) in entries.iter().enumerate() {
            let Some((part, item)) = self.item(entry) else { continue };
            if index > 0 {
                out.push(b',');
            }
            item.write(&mut out, &entry.public, part.uri_prefix());
        }
        out.push(b']');
        if let Some(next) = &slice.next {
            // Base64 needs no escape.
            out.extend_from_slice(format!(",\"nextCursor\":\"{next}\"").as_bytes());
        }
        out.extend_from_slice(b",\"_meta\":");
        out.extend_from_slice(&self.meta(about));
        out.extend_from_slice(format!(",\"cacheScope\":\"{}\",\"ttlMs\":", about.scope.label()).as_bytes());
        out
    }

    /// A single server under bare names speaks for itself; otherwise the gateway says who it is and what is missing.
    fn meta(&self, about: &About<'_>) -> Vec<u8> {
        let incomplete: Vec<&str> = self.cut().map(|server| &**server).collect();
        let is_whole = about.unavailable.is_empty() && incomplete.is_empty();
        if let ([part], true) = (self.parts.as_slice(), is_whole)
            && part.prefix().is_none()
            && let Some(own) = part.list.meta()
        {
            return own.to_vec();
        }
        let mut members = serde_json::Map::new();
        members.insert(meta::SERVER_INFO.into(), server_info());
        let names = |servers: &[&str]| Value::from(servers.iter().map(|server| json!(server)).collect::<Vec<_>>());
        if !about.unavailable.is_empty() {
            let unavailable: Vec<&str> = about.unavailable.iter().map(|server| &**server).collect();
            members.insert(meta::UNAVAILABLE.into(), names(&unavailable));
        }
        if !incomplete.is_empty() {
            members.insert(meta::INCOMPLETE.into(), names(&incomplete));
        }
        Value::Object(members).to_string().into_bytes()
    }

    fn item(&self, entry: &Entry) -> Option<(&Part, &super::item::Item)> {
        let part = self.parts.get(entry.part as usize)?;
        Some((part, part.list.items().get(entry.item as usize)?))
    }

    fn after(&self, cursor: &Cursor) -> usize {
        let known = self.parts.iter().find(|part| *part.server == *cursor.server);
        // A server that is gone leaves its place to those behind it.
        let (position, key) = match known {
            Some(part) => (part.position, Some(cursor.after.as_str())),
            None => (cursor.position as usize, None),
        };
        self.entries.partition_point(|entry| match self.item(entry) {
            None => true,
            Some((part, item)) => {
                part.position < position || (part.position == position && key.is_some_and(|key| item.key() <= key))
            }
        })
    }

    /// The cursor that leads to the entry at `index`: the one before it.
    fn cursor_at(&self, index: usize) -> Option<Cursor> {
        let (part, item) = self.item(self.entries.get(index.checked_sub(1)?)?)?;
        Some(Cursor {
            kind: self.kind,
            server: part.server.to_string(),
            position: small(part.position),
            after: item.key().to_owned(),
        })
    }
}

impl Part {
    /// What an item is called in this view. What would not lead back to it is left out.
    fn public(&self, kind: Kind, key: &str, naming: &Naming) -> Result<String, Omission> {
        if kind == Kind::Tools && !self.shown.shows(key) {
            return Err(Omission::Hidden);
        }
        let Names::Merged(prefix) = &self.names else { return Ok(key.to_owned()) };
        if kind.is_named() { self.public_name(prefix, key, naming) } else { self.public_uri(prefix, kind, key, naming) }
    }

    fn public_name(&self, prefix: &str, name: &str, naming: &Naming) -> Result<String, Omission> {
        let max = naming.max_name_length;
        let public = public_name(prefix, name, max);
        match naming.table.server(Door::Merged, &public) {
            Ok((position, bare)) if position == self.position => {
                let collides = !prefix.is_empty() && names::shortened(&self.list, prefix, max).collides(bare);
                if collides { Err(Omission::Collides) } else { Ok(public) }
            }
            _ => Err(Omission::Claimed("name")),
        }
    }

    fn public_uri(&self, prefix: &str, kind: Kind, uri: &str, naming: &Naming) -> Result<String, Omission> {
        let public = if self.uris.is_rewritten() { prefixed_uri(prefix, uri) } else { uri.to_owned() };
        match naming.table.server_of_uri(Door::Merged, &public) {
            Some((position, own)) if position == self.position && own == uri => Ok(public),
            _ if self.uris.is_rewritten() => Err(Omission::Claimed(kind.key())),
            _ => Err(Omission::Unrouted(kind.key())),
        }
    }

    fn prefix(&self) -> Option<&str> {
        match &self.names {
            Names::Merged(prefix) if !prefix.is_empty() => Some(prefix),
            _ => None,
        }
    }

    /// What is put into the URIs inside items.
    fn uri_prefix(&self) -> Option<&str> {
        self.prefix().filter(|_| self.uris.is_rewritten())
    }
}

fn small(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
