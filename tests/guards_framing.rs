//! Framing: what two HTTP parsers could read differently is read by neither.

// Helpers of tests fail loudly, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use support::h2c::{self, Sending};
use support::raw::{self, Client, Response};
use support::refusal;
use support::request::Request;
use support::world::World;

static WORLD: Mutex<Weak<World>> = Mutex::new(Weak::new());

fn world() -> Arc<World> {
    World::shared(&WORLD, "")
}

/// Sends exact bytes on a connection of their own.
fn exchange_bytes(world: &World, bytes: &[u8]) -> Response {
    let mut client = Client::connect(world.address());
    client.send(bytes);
    client.read().expect("an answer")
}

/// The request as text, so that a test can spoil its spelling.
fn text(world: &World, request: &Request) -> String {
    String::from_utf8(request.bytes(world.address())).unwrap()
}

fn assert_framing_refused(world: &World, request: &Request, response: &Response, what: &str) {
    world.check_framing_refused(request, response).unwrap_or_else(|why| panic!("{what}: {why}"));
}

#[test]
fn a_header_of_the_protocol_is_never_stripped_as_the_connections_own() {
    let world = world();
    for nominated in ["Mcp-Name", "mcp-method", "close, MCP-Protocol-Version", "keep-alive ,Mcp-Param-Region", "mcp-x"]
    {
        let request = Request::call("beta__echo").with("Mcp-Param-Region", "x").with("Connection", nominated);
        let response = raw::exchange(world.address(), &request).unwrap();
        if response.status == 400 {
            assert_framing_refused(&world, &request, &response, nominated);
        } else {
            let seen = world.seen(&request);
            for header in ["Mcp-Name", "Mcp-Method", "MCP-Protocol-Version", "Mcp-Param-Region"] {
                assert!(!seen[0].text(header).is_empty(), "{nominated} took {header} away");
            }
        }
    }
}

#[test]
fn the_connections_own_headers_go_no_further() {
    let world = world();
    let request =
        Request::call("beta__echo").with("Connection", "close, X-Mine").with("X-Mine", "1").with("X-Yours", "2");
    world.assert_passes(&request, "Connection: X-Mine");
    let seen = &world.seen(&request)[0];
    assert_eq!((seen.text("x-mine"), seen.text("x-yours")), (String::new(), "2".into()));
}

#[test]
fn lines_end_in_cr_lf() {
    let world = world();
    let request = Request::call("beta__echo");
    let good = text(&world, &request);
    let (head, body) = good.split_once("\r\n\r\n").unwrap();
    let first = head.replacen("\r\n", "\n", 1);
    for (what, head) in [
        ("every line", format!("{}\n\n", head.replace("\r\n", "\n"))),
        ("one line", format!("{first}\r\n\r\n")),
        ("the last", format!("{head}\r\n\n")),
    ] {
        let response = exchange_bytes(&world, format!("{head}{body}").as_bytes());
        assert_framing_refused(&world, &request, &response, what);
    }
}

#[test]
fn a_field_is_one_line_without_control_characters() {
    let world = world();
    let request = Request::call("beta__echo");
    let good = text(&world, &request);
    for field in [
        "X-Folded: a\r\n b\r\n",
        "X-Nul: a\0b\r\n",
        "X-Cr: a\rb\r\n",
        "X-Space : a\r\n",
        "no colon\r\n",
        ": no name\r\n",
    ] {
        let response = exchange_bytes(&world, good.replacen("Accept:", &format!("{field}Accept:"), 1).as_bytes());
        // pingora itself answers what it cannot parse, and knows no JSON-RPC.
        assert_eq!(response.status, 400, "{field:?}: {}", response.brief());
        world.assert_unseen(&request);
    }
}

#[test]
fn there_is_exactly_one_host() {
    let world = world();
    let request = Request::call("beta__echo");
    let good = text(&world, &request);
    let host = format!("Host: {}\r\n", world.address());
    for (what, bytes) in
        [("none", good.replacen(&host, "", 1)), ("two", good.replacen(&host, &format!("{host}{host}"), 1))]
    {
        assert_framing_refused(&world, &request, &exchange_bytes(&world, bytes.as_bytes()), what);
    }
}

