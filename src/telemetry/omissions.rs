//! What was left out of lists: each item said once, with its reason, and counted.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use super::Metrics;
use crate::catalog::omission::LeftOut;
use crate::protocol::Method;
use crate::protocol::quote;

/// Items that are remembered as said; past it some may be said again.
const REMEMBERED: usize = 10_000;
/// Lines for one server's list; the others are counted.
const SAID: usize = 10;

/// Everything that was said.
#[derive(Debug)]
pub struct Omissions {
    said: Mutex<HashSet<u64>>,
    hasher: RandomState,
    metrics: Arc<Metrics>,
}

impl Omissions {
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { said: Mutex::default(), hasher: RandomState::new(), metrics }
    }

    /// Says what is new among these ("Clients SHOULD log a warning when rejecting a tool definition"): the first few by
    /// name, the others by number.
    pub fn note<'l>(&self, server: &str, method: Method, left_out: impl Iterator<Item = &'l LeftOut>) {
        let new: Vec<_> = left_out.filter(|item| self.is_new(server, method, item)).collect();
        for item in &new {
            self.metrics.catalog.left_out(server, method, item.omission.label());
        }
        for item in new.iter().take(SAID) {
            log::warn!("server {server}: {} {} is left out: {}", method.label(), quote(&item.name), item.omission);
        }
        if new.len() > SAID {
            log::warn!("server {server}: {} {} more are left out", method.label(), new.len() - SAID);
        }
    }

    fn is_new(&self, server: &str, method: Method, item: &LeftOut) -> bool {
        let fingerprint = self.hasher.hash_one((server, method, &item.name, item.omission.label()));
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() >= REMEMBERED {
            said.clear();
        }
        said.insert(fingerprint)
    }
}
