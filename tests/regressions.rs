//! What got past the gateway once, by its kind.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use serde_json::json;
use support::h2c::{self, Sending};
use support::raw::{self, Client};
use support::recorder::Recorder;
use support::refusal;
use support::request::Request;
use support::world::World;

const SOON: Duration = Duration::from_secs(3);

/// A server that answers every connection with the same bytes, whatever it is asked, and then closes it.
fn scripted(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut seen = Vec::new();
            let mut block = [0; 4096];
            while !seen.windows(4).any(|window| window == b"\r\n\r\n") {
                match stream.read(&mut block) {
                    Ok(read @ 1..) => seen.extend_from_slice(&block[..read]),
                    _ => break,
                }
            }
            let _ = stream.write_all(answer);
        }
    });
    address
}

#[test]
fn after_a_framing_fault_nothing_more_is_taken_from_the_connection() {
    let world = World::start("");
    support::each(["zz\r\n", "1\r\n{\r\nzz\r\n", "1\r\n{xx\r\n", "1\r\n{\n0\n\n"], |body| {
        let mut head = Request::call("beta__echo").without("Content-Length").head(world.address());
        // The head as it is, but for the framing.
        let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
        let lines = text.lines().filter(|line| !line.to_ascii_lowercase().starts_with("content-length"));
        let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
        let text = lines.join("\r\n");
        let mut client = Client::connect(world.address());
        client.send(format!("{text}\r\nTransfer-Encoding: chunked\r\n\r\n{body}").as_bytes());
        let response = client.read().map_err(|error| error.to_string())?;
        if response.status != 400 {
            return Err(response.brief());
        }
        let next = Request::call("beta__echo");
        client.send_request(&next);
        std::thread::sleep(Duration::from_millis(100));
        if world.seen(&next).is_empty() { Ok(()) } else { Err("what followed was taken for a request".into()) }
    });
}

#[test]
fn an_integer_goes_where_its_number_goes_however_it_is_spelt() {
    let (alpha, one) = (Recorder::start("alpha"), Recorder::start("one"));
    let lines = format!(
        "[[servers.alpha.routes]]\nname = \"one\"\nwhen = {{ Limit = \"42\" }}\nendpoints = [\"http://{}/mcp\"]",
        one.address
    );
    let gateway = support::gateway::Setup::default().server("alpha", alpha.address, &lines).start();
    support::each(["42", "42.0", "4.2e1", "420e-1"], |spelling| {
        let request = Request::of("tools/call", Some("alpha__execute_sql"), json!({ "arguments": { "limit": 42 } }))
            .with("Mcp-Param-Limit", spelling);
        let response = raw::exchange(gateway.address, &request).map_err(|error| error.to_string())?;
        let token = request.token();
        match (response.status, one.seen(&token).len(), alpha.seen(&token).len()) {
            (200, 1, 0) => Ok(()),
            other => Err(format!("status, in the pool, elsewhere: {other:?}")),
        }
    });
}

#[test]
fn the_gateways_own_token_never_reaches_a_server() {
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "of-the-gateway").unwrap();
    let alpha = Recorder::start("alpha");
    let gateway = support::gateway::Setup::default()
        .gateway(&format!("bearer_file = {:?}", file.to_str().unwrap()))
        .server("alpha", alpha.address, "authorization = \"forward\"")
        .start();
    let call = || Request::call("alpha__get_weather").with("Authorization", "Bearer of-the-gateway");
    assert_eq!(raw::exchange(gateway.address, &call()).unwrap().status, 200);
    let doubled = call().with("Authorization", "Bearer another");
    assert_eq!(raw::exchange(gateway.address, &doubled).unwrap().status, 401);
    let log = alpha.log();
    assert!(log.len() >= 2, "a list and a call");
    assert!(log.iter().all(|seen| seen.text("authorization").is_empty()), "{log:?}");
}

