#![no_main]
//! The first byte is the length of the new name, the rest is a body or, if it is none, a string to put into one.

use libfuzzer_sys::fuzz_target;
use mcp_signpost_fuzz::check;

fuzz_target!(|data: &[u8]| {
    let Some((&len, rest)) = data.split_first() else { return };
    let (name, body) = rest.split_at(usize::from(len).min(rest.len()));
    let name = String::from_utf8_lossy(name);
    if !check::renames(body, &name) {
        let old = serde_json::to_string(&String::from_utf8_lossy(body)).expect("a string is JSON");
        assert!(check::renames(format!("{{\"p\":{{\"n\": {old},\"x\":1}}}}").as_bytes(), &name));
    }
});
