//! A request's way to an endpoint that can be reached, and what is noted of endpoints on it.

use std::sync::Arc;

use super::server::Server;
use crate::upstream::{Endpoint, Way};
use crate::wire::dial::DialError;

impl Server {
    /// The next endpoint of a way through one of the server's pools; `None` once each was tried. Those that are due for a
    /// try are tried in the background, so that no request has to wait for what does not answer.
    pub fn next_endpoint(self: &Arc<Self>, pool: usize, way: &mut Way) -> Option<&Arc<Endpoint>> {
        let endpoints = self.pool(pool)?;
        for index in endpoints.due() {
            let server = Arc::clone(self);
            tokio::spawn(async move { server.try_endpoint(pool, Way::to(index)).await });
        }
        endpoints.next(way).map(|(_, endpoint)| endpoint)
    }

    /// Counts an endpoint that could not be connected, and says why when that is news.
    pub fn endpoint_failed(&self, pool: usize, way: &mut Way, why: &DialError) {
        self.metrics.connect_failure(pool, why.label());
        let Some(pool) = self.pool(pool) else { return };
        let label = way.current().and_then(|index| pool.endpoint(index)).map_or("", |endpoint| endpoint.label());
        if pool.failed(way) {
            log::warn!("server {}, pool {}: {label} cannot be reached: {why}", self.name, pool.name);
        }
    }

    /// Says when an endpoint can be connected again.
    pub fn endpoint_connected(&self, pool: usize, way: &Way) {
        let Some(pool) = self.pool(pool).filter(|pool| pool.connected(way)) else { return };
        let label = way.current().and_then(|index| pool.endpoint(index)).map_or("", |endpoint| endpoint.label());
        log::info!("server {}, pool {}: {label} can be reached again", self.name, pool.name);
    }

    async fn try_endpoint(&self, pool: usize, mut way: Way) {
        let Some(endpoint) = self.pool(pool).zip(way.current()).and_then(|(pool, index)| pool.endpoint(index)) else {
            return;
        };
        match self.client.connect(endpoint).await {
            Ok(_) => self.endpoint_connected(pool, &way),
            Err(error) => self.endpoint_failed(pool, &mut way, &error),
        }
    }
}
