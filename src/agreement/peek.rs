//! A look into a body whose head is at fault: enough to echo its id and to tell what was meant.

use std::sync::{Arc, LazyLock};

use crate::protocol::{meta, method};
use crate::scan::{Capture, Kind, Limits, Scanner, Slot, Text, Watch};

const LIMITS: Limits = Limits { max_depth: 128, max_trailing_space: 4096 };
const KEPT: u32 = 1024;

/// What is looked for in any body.
struct Places {
    watch: Arc<Watch>,
    id: Slot,
    method: Slot,
    initialize_version: Slot,
    meta_version: Slot,
}

static PLACES: LazyLock<Places> = LazyLock::new(|| {
    let mut watch = Watch::builder();
    watch.protect(&[], &["jsonrpc", "id", "method", "params"]);
    let capture = |text| Capture { max_bytes: KEPT, held: false, text };
    let id = watch.capture(&["id"], capture(Text::Raw));
    let method = watch.capture(&["method"], capture(Text::Decoded));
    let initialize_version = watch.capture(&["params", "protocolVersion"], capture(Text::Decoded));
    let meta_version = watch.capture(&["params", "_meta", meta::VERSION], capture(Text::Decoded));
    Places { watch: Arc::new(watch.build()), id, method, initialize_version, meta_version }
});

/// A body that is not going to be relayed.
#[derive(Debug)]
pub struct Peek(Scanner);

impl Peek {
    pub fn new() -> Self {
        Self(Scanner::new(Arc::clone(&PLACES.watch), LIMITS))
    }

    pub fn see(&mut self, chunk: &[u8]) {
        // A broken body says what it said before it broke.
        let _ = self.0.feed(chunk);
    }

    /// The id as it was written, if it can be echoed.
    pub fn id(&self) -> Option<&str> {
        let found = self.0.found(PLACES.id)?;
        let echoes = matches!(found.kind, Kind::String | Kind::Number) && !found.cut && !self.0.doubled("id");
        echoes.then(|| std::str::from_utf8(found.text).ok()).flatten()
    }

    pub fn method(&self) -> Option<&str> {
        self.text(PLACES.method)
    }

    /// The version that an older client's `initialize` asks for.
    pub fn initialize_version(&self) -> Option<&str> {
        self.text(PLACES.initialize_version)
    }

    /// The version that the body claims to speak.
    pub fn meta_version(&self) -> Option<&str> {
        self.text(PLACES.meta_version)
    }

    /// A notification by its method, without an id.
    pub fn is_notification(&self) -> bool {
        self.0.found(PLACES.id).is_none() && self.method().is_some_and(method::is_notification)
    }

    fn text(&self, slot: Slot) -> Option<&str> {
        let found = self.0.found(slot)?;
        (found.kind == Kind::String && !found.cut).then(|| std::str::from_utf8(found.text).ok()).flatten()
    }
}

impl Default for Peek {
    fn default() -> Self {
        Self::new()
    }
}
