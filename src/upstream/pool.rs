//! The endpoints that can serve the same requests.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Endpoint;

/// Endpoints in turn.
#[derive(Debug)]
pub struct Pool {
    /// `default`, or the route's name.
    pub name: String,
    endpoints: Vec<Endpoint>,
    next: AtomicUsize,
}

impl Pool {
    /// `None` where there is no endpoint to choose from.
    pub fn new(name: String, endpoints: Vec<Endpoint>) -> Option<Self> {
        (!endpoints.is_empty()).then(|| Self { name, endpoints, next: AtomicUsize::new(0) })
    }

    /// The next endpoint in turn, and its index.
    pub fn pick(&self) -> (usize, &Endpoint) {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.endpoints.len();
        // The index is in range; the first stands in for an impossible miss.
        (turn, self.endpoints.get(turn).unwrap_or(&self.endpoints[0]))
    }

    pub fn endpoint(&self, index: usize) -> Option<&Endpoint> {
        self.endpoints.get(index)
    }

    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }
}