#[test]
fn credentials_that_are_named_are_forwarded_on_calls_as_on_lists() {
    let alpha = Recorder::start("alpha");
    let lines =
        "authorization = \"forward\"\ncredential_headers = [\"authorization\", \"proxy-authorization\", \"cookie\"]";
    let gateway = support::gateway::Setup::default().server("alpha", alpha.address, lines).start();
    let request = Request::call("alpha__get_weather")
        .with("Authorization", "Bearer mine")
        .with("Proxy-Authorization", "Basic mine")
        .with("Cookie", "a=mine")
        .with("Mcp-Session-Id", "mine");
    assert_eq!(raw::exchange(gateway.address, &request).unwrap().status, 200);
    let log = alpha.log();
    assert!(log.len() >= 2, "a list and a call");
    for seen in log {
        let sent = ["authorization", "proxy-authorization", "cookie"].map(|name| seen.text(name));
        assert_eq!(sent, ["Bearer mine", "Basic mine", "a=mine"], "{}", seen.text("mcp-method"));
        assert_eq!(seen.text("mcp-session-id"), "");
    }
}

#[test]
fn a_tool_that_no_list_has_goes_nowhere_where_routes_hang_on_rules() {
    let (alpha, us) = (Recorder::start("alpha"), Recorder::start("us"));
    let lines = format!(
        "[[servers.alpha.routes]]\nname = \"us\"\nwhen = {{ Region = \"us\" }}\nendpoints = [\"http://{}/mcp\"]",
        us.address
    );
    let gateway = support::gateway::Setup::default().server("alpha", alpha.address, &lines).start();
    let request = Request::of("tools/call", Some("alpha__nobody"), json!({ "arguments": { "region": "us" } }));
    let response = raw::exchange(gateway.address, &request).unwrap();
    refusal::check(&response, 200, |code| code == -32602, request.id().as_ref()).unwrap();
    assert!(alpha.seen(&request.token()).is_empty() && us.seen(&request.token()).is_empty());
}

#[test]
fn a_client_that_stops_in_its_body_is_told_so_and_its_server_is_not_blamed() {
    let alpha = Recorder::start("alpha");
    let gateway = support::gateway::Setup::default()
        .gateway("timeouts = { head = \"5s\", body = \"1s\", keepalive = \"5s\", write = \"5s\" }")
        .server("alpha", alpha.address, "timeouts = { response = \"4s\" }")
        .start();
    let request = Request::sized("alpha__get_weather", 300_000);
    let body = request.framed_body();
    let mut client = Client::connect(gateway.address);
    client.send(&request.head(gateway.address));
    client.send(&body[..150_000]);
    assert_eq!(client.read().unwrap().status, 408, "HTTP/1.1");
    let pieces = vec![&body[..150_000], &body[150_000..]];
    // Without a limit of ours the rest would come in time for the server.
    let sending = Sending::in_pieces(&request, pieces, Duration::from_millis(2500));
    assert_eq!(h2c::exchange(gateway.address, &sending).unwrap().status, 408, "HTTP/2");
}

#[test]
fn a_client_may_pause_longer_than_a_server_may_be_silent() {
    let alpha = Recorder::start("alpha");
    let gateway = support::gateway::Setup::default()
        .gateway("timeouts = { head = \"5s\", body = \"5s\", keepalive = \"5s\", write = \"5s\" }")
        .server("alpha", alpha.address, "timeouts = { response = \"1s\" }")
        .start();
    let request = Request::sized("alpha__get_weather", 300_000);
    let body = request.framed_body();
    let mut client = Client::connect(gateway.address);
    client.send(&request.head(gateway.address));
    client.send_pieces(&[&body[..150_000], &body[150_000..]], Duration::from_millis(1800));
    let response = client.read().unwrap();
    assert_eq!(response.status, 200, "{}", response.brief());
}

#[test]
fn hearsay_of_a_peer_that_is_not_trusted_is_dropped_whole() {
    let world = World::start("");
    let names = ["X-Forwarded-User", "X-Forwarded-Port", "X-Forwarded-Client-Cert", "X-Real-IP", "Forwarded"];
    let request = names.iter().fold(Request::call("beta__echo"), |request, name| request.with(name, "root"));
    world.assert_passes(&request, "forwarded");
    let seen = &world.seen(&request)[0];
    for name in names {
        assert_eq!(seen.text(&name.to_ascii_lowercase()), "", "{name}");
    }
}

