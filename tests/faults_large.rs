//! Large bodies: they pass whole and unchanged in constant memory, and a lie at their end is found before a server could act.

// Helpers of tests fail loudly, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use support::h2c::{self, End, Sending};
use support::raw::{self, Client, Response};
use support::refusal;
use support::request::Request;
use support::world::World;

static WORLD: Mutex<Weak<World>> = Mutex::new(Weak::new());

const LARGEST: usize = 16_777_216;
const MEBIBYTE: usize = 1024 * 1024;
/// Half of the largest body: whoever holds it whole needs more.
const MEMORY: usize = LARGEST / 2;

fn world() -> Arc<World> {
    World::shared(&WORLD, "")
}

/// Sends it as a body of known length, in chunks, and over HTTP/2.
fn three_ways(world: &World, request: &Request, check: impl Fn(&Request, &Response) -> Result<(), String>) {
    support::each(["length", "chunks", "HTTP/2"], |way| {
        let token = Request::post("").token();
        let request = request.clone().replacing(support::request::TOKEN, &token);
        let response = match *way {
            "length" => raw::exchange(world.address(), &request).map_err(|error| error.to_string()),
            "chunks" => {
                raw::exchange(world.address(), &request.clone().chunked(50_000)).map_err(|error| error.to_string())
            }
            _ => h2c::exchange(world.address(), &Sending::plain(&request)).map_err(|error| error.to_string()),
        };
        check(&request, &response?)
    });
}

fn check_passed(world: &World, request: &Request, response: &Response) -> Result<(), String> {
    if response.status != 200 {
        return Err(response.brief());
    }
    let seen = world.seen(request);
    let expected = String::from_utf8(request.body.clone()).unwrap().replacen("\"beta__echo\"", "\"echo\"      ", 1);
    if seen.len() == 1 && seen[0].body == expected.as_bytes() { Ok(()) } else { Err("not the same bytes".into()) }
}

/// How much more memory the largest bodies take than smaller ones did. One thread, and some requests before, because an
/// allocator takes its first segments for each thread and gives none back.
fn growth(world: &World, request: impl Fn(usize) -> Request) -> usize {
    let pass = |size| three_ways(world, &request(size), |request, response| check_passed(world, request, response));
    for _ in 0..4 {
        pass(MEBIBYTE);
    }
    let before = world.gateway.peak();
    pass(LARGEST);
    world.gateway.peak().saturating_sub(before)
}

#[test]
fn sixteen_mebibytes_pass_byte_for_byte_in_constant_memory() {
    let grown = growth(&World::start("threads = 1\n"), |size| Request::sized("beta__echo", size));
    assert!(grown < MEMORY, "{grown} bytes more than for bodies of one mebibyte");
}

#[test]
fn a_server_that_reads_late_holds_the_client_back() {
    let slow = |size| Request::sized("beta__echo", size).with("X-Do", "slow");
    let grown = growth(&World::start("threads = 1\n"), slow);
    assert!(grown < MEMORY, "{grown} bytes more than for bodies of one mebibyte");
}

/// A body of about a mebibyte: `first` at its beginning, `last` before its last two braces, `after` at its end.
fn large(first: &str, last: &str, after: &str) -> Request {
    let request = Request::call("beta__echo");
    let meta = support::request::meta();
    let pad = "q".repeat(MEBIBYTE);
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"_meta\":{meta}{first},\"pad\":\"{pad}\"{last}}}}}{after}"
    );
    request.with_body(body)
}

fn check_refused(
    world: &World,
    request: &Request,
    response: &Response,
    code: impl Fn(i64) -> bool,
) -> Result<(), String> {
    refusal::check(response, 400, code, None)?;
    world.assert_never_whole(request)
}

