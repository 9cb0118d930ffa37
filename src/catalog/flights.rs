//! One fetch for all who wait for the same thing.
//!
//! A flight is a task of its own: whoever started it may leave without ending it for the others. Must never outlive its
//! fetch in the table, even if that fetch panics.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::sync::oneshot;

/// What a flight brings; `None` if it never arrived, because it panicked.
pub type Awaited<V> = Shared<BoxFuture<'static, Option<V>>>;

/// The flights that are under way.
#[derive(Debug)]
pub struct Flights<K, V> {
    under_way: Arc<Mutex<HashMap<K, Awaited<V>>>>,
}

/// A flight, and whether this caller started it.
#[derive(Debug)]
pub enum Flight<V> {
    Started(Awaited<V>),
    Joined(Awaited<V>),
}

impl<K, V> Default for Flights<K, V> {
    fn default() -> Self {
        Self { under_way: Arc::default() }
    }
}

impl<K, V> Flights<K, V>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// The flight for `key`: the one that is under way, or a new one.
    pub fn join<F>(&self, key: &K, flight: impl FnOnce() -> F) -> Flight<V>
    where
        F: Future<Output = V> + Send + 'static,
    {
        let mut under_way = lock(&self.under_way);
        if let Some(awaited) = under_way.get(key) {
            return Flight::Joined(awaited.clone());
        }
        let (done, awaited) = oneshot::channel();
        let awaited = awaited.map(Result::ok).boxed().shared();
        under_way.insert(key.clone(), awaited.clone());
        drop(under_way);
        let entry = Entry { under_way: Arc::clone(&self.under_way), key: key.clone() };
        let flight = flight();
        tokio::spawn(async move {
            let value = flight.await;
            // Whoever comes after this looks at what the flight has left behind, so its entry must be gone before it ends.
            drop(entry);
            let _ = done.send(value);
        });
        Flight::Started(awaited)
    }

    pub fn find(&self, key: &K) -> Option<Awaited<V>> {
        lock(&self.under_way).get(key).cloned()
    }
}

impl<V: Clone> Flight<V> {
    pub async fn outcome(self) -> Option<V> {
        match self {
            Self::Started(awaited) | Self::Joined(awaited) => awaited.await,
        }
    }
}

struct Entry<K: Hash + Eq, V> {
    under_way: Arc<Mutex<HashMap<K, Awaited<V>>>>,
    key: K,
}

impl<K: Hash + Eq, V> Drop for Entry<K, V> {
    fn drop(&mut self) {
        lock(&self.under_way).remove(&self.key);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn all_who_come_during_a_flight_share_it_and_the_next_is_a_new_one() {
        let (flights, started) = (Flights::<u8, usize>::default(), Arc::new(AtomicUsize::new(0)));
        let flight = || {
            let started = Arc::clone(&started);
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                started.fetch_add(1, Ordering::SeqCst) + 1
            }
        };
        let all = futures::future::join_all((0..100).map(|_| flights.join(&7, flight).outcome())).await;
        assert!(all.iter().all(|value| *value == Some(1)));
        assert!(flights.find(&7).is_none());
        assert_eq!(flights.join(&7, flight).outcome().await, Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flight_goes_on_when_the_one_who_started_it_leaves() {
        let flights = Flights::<u8, u8>::default();
        let awaited = flights.join(&1, || async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            5
        });
        drop(awaited);
        let Flight::Joined(awaited) = flights.join(&1, || async { 6 }) else { panic!("it is under way") };
        assert_eq!(awaited.await, Some(5));
    }

    #[tokio::test]
    async fn a_flight_that_panics_brings_nothing_and_leaves_the_table() {
        let flights = Flights::<u8, u8>::default();
        let broken = flights.join(&1, || async { panic!("on purpose") });
        assert_eq!(broken.outcome().await, None);
        assert_eq!(flights.join(&1, || async { 6 }).outcome().await, Some(6));
    }
}
