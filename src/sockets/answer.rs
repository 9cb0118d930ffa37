//! Towards a server: how long it may be silent.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use super::deadline::Deadline;
use super::{Guard, Objection};

/// Ends a connection whose server is silent for too long: `response` after the last byte of a request, `idle` after a
/// byte of an answer. The error's kind is [`io::ErrorKind::TimedOut`].
#[derive(Debug)]
pub struct AnswerGuard {
    response: Duration,
    idle: Duration,
    deadline: Deadline,
}

impl AnswerGuard {
    pub fn new(response: Duration, idle: Duration) -> Self {
        Self { response, idle, deadline: Deadline::default() }
    }
}

impl Guard for AnswerGuard {
    fn arrived(&mut self, _bytes: &[u8]) -> Result<(), Objection> {
        self.deadline.set(self.idle);
        Ok(())
    }

    fn written(&mut self, _bytes: usize) {
        self.deadline.set(self.response);
    }

    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<Objection> {
        self.deadline.poll(cx).map(|()| Objection {
            error: io::Error::new(io::ErrorKind::TimedOut, "the server is silent"),
            last_words: None,
        })
    }
}
