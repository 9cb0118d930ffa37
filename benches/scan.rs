//! How fast bodies pass the scanner: a call of some 350 bytes, and bodies of 1 MiB of different make.
//! Plain `std::time`, best of several rounds, so that it needs nothing and ends by itself. An argument picks one body.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

// By itself, so that measuring it does not build the whole crate.
#[path = "../src/scan/mod.rs"]
#[allow(dead_code, unreachable_pub, unused_imports)]
mod scan;

use scan::{Capture, Limits, Scanner, Text, Watch};

const MIB: usize = 1 << 20;
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn watch() -> Arc<Watch> {
    let mut watch = Watch::builder();
    watch.protect(&[], &["jsonrpc", "id", "method", "params"]);
    let params = ["name", "uri", "taskId", "arguments", "_meta", "ref", "inputResponses", "requestState", "cursor"];
    watch.protect(&["params"], &params);
    watch.protect(&["params", "_meta"], &[VERSION, CAPABILITIES]);
    let capture = |held| Capture { max_bytes: 128, held, text: Text::Decoded };
    for path in [&["jsonrpc"][..], &["id"], &["method"], &["params"], &["params", "_meta"]] {
        watch.capture(path, capture(false));
    }
    watch.capture(&["params", "name"], capture(true));
    watch.capture(&["params", "_meta", VERSION], capture(false));
    watch.capture(&["params", "_meta", CAPABILITIES], capture(false));
    watch.capture(&["params", "arguments", "region"], capture(false));
    Arc::new(watch.build())
}

fn call(payload: &str) -> Vec<u8> {
    let meta = format!(
        r#"{{"{VERSION}":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1"}},"{CAPABILITIES}":{{}}}}"#
    );
    let arguments = format!(r#"{{"region":"us-west1","query":{payload}}}"#);
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"_meta":{meta},"name":"alpha__execute_sql","arguments":{arguments}}}}}"#
    )
    .into_bytes()
}

/// Rows until there is a mebibyte of them.
fn rows(mut row: impl FnMut(&mut String, usize)) -> Vec<u8> {
    let mut payload = String::from("[");
    for number in 0.. {
        if number > 0 {
            payload.push(',');
        }
        row(&mut payload, number);
        if payload.len() >= MIB {
            break;
        }
    }
    payload.push(']');
    call(&payload)
}

fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let mixed = |out: &mut String, n: usize| {
        let _ = write!(
            out,
            r#"{{"id":{n},"name":"customer {n}","email":"someone.{n}@mail.example","active":{},"score":{}.25,"note":"a line of text that is somewhat longer,\nwith an escape","tags":["red","green"],"city":"Zürich","parent":null}}"#,
            n.is_multiple_of(2),
            n * 7 % 1000
        );
    };
    let pretty = |out: &mut String, n: usize| {
        let _ = write!(
            out,
            "\n        {{\n            \"id\": {n},\n            \"name\": \"customer {n}\",\n            \"active\": true\n        }}"
        );
    };
    let numbers = |out: &mut String, n: usize| {
        let _ = write!(out, "[{n},{}.5,-{}e3]", n * 31 % 997, n % 10);
    };
    vec![
        ("a call", call(r#""SELECT name, total FROM orders WHERE total > 10""#)),
        ("mixed", rows(mixed)),
        ("pretty", rows(pretty)),
        ("numbers", rows(numbers)),
        ("base64", call(&format!("\"{}\"", "aGVsbG8gd29ybGQh".repeat(MIB / 16)))),
        ("escaped", call(&format!("\"{}\"", r#"{\"key\":\"value\",\n"#.repeat(MIB / 20)))),
        ("chinese", call(&format!("\"{}\"", "模型上下文协议".repeat(MIB / 21)))),
    ]
}

fn once(watch: &Arc<Watch>, body: &[u8], chunk: usize) {
    let limits = Limits { max_depth: 128, max_trailing_space: 4096 };
    let mut scanner = Scanner::new(Arc::clone(watch), limits);
    for piece in body.chunks(chunk) {
        assert_eq!(scanner.feed(black_box(piece)), Ok(()));
    }
    assert_eq!(scanner.finish(), Ok(()));
    black_box(scanner.safe());
}

/// The best time for one body.
fn time(watch: &Arc<Watch>, body: &[u8], chunk: usize) -> Duration {
    let times = u32::try_from((8 * MIB / body.len()).clamp(4, 20_000)).unwrap_or(4);
    let round = || {
        let start = Instant::now();
        for _ in 0..times {
            once(watch, body, chunk);
        }
        start.elapsed() / times
    };
    (0..7).map(|_| round()).min().unwrap_or_default()
}

#[allow(clippy::print_stdout, clippy::cast_precision_loss)]
fn main() {
    let watch = watch();
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    for (what, body) in bodies() {
        if wanted.as_ref().is_some_and(|wanted| wanted != what) {
            continue;
        }
        for chunk in [usize::MAX, 65_536, 1_400] {
            let best = time(&watch, &body, chunk);
            let speed = body.len() as f64 / best.as_secs_f64() / 1e9;
            let pieces = body.len().div_ceil(chunk);
            println!("{what:8} {:8} bytes in {pieces:4} chunks  {best:10.1?}  {speed:6.2} GB/s", body.len());
        }
    }
}
