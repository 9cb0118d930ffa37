//! Names at the merged endpoint: with their server's prefix, and shortened where some model API would refuse them.
//!
//! A shortened name says nothing by itself; it is found again in its server's list, by the same rule, on any replica.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::list::List;
use crate::routing::prefixed_name;

/// `_` and eight characters of base32: 40 bits of the whole name's hash.
const TAIL: usize = 9;
const HASHED_BYTES: usize = 5;

/// Which of a list's items have shortened names.
#[derive(Debug, Default)]
pub struct Shortened {
    /// By the part after the prefix, which item; `None` where two would have that name.
    by_name: HashMap<String, Option<usize>>,
}

/// What an item is called at the merged endpoint. `max` counts characters; without a prefix nothing is shortened.
pub fn public_name(prefix: &str, name: &str, max: usize) -> String {
    let whole = prefixed_name(prefix, name);
    if prefix.is_empty() || whole.chars().count() <= max {
        return whole;
    }
    let kept = max.saturating_sub(TAIL);
    let end = whole.char_indices().nth(kept).map_or(whole.len(), |(end, _)| end);
    let hash = Sha256::digest(whole.as_bytes());
    let tail = data_encoding::BASE32_NOPAD.encode(hash.get(..HASHED_BYTES).unwrap_or_default()).to_ascii_lowercase();
    format!("{}_{tail}", whole.get(..end).unwrap_or_default())
}

/// Whether a name (the part after the prefix) may stand for a longer one.
pub fn may_be_shortened(bare: &str, prefix: &str, max: usize) -> bool {
    let is_base32 = |byte: u8| matches!(byte, b'a'..=b'z' | b'2'..=b'7');
    let has_tail = bare
        .len()
        .checked_sub(TAIL)
        .and_then(|at| bare.as_bytes().get(at..))
        .is_some_and(|tail| tail.first() == Some(&b'_') && tail.iter().skip(1).all(|byte| is_base32(*byte)));
    has_tail && !prefix.is_empty() && prefixed_name(prefix, bare).chars().count() == max
}

/// The server's own name for a shortened one.
pub fn restore<'l>(list: &'l List, prefix: &str, max: usize, bare: &str) -> Option<&'l str> {
    let shortened = list.shortened(|| Shortened::of(list, prefix, max));
    let index = shortened.by_name.get(bare).copied().flatten()?;
    list.items().get(index).map(super::item::Item::key)
}

impl Shortened {
    fn of(list: &List, prefix: &str, max: usize) -> Self {
        let mut by_name: HashMap<String, Option<usize>> = HashMap::new();
        if prefix.is_empty() || !list.kind().is_named() {
            return Self { by_name };
        }
        for (index, item) in list.items().iter().enumerate() {
            let public = public_name(prefix, item.key(), max);
            let bare = public.get(prefix.len() + crate::routing::SEPARATOR.len()..).unwrap_or_default();
            if bare != item.key() {
                by_name.entry(bare.to_owned()).and_modify(|index| *index = None).or_insert(Some(index));
            }
        }
        // A name that another item really has belongs to neither.
        for item in list.items() {
            if let Some(taken) = by_name.get_mut(item.key()) {
                *taken = None;
            }
        }
        Self { by_name }
    }

    /// Whether an item that is called so, after the prefix, shares that name.
    pub(super) fn collides(&self, bare: &str) -> bool {
        self.by_name.get(bare).is_some_and(Option::is_none)
    }
}

/// The collisions of a list's names under this prefix.
pub(super) fn shortened<'l>(list: &'l List, prefix: &str, max: usize) -> &'l Shortened {
    list.shortened(|| Shortened::of(list, prefix, max))
}