#[test]
fn a_name_that_lies_late_is_found_in_time() {
    let world = world();
    let truth = large("", r#","name":"beta__echo""#, "\n");
    three_ways(&world, &truth, |_, response| if response.status == 200 { Ok(()) } else { Err(response.brief()) });
    for last in [
        r#","name":"beta__ech0""#,
        r#","name":"alpha__get_weather""#,
        r#","arguments":{}"#,
        r#","name":["beta__echo"]"#,
    ] {
        let lie = large("", last, "");
        three_ways(&world, &lie, |request, response| check_refused(&world, request, response, |code| code == -32020));
    }
}

#[test]
fn what_comes_late_and_twice_is_found_in_time() {
    let world = world();
    for last in [
        r#","name":"alpha__get_weather""#,
        r#","Name":"alpha__get_weather""#,
        r#","_meta":{}"#,
        r#","arguments":{},"argument\u0073":{}"#,
    ] {
        let lie = large(r#","name":"beta__echo""#, last, "");
        three_ways(&world, &lie, |request, response| check_refused(&world, request, response, |_| true));
    }
}

#[test]
fn what_follows_the_root_is_found_before_the_root_ends_for_a_server() {
    let world = world();
    let other = String::from_utf8(Request::call("alpha__get_weather").body).unwrap();
    for after in
        [" ".repeat(300_000), "\n".repeat(300_000), other.clone(), format!("\n{other}"), "}".into(), "\0".into()]
    {
        let lie = large("", r#","name":"beta__echo""#, &after);
        three_ways(&world, &lie, |request, response| check_refused(&world, request, response, |_| true));
    }
    let small = Request::call("beta__echo");
    for after in [" ".repeat(300_000), format!("{}{other}", " ".repeat(100_000))] {
        let body = [small.body.clone(), after.into_bytes()].concat();
        let lie = small.clone().with_body(body);
        three_ways(&world, &lie, |request, response| check_refused(&world, request, response, |_| true));
    }
}

#[test]
fn the_last_brace_waits_for_the_end_of_the_body() {
    let world = world();
    for request in [Request::sized("beta__echo", 300_000), Request::sized("beta__echo", 300_000).chunked(20_000)] {
        // A length that promises one byte more, or a last chunk that does not come.
        let mut bytes = request.bytes(world.address());
        if request.chunk.is_none() {
            let text = String::from_utf8(bytes).unwrap();
            bytes = text.replacen("Content-Length: 300000", "Content-Length: 300001", 1).into_bytes();
        } else {
            bytes.truncate(bytes.len() - 5);
        }
        let mut client = Client::connect(world.address());
        client.send(&bytes);
        let nearly = |seen: &support::recorder::Seen| seen.body.len() > 299_000;
        assert!(world.beta.wait(&request.token(), Duration::from_secs(4), nearly), "not streamed");
        std::thread::sleep(Duration::from_millis(150));
        assert!(!world.seen(&request)[0].whole, "whole before the verdict");
        client.send(if request.chunk.is_none() { b"\n" } else { b"0\r\n\r\n" });
        let response = client.read().unwrap();
        assert_eq!(response.status, 200, "{}", response.brief());
    }
}

/// pingora issue 935: an empty last frame must not end the upstream's chunks twice.
#[test]
fn a_body_that_ends_in_an_empty_frame_leaves_the_upstream_connection_sane() {
    for size in [500, 20_000, 60_000, 100_000, 300_000] {
        let world = World::start("");
        let first = Request::sized("beta__echo", size);
        let pieces: Vec<_> = first.body.chunks(10_000).collect();
        let sending = Sending::in_pieces(&first, pieces, Duration::from_millis(1)).ending(End::EmptyFrame).undeclared();
        let response = h2c::exchange(world.address(), &sending).unwrap();
        assert_eq!(response.status, 200, "{size}: {}", response.brief());
        for next in [Request::call("beta__echo"), Request::sized("beta__echo", 100_000)] {
            let response = raw::exchange(world.address(), &next).unwrap();
            assert_eq!(response.status, 200, "{size}: {}", response.brief());
            let connections = [&first, &next].map(|request| world.seen(request)[0].connection);
            assert_eq!(
                connections[0], connections[1],
                "{size}: the connection was not used again, which proves nothing"
            );
        }
        assert_eq!(world.beta.faults(), Vec::<String>::new(), "{size}");
    }
}
