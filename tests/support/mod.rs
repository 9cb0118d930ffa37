//! What the integration tests share: the real binary, clients and upstreams that know every byte they send and see.
//!
//! Must never use an HTTP library for HTTP/1.1: what is tested is what such libraries hide.

// Each test file compiles this module for itself and uses a part of it; helpers may fail loudly, as tests do.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod braces;
pub mod case;
pub mod encrypting;
pub mod gateway;
pub mod h2c;
pub mod inbox;
pub mod misbehaving;
pub mod raw;
pub mod recorder;
pub mod refusal;
pub mod request;
pub mod scripted;
pub mod swallowing;
pub mod tools;
pub mod world;

use std::time::{Duration, Instant};

/// Asks until it is so, at most for `limit`.
pub fn eventually(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if is_so() {
            return true;
        }
        if start.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Checks every case, and fails with all that went wrong.
pub fn each<T: std::fmt::Debug>(cases: impl IntoIterator<Item = T>, check: impl Fn(&T) -> Result<(), String>) {
    let wrong = cases.into_iter().filter_map(|case| check(&case).err().map(|why| format!("{case:?}: {why}")));
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{} went wrong:\n{}", wrong.len(), wrong.join("\n"));
}