#[test]
fn a_body_has_one_length() {
    let world = world();
    let length = Request::call("beta__echo").body.len().to_string();
    let spoiled: [(&str, &[(&str, &str)]); 17] = [
        ("both", &[("Content-Length", &length), ("Transfer-Encoding", "chunked")]),
        ("both, the other way", &[("Transfer-Encoding", "chunked"), ("Content-Length", "5")]),
        ("twice equal", &[("Content-Length", &length), ("Content-Length", &length)]),
        ("twice unequal", &[("Content-Length", &length), ("content-length", "5")]),
        ("a list", &[("Content-Length", &format!("{length}, {length}"))]),
        ("a sign", &[("Content-Length", &format!("+{length}"))]),
        ("hexadecimal", &[("Content-Length", "0x80")]),
        ("negative", &[("Content-Length", "-1")]),
        ("empty", &[("Content-Length", "")]),
        ("past 64 bits", &[("Content-Length", "18446744073709551617")]),
        ("gzip, chunked", &[("Transfer-Encoding", "gzip, chunked")]),
        ("chunked, gzip", &[("Transfer-Encoding", "chunked, gzip")]),
        ("identity", &[("Transfer-Encoding", "identity")]),
        ("chunked twice", &[("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")]),
        ("chunked listed twice", &[("Transfer-Encoding", "chunked, chunked")]),
        ("vertical tab", &[("Transfer-Encoding", "\x0bchunked")]),
        ("xchunked", &[("Transfer-Encoding", "xchunked")]),
    ];
    support::each(spoiled, |(_, fields)| {
        let request = Request::call("beta__echo");
        let request = fields.iter().fold(request, |request, (name, value)| request.with(name, value));
        let is_chunked = fields.iter().any(|(name, _)| *name == "Transfer-Encoding");
        let request = if is_chunked { request.chunked(50) } else { request };
        let response = raw::exchange(world.address(), &request).map_err(|error| error.to_string())?;
        world.check_framing_refused(&request, &response)
    });
}

#[test]
fn chunks_that_lie_end_the_request() {
    let world = world();
    for (what, size, ending) in [
        ("a size that is no number", "zz", "\r\n"),
        ("a negative size", "-5", "\r\n"),
        ("too many bytes", "2", "\r\n"),
        ("a bare line feed", "5", "\n"),
        ("a huge size", "ffffffffffffffffff", "\r\n"),
    ] {
        let request = Request::call("beta__echo").with("Transfer-Encoding", "chunked");
        let mut bytes = request.head(world.address());
        bytes.extend_from_slice(format!("{size}{ending}{{\"a\":{ending}").as_bytes());
        let mut client = Client::connect(world.address());
        client.send(&bytes);
        client.half_close();
        match client.read() {
            Ok(response) => assert_eq!(response.status, 400, "{what}: {}", response.brief()),
            Err(_) => assert!(client.is_closed_within(Duration::from_secs(5)), "{what}"),
        }
        world.assert_unseen(&request);
    }
}

#[test]
fn a_request_of_http_1_0_is_served_plainly_or_refused() {
    let world = world();
    let request = Request::call("beta__echo");
    let old = text(&world, &request).replacen("HTTP/1.1", "HTTP/1.0", 1);
    let mut client = Client::connect(world.address());
    client.send(old.as_bytes());
    let response = client.read().unwrap();
    if response.status == 200 {
        assert!(response.header("transfer-encoding").is_none(), "HTTP/1.0 knows no chunks");
        assert_eq!(world.seen(&request).len(), 1);
    } else {
        assert!(matches!(response.status, 400 | 426 | 505), "{}", response.brief());
        world.assert_unseen(&request);
    }
    assert!(client.is_closed_within(Duration::from_secs(1)));
    let chunked = Request::call("beta__echo").chunked(9);
    let response = exchange_bytes(&world, text(&world, &chunked).replacen("HTTP/1.1", "HTTP/1.0", 1).as_bytes());
    assert_eq!(response.status, 400, "{}", response.brief());
    world.assert_unseen(&chunked);
}