#[test]
fn what_speaks_of_the_servers_connection_ends_here() {
    let server = scripted(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\n\
          Upgrade: h2c\r\nProxy-Connection: close\r\nTE: x\r\nTrailer: y\r\nConnection: close, X-Secret\r\nX-Secret: 1\r\n\r\n{}",
    );
    let gateway = support::gateway::Setup::default().server("alpha", server, "").start();
    let request = Request::call("alpha__x");
    let answers = [
        raw::exchange(gateway.address, &request).unwrap(),
        h2c::exchange(gateway.address, &Sending::plain(&request)).unwrap(),
    ];
    for answer in answers {
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b"{}"[..]));
        for name in ["upgrade", "proxy-connection", "te", "trailer", "x-secret"] {
            assert_eq!(answer.header(name), None, "{name}");
        }
    }
}

#[test]
fn another_protocol_that_nobody_asked_for_is_no_answer() {
    let server = scripted(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    let gateway = support::gateway::Setup::default().server("alpha", server, "").start();
    let request = Request::call("alpha__x");
    refusal::check_own(&raw::exchange(gateway.address, &request).unwrap(), 502, request.id().as_ref()).unwrap();
}

#[test]
fn a_second_signal_ends_a_drain() {
    let mut world = World::start("");
    let request = Request::call("beta__echo").with("X-Do", "hold");
    let mut client = Client::connect(world.address());
    client.send_request(&request);
    assert!(world.beta.wait(&request.token(), SOON, |seen| seen.ended), "not sent");
    world.gateway.signal("TERM");
    std::thread::sleep(Duration::from_millis(300));
    world.gateway.signal("INT");
    assert!(world.gateway.exit_within(SOON).is_some(), "it goes on draining");
}

#[test]
fn an_underscore_hides_nothing_from_us_that_a_server_would_see() {
    let world = World::start("");
    let spellings = ["MCP-Protocol_Version", "Mcp-Param_Region", "Mcp-Session_Id", "mcp_name"];
    support::each(spellings, |name| {
        let request = Request::call("beta__echo").with(name, "1900-01-01");
        let response = raw::exchange(world.address(), &request).map_err(|error| error.to_string())?;
        world.check_refused(&request, &response, 400)
    });
    let names = [
        "Content_Type",
        "Content_Length",
        "Transfer_Encoding",
        "Proxy_Authorization",
        "X_Forwarded_User",
        "X_Real_IP",
        "X-Forwarded_For",
    ];
    let request = names.iter().fold(Request::call("beta__echo"), |request, name| request.with(name, "1"));
    let request = request.with("Mcp-Param-Of_Nobody", "1");
    world.assert_passes(&request, "underscores elsewhere");
    let seen = world.seen(&request);
    for name in names {
        assert_eq!(seen[0].text(&name.to_ascii_lowercase()), "", "{name}");
    }
    assert_eq!(seen[0].text("mcp-param-of_nobody"), "1", "what nobody recognizes is forwarded");
}

#[test]
fn spellings_that_others_read_as_ours_are_refused() {
    let world = World::start("");
    let call = || Request::call("beta__echo");
    let refused = [
        (call().with("Mcp_Name", "alpha__x"), 400),
        (call().with("Connection", "content-type"), 400),
        (call().with("Origin", "http://localhost:1@evil.example"), 403),
        (call().with("Host", "localhost:evil"), 403),
    ];
    support::each(refused, |(request, status)| {
        let response = raw::exchange(world.address(), request).map_err(|error| error.to_string())?;
        world.check_refused(request, &response, *status)
    });
}

#[test]
fn a_header_and_a_body_of_two_versions_disagree_whatever_is_spoken() {
    let world = World::start("");
    let foreign = Request::call("beta__echo").replacing("MCP-Protocol-Version", "1900-01-01");
    let response = raw::exchange(world.address(), &foreign).unwrap();
    refusal::check(&response, 400, |code| code == -32020, foreign.id().as_ref()).unwrap();
    world.assert_unseen(&foreign);
}
