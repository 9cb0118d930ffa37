//! The scanner's face: takes chunks in, says what was found and what may leave.

use std::sync::Arc;

use super::error::{ScanError, ScanErrorKind};
use super::found::{Found, Kind};
use super::machine::{Broken, Machine};
use super::utf8::{Joined, Seam};
use super::watch::{Slot, Watch};

/// Bounds that hold for every body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Containers in one another: `[[]]` has 2. At most 128; more counts as 128.
    pub max_depth: u8,
    /// Bytes of white space after the root value.
    pub max_trailing_space: u32,
}

/// Scans one body.
#[derive(Debug)]
pub struct Scanner {
    machine: Machine,
    seam: Seam,
    error: Option<ScanError>,
    fed: u64,
    safe: u64,
}

impl Scanner {
    pub fn new(watch: Arc<Watch>, limits: Limits) -> Self {
        Self { machine: Machine::new(watch, limits), seam: Seam::default(), error: None, fed: 0, safe: 0 }
    }

    /// Overrides [`Capture::max_bytes`](super::Capture::max_bytes) for this body. Call it before the first byte.
    pub fn set_max_bytes(&mut self, slot: Slot, max: u32) {
        self.machine.finds.set_max_bytes(slot.0, max);
    }

    /// Takes in the next bytes of the body. After an error every later call returns the same one.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), ScanError> {
        self.alive()?;
        self.fed = self.fed.saturating_add(chunk.len() as u64);
        match self.take(chunk) {
            Ok(()) => {
                self.safe = self.safe.max(self.machine.safe());
                Ok(())
            }
            Err(Broken) => Err(self.broken()),
        }
    }

    /// The body has ended. `Ok`: it was one JSON value, and all of it may leave as far as JSON is concerned.
    pub fn finish(&mut self) -> Result<(), ScanError> {
        self.alive()?;
        let whole =
            if self.seam.is_empty() { self.machine.end() } else { Err(self.fail(ScanErrorKind::Truncated, self.fed)) };
        whole.map_err(|Broken| self.broken())
    }

    /// Bytes taken in so far.
    pub fn fed(&self) -> u64 {
        self.fed
    }

    /// Bytes before this absolute offset may leave. Never falls; never past the last byte of the root value (its
    /// closing brace), even when the body has ended; never past the first byte of a held token that is incomplete, or
    /// that is cut. Does not move when a chunk turns out to be wrong, nor ever after.
    pub fn safe(&self) -> u64 {
        self.safe
    }

    /// The value at a slot's path. A container is found when it opens, a scalar when it is complete or longer than its
    /// `max_bytes`. What was found before an error stays.
    pub fn found(&self, slot: Slot) -> Option<Found<'_>> {
        self.machine.finds.get(slot.0, self.error.is_some())
    }

    /// The kind of the root value, as soon as its first byte was seen.
    pub fn root(&self) -> Option<Kind> {
        self.machine.root()
    }

    /// Whether the scan ended because this key (a dotted path from the root, as `params.name`) stands twice or in a
    /// second spelling: what was found there is then nobody's word.
    pub fn doubled(&self, path: &str) -> bool {
        self.error.as_ref().is_some_and(|error| match &error.kind {
            ScanErrorKind::DuplicateKey(at) | ScanErrorKind::FoldedKey(at) => **at == *path,
            _ => false,
        })
    }

    fn take(&mut self, mut chunk: &[u8]) -> Result<(), Broken> {
        if !self.seam.is_empty() {
            match self.seam.join(chunk) {
                Joined::Unfinished => return Ok(()),
                Joined::Malformed => return Err(self.fail(ScanErrorKind::Utf8, self.machine.scanned())),
                Joined::Character { bytes, len, taken } => {
                    self.machine.scan(bytes.get(..len).unwrap_or_default())?;
                    chunk = chunk.get(taken..).unwrap_or_default();
                }
            }
        }
        let (whole, malformed) = self.seam.cut(chunk);
        self.machine.scan(whole)?;
        if malformed { Err(self.fail(ScanErrorKind::Utf8, self.machine.scanned())) } else { Ok(()) }
    }

    fn alive(&self) -> Result<(), ScanError> {
        self.error.clone().map_or(Ok(()), Err)
    }

    fn fail(&mut self, kind: ScanErrorKind, at: u64) -> Broken {
        self.machine.error = Some(ScanError { kind, at });
        Broken
    }

    #[cold]
    fn broken(&mut self) -> ScanError {
        let error = self.machine.error.clone().unwrap_or(ScanError { kind: ScanErrorKind::Truncated, at: self.fed });
        self.error.insert(error).clone()
    }
}