#[test]
fn who_waits_for_100_continue_gets_it_and_the_server_hears_nothing_of_it() {
    let world = world();
    support::each(
        [("small", 1000, None), ("in chunks", 1000, Some(40)), ("large", 200_000, None)],
        |(_, size, chunk)| {
            let mut request = Request::sized("beta__echo", *size).with("Expect", "100-continue");
            request.chunk = *chunk;
            let mut client = Client::connect(world.address());
            client.send(&request.head(world.address()));
            let interim = client.read_any().map_err(|error| format!("no word to go on: {error}"))?;
            client.send(&request.framed_body());
            let response = client.read_any().map_err(|error| error.to_string())?;
            let seen = world.seen(&request);
            if (interim.status, response.status) != (100, 200) || !seen[0].ended || !seen[0].text("expect").is_empty() {
                return Err(format!("{} {} {:?}", interim.status, response.brief(), seen[0].head));
            }
            Ok(())
        },
    );
}

#[test]
fn who_waits_for_100_continue_is_refused_without_it() {
    let world = world();
    let request = Request::call("beta__echo").with("Expect", "100-continue").replacing("Content-Type", "text/plain");
    let mut client = Client::connect(world.address());
    client.send(&request.head(world.address()));
    let response = client.read_any().unwrap();
    refusal::check_any(&response, 415, None).unwrap();
    world.assert_unseen(&request);
}

/// Sends a chunked call whose end is spelled by hand.
fn chunked_by_hand(world: &World, extension: &str, trailer: &str) -> (Request, Response) {
    let request = Request::call("beta__echo").with("Transfer-Encoding", "chunked");
    let mut bytes = request.head(world.address());
    bytes.extend_from_slice(format!("{:x}{extension}\r\n", request.body.len()).as_bytes());
    bytes.extend_from_slice(&request.body);
    bytes.extend_from_slice(format!("\r\n0{extension}\r\n{trailer}\r\n").as_bytes());
    let response = exchange_bytes(world, &bytes);
    (request, response)
}

#[test]
fn trailers_and_chunk_extensions_say_nothing() {
    let world = world();
    let spellings = [
        (";a=1", ""),
        (";a=\"x;y\"", ""),
        ("", "Mcp-Name: beta__get_weather\r\n"),
        ("", "Mcp-Param-Region: x\r\nContent-Length: 5\r\nHost: evil.example\r\n"),
    ];
    support::each(spellings, |(extension, trailer)| {
        let (request, response) = chunked_by_hand(&world, extension, trailer);
        if response.status != 200 {
            return world.check_framing_refused(&request, &response);
        }
        let seen = &world.seen(&request)[0];
        let said = (seen.text("mcp-name"), seen.text("mcp-param-region"), seen.text("host"), seen.body.len());
        let expected = ("echo".to_owned(), String::new(), world.beta.address.to_string(), request.body.len());
        if said == expected { Ok(()) } else { Err(format!("{said:?}")) }
    });
    assert_eq!(world.beta.faults(), Vec::<String>::new());
}

#[test]
fn over_http2_a_declared_length_is_the_true_one() {
    let world = world();
    for size in [300, 100_000] {
        let length = size.to_string();
        for (what, declared) in [("shorter", size - 50), ("longer", size + 50), ("none", 0)] {
            let request = Request::sized("beta__echo", size).with("Content-Length", &declared.to_string());
            let sending = Sending::plain(&request).undeclared();
            // It may also end the stream.
            if let Ok(response) = h2c::exchange(world.address(), &sending) {
                assert_eq!(response.status, 400, "{what} than {length}: {}", response.brief());
            }
            world.assert_never_whole(&request).unwrap_or_else(|why| panic!("{what} than {length}: {why}"));
        }
        let twice = Request::sized("beta__echo", size).with("Content-Length", &length).with("Content-Length", &length);
        if let Ok(response) = h2c::exchange(world.address(), &Sending::plain(&twice).undeclared()) {
            assert_eq!(response.status, 400, "twice: {}", response.brief());
        }
        world.assert_never_whole(&twice).unwrap();
    }
    assert_eq!(world.beta.faults(), Vec::<String>::new());
}
