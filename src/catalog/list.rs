//! One server's complete list of one kind: every item once, in order, and what was left out.
//!
//! Must never lose an item without saying why.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;

use super::item::Item;
use super::kind::Kind;
use super::names::Shortened;
use super::omission::{LeftOut, Omission};
use super::page::Page;

/// Bytes of all pages of one list, and items: far above what any real server has.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;
pub const MAX_ITEMS: usize = 50_000;

/// Why a list is shorter than its server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cut {
    #[error("it has more than 1,000 pages")]
    Pages,
    #[error("it has more than {MAX_ITEMS} items")]
    Items,
    #[error("it has more than {MAX_BYTES} bytes")]
    Bytes,
    #[error("it repeats the cursor of an earlier page")]
    Repeats,
}

/// A list. Items are ordered by their keys, in bytes, and unique.
#[derive(Debug)]
pub struct List {
    kind: Kind,
    items: Vec<Item>,
    left_out: Vec<LeftOut>,
    cut: Option<Cut>,
    meta: Option<Bytes>,
    shortened: OnceLock<Arc<Shortened>>,
}

impl List {
    /// Puts pages together. `lawful` is asked about every tool, with its own name.
    pub fn build(
        kind: Kind,
        pages: Vec<Page>,
        mut cut: Option<Cut>,
        mut lawful: impl FnMut(&str, &Value) -> Result<(), Omission>,
    ) -> Self {
        let meta = pages.first().and_then(|page| page.meta.clone());
        let mut raw: Vec<Bytes> = pages.into_iter().flat_map(|page| page.items).collect();
        if raw.len() > MAX_ITEMS {
            raw.truncate(MAX_ITEMS);
            cut = cut.or(Some(Cut::Items));
        }
        let (mut items, mut left_out) = (Vec::with_capacity(raw.len()), Vec::new());
        for raw in raw {
            match Item::read(kind, raw) {
                Ok(item) => items.push(item),
                Err(unread) => left_out.push(unread),
            }
        }
        items.sort_by(|one: &Item, other| one.key().cmp(other.key()));
        let items = unique(kind, items, &mut left_out);
        let is_lawful = |item: &Item| match kind {
            Kind::Tools => item.value().and_then(|value| lawful(item.key(), &value)),
            _ => Ok(()),
        };
        let items = keep(items, &mut left_out, is_lawful);
        Self { kind, items, left_out, cut, meta, shortened: OnceLock::new() }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn items(&self) -> &[Item] {
        &self.items
    }

    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    pub fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// The `_meta` of the first page's result, as it was written.
    pub fn meta(&self) -> Option<&Bytes> {
        self.meta.as_ref()
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        self.items.iter().map(Item::bytes).sum::<usize>() + self.meta.as_ref().map_or(0, Bytes::len)
    }

    pub fn same_content(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.cut == other.cut
            && self.meta == other.meta
            && self.left_out == other.left_out
            && self.items.len() == other.items.len()
            && self.items.iter().zip(&other.items).all(|(one, other)| one.raw() == other.raw())
    }

    /// The names that are shortened under this prefix; one list stands behind one prefix, so they are found once.
    pub(super) fn shortened(&self, find: impl FnOnce() -> Shortened) -> &Shortened {
        self.shortened.get_or_init(|| Arc::new(find()))
    }
}

/// Of items with the same key all are left out: nobody knows which of them would be meant.
fn unique(kind: Kind, items: Vec<Item>, left_out: &mut Vec<LeftOut>) -> Vec<Item> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for pair in items.windows(2) {
        if let [one, other] = pair
            && one.key() == other.key()
        {
            *counts.entry(one.key().to_owned()).or_insert(1) += 1;
        }
    }
    keep(
        items,
        left_out,
        |item| if counts.contains_key(item.key()) { Err(Omission::Doubled(kind.key())) } else { Ok(()) },
    )
}

fn keep(
    items: Vec<Item>,
    left_out: &mut Vec<LeftOut>,
    mut may_stay: impl FnMut(&Item) -> Result<(), Omission>,
) -> Vec<Item> {
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        match may_stay(&item) {
            Ok(()) => kept.push(item),
            Err(omission) => left_out.push(LeftOut::new(item.key(), omission)),
        }
    }
    kept
}
