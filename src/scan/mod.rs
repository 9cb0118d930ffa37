//! A resumable JSON scanner: bytes in at any chunk border, values at *watched paths* out, with their byte ranges.
//!
//! It knows RFC 8259 to the letter and nothing of MCP. One pass proves that the whole body is one strict JSON value
//! (UTF-8, no lone surrogates, no byte order mark, bounded nesting, bounded white space after it), that the keys it
//! was told to protect stand once and in one spelling, and up to which byte the body may leave ([`Scanner::safe`]).
//!
//! It must never build a tree, recurse, allocate per token, grow with the body, or panic, whatever the bytes are.
//!
//! ```text
//! scanner: feed ──► utf8 (whole characters only) ──► machine (the grammar) ──► string, number (tokens)
//!                                                      ├──► nest (which brackets are open)
//!                                                      └──► watch, key (what is looked for) ──► found (what was)
//! ```

mod edit;
mod error;
mod found;
mod key;
mod machine;
mod nest;
mod number;
mod scanner;
mod string;
mod utf8;
mod watch;

pub use edit::{TooLong, overwrite_string, push_string, token_len};
pub use error::{ScanError, ScanErrorKind};
pub use found::{Found, Kind};
pub use scanner::{Limits, Scanner};
pub use watch::{Capture, Slot, Text, Watch, WatchBuilder};

#[cfg(test)]
mod tests;
