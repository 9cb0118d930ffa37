#![no_main]
//! The first byte says how many sizes of pieces follow it, the rest is the body.

use libfuzzer_sys::fuzz_target;
use mcp_signpost_fuzz::check;

fuzz_target!(|data: &[u8]| {
    let Some((&count, rest)) = data.split_first() else {
        return;
    };
    let (sizes, body) = rest.split_at(usize::from(count % 4).min(rest.len()));
    check::agrees(body, sizes);
});
