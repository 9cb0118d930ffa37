//! The endpoints that can serve the same requests, and one request's way through them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use super::Endpoint;

/// How much longer than a connection may take the one who tries an endpoint is waited for.
const SLACK: Duration = Duration::from_secs(1);

/// What the times of endpoints are counted from.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Endpoints in turn.
#[derive(Debug)]
pub struct Pool {
    /// `default`, or the route's name.
    pub name: String,
    endpoints: Vec<Arc<Endpoint>>,
    next: AtomicUsize,
    /// How long one may take to try an endpoint.
    claim: Duration,
}

/// One request's way through a pool: every endpoint at most once.
#[derive(Debug, Default)]
pub struct Way {
    current: Option<usize>,
    /// Those that could not be reached, or are tried beside this way.
    failed: Vec<usize>,
}

impl Pool {
    /// `None` where there is no endpoint to choose from. `connect` is how long a connection may take.
    pub fn new(name: String, endpoints: Vec<Arc<Endpoint>>, connect: Duration) -> Option<Self> {
        let is_empty = endpoints.is_empty();
        (!is_empty).then(|| Self { name, endpoints, next: AtomicUsize::new(0), claim: connect.saturating_add(SLACK) })
    }

    pub fn endpoint(&self, index: usize) -> Option<&Arc<Endpoint>> {
        self.endpoints.get(index)
    }

    pub fn endpoints(&self) -> &[Arc<Endpoint>] {
        &self.endpoints
    }

    /// The next endpoint on a request's way; `None` once each was tried.
    ///
    /// Those that are well, in turn; then whatever is left, so that nothing is given up before each endpoint was tried.
    pub fn next(&self, way: &mut Way) -> Option<(usize, &Arc<Endpoint>)> {
        let untried = || self.endpoints.iter().enumerate().filter(|(index, _)| !way.failed.contains(index));
        let is_well = |(_, endpoint): &(usize, &Arc<Endpoint>)| endpoint.reach.is_well();
        let chosen = self.in_turn(|| untried().filter(is_well)).or_else(|| self.in_turn(untried))?;
        way.current = Some(chosen.0);
        Some(chosen)
    }

    /// The endpoints that the caller must try to connect now, so that no request has to; nobody else is told so meanwhile.
    pub fn due(&self) -> impl Iterator<Item = usize> + '_ {
        let unwell = self.endpoints.iter().enumerate().filter(|(_, endpoint)| !endpoint.reach.is_well());
        let due = unwell.filter(|(_, endpoint)| endpoint.reach.claim(now(), self.claim));
        due.map(|(index, _)| index)
    }

    /// Notes that the endpoint of this way could not be reached. Whether that is news.
    pub fn failed(&self, way: &mut Way) -> bool {
        let Some(index) = way.current.take() else { return false };
        way.failed.push(index);
        self.endpoint(index).is_some_and(|endpoint| endpoint.reach.failed(now()))
    }

    /// Notes that the endpoint of this way was connected. Whether it could not be before.
    pub fn connected(&self, way: &Way) -> bool {
        way.current.and_then(|index| self.endpoint(index)).is_some_and(|endpoint| endpoint.reach.connected())
    }

    /// Whether there is an endpoint that this way did not try.
    pub fn has_more(&self, way: &Way) -> bool {
        way.failed.len() < self.endpoints.len()
    }

    fn in_turn<'p, I>(&self, candidates: impl Fn() -> I) -> Option<(usize, &'p Arc<Endpoint>)>
    where
        I: Iterator<Item = (usize, &'p Arc<Endpoint>)>,
    {
        let count = candidates().count();
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        candidates().nth(turn.checked_rem(count)?)
    }
}

impl Way {
    /// The way that leads to this endpoint.
    pub fn to(index: usize) -> Self {
        Self { current: Some(index), failed: Vec::new() }
    }

