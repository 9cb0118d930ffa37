//! A request's body on its way: read ahead while it is small, relayed in constant memory when it is not.
//!
//! No server sees a request whole before the verdict (architecture, idea 2).

use bytes::{Bytes, BytesMut};

use super::intake::Ahead;
use crate::agreement::{Edit, Fault, Verifier};
use crate::fleet::Share;
use crate::protocol::Head;
use crate::scan;

/// Up to this many bytes of a body are read before a server is touched. It is also what pingora can replay.
pub const READ_AHEAD: usize = 64 * 1024;

/// What became of the body.
#[derive(Debug)]
pub enum Body {
    Unread,
    /// Read whole and found lawful; sent as it stands here.
    Judged {
        bytes: Bytes,
        share: Share,
    },
    /// Too large to be read ahead: judged while it passes.
    Passing(Box<Passing>),
    Sent,
}

/// A body that is judged while it passes.
#[derive(Debug)]
pub struct Passing {
    verifier: Verifier,
    /// Bytes that were taken in but may not leave yet.
    withheld: BytesMut,
    /// Where in the body that leaves the first withheld byte stands.
    at: u64,
    /// Bytes by which what leaves is longer than what came.
    grown: u64,
    max_bytes: u64,
    /// The next chunk was taken in already.
    is_replay_due: bool,
    share: Share,
}

/// Why a passing body is stopped.
#[derive(Debug)]
pub enum Stop {
    Fault(Fault),
    TooLarge,
    /// Too much is withheld of this and other bodies.
    Overloaded,
}

impl Passing {
    /// What was read ahead was already fed to the verifier.
    pub fn new(verifier: Verifier, ahead: Ahead, max_bytes: u64) -> Self {
        let Ahead { bytes, share, is_replayed, .. } = ahead;
        Self { verifier, withheld: bytes, at: 0, grown: 0, max_bytes, is_replay_due: is_replayed, share }
    }

    pub fn id(&self) -> Option<&str> {
        self.verifier.id()
    }

    /// Takes in the next bytes and gives out those that may leave.
    pub fn pass(&mut self, head: &Head, chunk: Option<&Bytes>, is_end: bool) -> Result<Bytes, Stop> {
        let is_replay = std::mem::take(&mut self.is_replay_due);
        if let Some(chunk) = chunk.filter(|_| !is_replay) {
            self.withheld.extend_from_slice(chunk);
            if self.at + self.withheld.len() as u64 > self.max_bytes {
                return Err(Stop::TooLarge);
            }
            if !self.share.resize(self.withheld.len()) {
                return Err(Stop::Overloaded);
            }
            self.verifier.feed(head, chunk);
        }
        if let Some(fault) = self.verifier.fault() {
            return Err(Stop::Fault(fault.clone()));
        }
        if let Some(edit) = self.verifier.take_edit() {
            apply(&mut self.withheld, &edit, self.at).map_err(Stop::Fault)?;
            self.grown += edit.growth as u64;
        }
        if is_end {
            self.verifier.finish(head).map_err(Stop::Fault)?;
            return Ok(self.release(self.withheld.len()));
        }
        let safe = (self.verifier.safe() + self.grown).saturating_sub(self.at);
        Ok(self.release(usize::try_from(safe).unwrap_or(usize::MAX).min(self.withheld.len())))
    }

    fn release(&mut self, bytes: usize) -> Bytes {
        self.at += bytes as u64;
        let released = self.withheld.split_to(bytes).freeze();
        self.share.resize(self.withheld.len());
        released
    }
}

/// Overwrites a token in bytes of the body of which the first stands at `at`; they grow by as much as the edit says.
pub fn apply(bytes: &mut BytesMut, edit: &Edit, at: u64) -> Result<(), Fault> {
    // Nothing that fits is refused, so this is a fault of ours, not a request's.
    let misfit = || Fault::NotARequest("the name in the body cannot be rewritten");
    let index = |offset: u64| usize::try_from(offset.checked_sub(at)?).ok();
    let (start, end) = index(edit.range.start).zip(index(edit.range.end)).ok_or_else(misfit)?;
    if edit.growth > 0 {
        if end > bytes.len() {
            return Err(misfit());
        }
        let rest = bytes.split_off(end);
        bytes.resize(end + edit.growth, b' ');
        bytes.extend_from_slice(&rest);
    }
    let token = bytes.get_mut(start..end + edit.growth).ok_or_else(misfit)?;
    scan::overwrite_string(token, &edit.value).map_err(|_| misfit())
}
