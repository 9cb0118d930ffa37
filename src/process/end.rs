//! The end: what is still under way finishes within its grace, and what does not is cut and leaves a trace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::gateway::Connections;

/// How often one looks whether the last request has ended.
const LOOK: Duration = Duration::from_millis(20);
/// A moment for what was accepted but not yet counted.
const ACCEPTED: Duration = Duration::from_millis(100);
/// How long requests that were cut may take to write their lines.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Ends what is under way.
#[derive(Clone, Debug)]
pub struct End {
    cut: Arc<watch::Sender<bool>>,
    connections: Connections,
    grace: Duration,
}

impl End {
    pub fn new(cut: watch::Sender<bool>, connections: Connections, grace: Duration) -> Self {
        Self { cut: Arc::new(cut), connections, grace }
    }

    /// Returns once the last connection has ended, at the latest after the grace. Blocks.
    pub fn drain(&self) {
        log::info!("draining, for at most {:?}", self.grace);
        let deadline = Instant::now() + self.grace;
        std::thread::sleep(ACCEPTED);
        while self.connections.budget.used() > 0 && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
    }

    /// Ends every connection; each request on one writes its line. Blocks for a moment.
    pub fn cut(&self) {
        let requests = self.connections.snapshot.load().in_flight.used();
        self.cut.send_replace(true);
        let deadline = Instant::now() + LAST_WORDS;
        while self.connections.snapshot.load().in_flight.used() > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        if requests > 0 {
            log::warn!("cut {requests} request{}", if requests == 1 { "" } else { "s" });
        }
    }
}