    /// Leaves the endpoint that was chosen last to a way of its own, and goes on past it.
    #[must_use]
    pub fn pass(&mut self) -> Self {
        self.failed.extend(self.current);
        Self { current: self.current.take(), failed: Vec::new() }
    }

    /// The endpoint that was chosen last.
    pub fn current(&self) -> Option<usize> {
        self.current
    }
}

fn now() -> u64 {
    u64::try_from(BEGINNING.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::upstream::{Timeouts, Wiring};
    use crate::wire::patience::Patience;

    fn pool(count: u16) -> Pool {
        let time = Duration::from_secs(1);
        let timeouts = Timeouts { connect: time, patience: Patience { response: time, idle: time, body: time } };
        let wiring = Wiring { dials: Arc::default(), tls: None };
        let urls: Vec<_> = (1..=count).map(|port| format!("http://127.0.0.1:{port}/mcp")).collect();
        let text = format!("servers.a.endpoints = {urls:?}");
        let config = config::parse(&text, "test", &config::Nothing).unwrap();
        let endpoints =
            config.servers[0].endpoints.iter().map(|url| Arc::new(Endpoint::new(url, timeouts, &wiring).unwrap()));
        Pool::new("default".into(), endpoints.collect(), time).unwrap()
    }

    /// Connects the next endpoint of a new way.
    fn connect(pool: &Pool) -> usize {
        let mut way = Way::default();
        let (index, _) = pool.next(&mut way).unwrap();
        pool.connected(&way);
        index
    }

    #[test]
    fn endpoints_are_used_in_turn_and_evenly_among_those_that_are_well() {
        let pool = pool(3);
        (0..3).for_each(|index| assert!(!pool.connected(&Way::to(index))));
        let order: Vec<_> = (0..9).map(|_| connect(&pool)).collect();
        for index in 0..3 {
            assert_eq!(order.iter().filter(|one| **one == index).count(), 3, "{order:?}");
        }
        let mut way = Way::to(1);
        assert!(pool.failed(&mut way));
        let order: Vec<_> = (0..10).map(|_| connect(&pool)).collect();
        assert_eq!(order.iter().filter(|one| **one == 0).count(), 5, "{order:?}");
        assert!(!order.contains(&1), "{order:?}");
    }

    #[test]
    fn a_way_tries_each_endpoint_once_those_that_failed_last_of_all() {
        let pool = pool(4);
        for index in 0..4 {
            pool.connected(&Way::to(index));
        }
        for index in [0, 2] {
            assert!(pool.failed(&mut Way::to(index)));
        }
        for _ in 0..8 {
            let mut way = Way::default();
            let mut tried = Vec::new();
            while let Some((index, _)) = pool.next(&mut way) {
                tried.push(index);
                assert_eq!(way.current(), Some(index));
                // As if it had not been told to the pool, which would make it unwell.
                way.current = None;
                way.failed.push(index);
                assert_eq!(pool.has_more(&way), tried.len() < 4);
            }
            let (first, last) = tried.split_at(2);
            assert!(first.contains(&1) && first.contains(&3), "{tried:?}");
            assert!(last.contains(&0) && last.contains(&2), "{tried:?}");
        }
    }

    #[test]
    fn an_endpoint_that_nobody_connected_yet_is_left_alone_while_one_tries_it() {
        let pool = pool(2);
        assert_eq!(pool.due().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(pool.due().count(), 0);
        pool.connected(&Way::to(0));
        assert!((0..10).all(|_| connect(&pool) == 0));
        assert!(!pool.connected(&Way::to(1)), "it had not failed");
        assert!((0..10).any(|_| connect(&pool) == 1));
        assert_eq!(pool.due().count(), 0);
    }

    #[test]
    fn what_became_of_a_way_is_news_once() {
        let pool = pool(1);
        connect(&pool);
        let way = || Way::to(0);
        assert!(pool.failed(&mut way()));
        assert!(!pool.failed(&mut way()));
        assert!(pool.connected(&way()));
        assert!(!pool.connected(&way()));
    }
}
