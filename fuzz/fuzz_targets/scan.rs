#![no_main]
//! See `check::scan_case`, which the properties run over the kept corpus as well.

use libfuzzer_sys::fuzz_target;
use mcp_signpost_fuzz::check;

fuzz_target!(|data: &[u8]| {
    check::scan_case(data);
});
