#![no_main]
//! See `check::edit_case`, which the properties run over the kept corpus as well.

use libfuzzer_sys::fuzz_target;
use mcp_signpost_fuzz::check;

fuzz_target!(|data: &[u8]| {
    check::edit_case(data);
});
