//! A deadline that is cheap to move.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// A point in time that may be moved for each read and write: moving costs a clock read, the timer itself is only set
/// again when it fires too early.
#[derive(Debug, Default)]
pub(super) struct Deadline {
    at: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    pub fn set(&mut self, after: Duration) {
        self.at = Some(Instant::now() + after);
    }

    pub fn clear(&mut self) {
        self.at = None;
    }

    pub fn is_set(&self) -> bool {
        self.at.is_some()
    }

    /// Ready once the deadline has passed; pending, and to be woken, until then; pending for ever where none is set.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.at else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
        loop {
            if timer.as_mut().poll(cx).is_pending() {
                // A timer that is set too late must be brought forward; one that is set too early wakes us for nothing once.
                if timer.deadline() <= at {
                    return Poll::Pending;
                }
            } else if timer.deadline() >= at {
                return Poll::Ready(());
            }
            timer.as_mut().reset(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[tokio::test(start_paused = true)]
    async fn a_moved_deadline_fires_when_it_was_last_set_to() {
        let mut deadline = Deadline::default();
        deadline.set(Duration::from_secs(10));
        let started = Instant::now();
        let early = tokio::time::timeout(Duration::from_secs(5), poll_fn(|cx| deadline.poll(cx))).await;
        assert!(early.is_err());
        deadline.set(Duration::from_secs(10));
        poll_fn(|cx| deadline.poll(cx)).await;
        assert_eq!(started.elapsed().as_secs(), 15);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_can_be_brought_forward_and_cleared() {
        let mut deadline = Deadline::default();
        deadline.set(Duration::from_secs(100));
        let pending = tokio::time::timeout(Duration::from_secs(1), poll_fn(|cx| deadline.poll(cx))).await;
        assert!(pending.is_err());
        deadline.set(Duration::from_secs(1));
        let started = Instant::now();
        poll_fn(|cx| deadline.poll(cx)).await;
        assert_eq!(started.elapsed().as_secs(), 1);
        deadline.clear();
        assert!(tokio::time::timeout(Duration::from_secs(1000), poll_fn(|cx| deadline.poll(cx))).await.is_err());
    }
}
