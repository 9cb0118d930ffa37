//! What the process is up to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::admin::{State, Teller};

/// Shared by all who change it or ask.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    listening: Arc<AtomicBool>,
    draining: Arc<AtomicBool>,
}

impl Lifecycle {
    pub fn listens(&self) {
        self.listening.store(true, Ordering::Release);
    }

    pub fn drains(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// What tells the admin port.
    pub fn teller(&self) -> Teller {
        let lifecycle = self.clone();
        Arc::new(move || lifecycle.state())
    }

    fn state(&self) -> State {
        match (self.listening.load(Ordering::Acquire), self.draining.load(Ordering::Acquire)) {
            (_, true) => State::Draining,
            (false, false) => State::Starting,
            (true, false) => State::Listening,
        }
    }
}
