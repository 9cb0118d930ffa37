//! Where answers are kept, bounded in bytes and number whatever servers and clients do.
//!
//! Knows what an entry weighs. Must never be asked whether an entry may be given to someone: that is decided by who asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use moka::sync;

use super::Clock;
use super::merged::Merged;
use super::offer::{Offer, Question};
use super::rules::Caller;

/// What an entry weighs at least, so that the bytes bound the number too.
pub const LEAST_WEIGHT: u32 = 1024;

/// To whom an entry may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whose {
    Everyone,
    /// Those who send the same credentials, or none as well.
    Only(Option<Caller>),
}

/// Which answer of which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OfferKey {
    /// Of the server's [`Cache`](super::cache::Cache).
    pub cache: u64,
    pub question: Question,
    /// Digest of the client's capabilities.
    pub variant: u128,
    pub whose: Whose,
}

/// Which merged answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MergedKey {
    /// The server whose own endpoint it is for; `None` for the merged one.
    pub door: Option<usize>,
    pub question: Question,
    pub variant: u128,
    pub whose: Whose,
}

/// The two kinds of entries; each may take half of the bytes.
#[derive(Debug)]
pub struct Store {
    pub offers: sync::Cache<OfferKey, Arc<Offer>>,
    pub merged: sync::Cache<MergedKey, Arc<Merged>>,
    /// Counts what made answers old before their time; a merged answer of another count is not fresh.
    epoch: AtomicU64,
    caches: AtomicU64,
    clock: Clock,
}

impl Store {
    pub fn new(max_bytes: u64, clock: Clock) -> Arc<Self> {
        let half = max_bytes / 2;
        let offers =
            sync::Cache::builder().max_capacity(half).weigher(|_, offer: &Arc<Offer>| weight(offer.content.bytes()));
        let merged =
            sync::Cache::builder().max_capacity(half).weigher(|_, merged: &Arc<Merged>| weight(merged.bytes()));
        Arc::new(Self {
            offers: offers.build(),
            merged: merged.build(),
            epoch: AtomicU64::default(),
            caches: AtomicU64::default(),
            clock,
        })
    }

    /// A number for one server's answers that no other has.
    pub fn new_cache(&self) -> u64 {
        self.caches.fetch_add(1, Ordering::Relaxed)
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Something that was merged is not so any more.
    pub fn turn(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Entries and bytes that are kept now, about.
    pub fn size(&self) -> (u64, u64) {
        let entries = self.offers.entry_count() + self.merged.entry_count();
        (entries, self.offers.weighted_size() + self.merged.weighted_size())
    }
}

fn weight(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX).saturating_add(LEAST_WEIGHT)
}
