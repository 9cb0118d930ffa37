//! What reaches a server beside the call, and what reaches the client beside the answer.

// Helpers of tests fail loudly, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use support::h2c::{self, Sending};
use support::inbox::values;
use support::raw::{self, Client};
use support::request::Request;
use support::world::World;

static WORLD: Mutex<Weak<World>> = Mutex::new(Weak::new());

fn world() -> Arc<World> {
    World::shared(&WORLD, "")
}

#[test]
fn credentials_and_sessions_stay_here() {
    let world = world();
    let request = Request::call("beta__echo")
        .with("Authorization", "Bearer secret")
        .with("Cookie", "a=secret")
        .with("Proxy-Authorization", "Basic secret")
        .with("Mcp-Session-Id", "secret")
        .with("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    for is_http2 in [false, true] {
        let request = request.clone().replacing(support::request::TOKEN, if is_http2 { "relay-2" } else { "relay-1" });
        let status = if is_http2 {
            h2c::exchange(world.address(), &Sending::plain(&request)).unwrap().status
        } else {
            raw::exchange(world.address(), &request).unwrap().status
        };
        assert_eq!(status, 200);
        let seen = &world.seen(&request)[0];
        let leaked = seen.head.fields.iter().find(|(_, value)| String::from_utf8_lossy(value).contains("secret"));
        assert!(leaked.is_none(), "{leaked:?}");
        assert!(seen.text("traceparent").starts_with("00-0af7651916cd43dd8448eb211c80319c"));
    }
}

#[test]
fn where_a_request_came_from_is_said_by_the_gateway_alone() {
    let world = world();
    let host = format!("localhost:{}", world.address().port());
    let request = Request::call("beta__echo")
        .with("Host", &host)
        .with("X-Forwarded-For", "192.0.2.1")
        .with("X-Forwarded-Host", "evil.example")
        .with("X-Forwarded-Proto", "https");
    world.assert_passes(&request, "forwarded");
    let seen = &world.seen(&request)[0];
    let one = |name: &str| {
        let values = values(&seen.head.fields, name);
        assert_eq!(values.len(), 1, "{name}");
        String::from_utf8_lossy(values[0]).into_owned()
    };
    assert_eq!(one("x-forwarded-for"), "127.0.0.1");
    assert_eq!(one("x-forwarded-host"), host);
    assert_eq!(one("x-forwarded-proto"), "http");
    assert_eq!(one("host"), world.beta.address.to_string());
}

#[test]
fn what_a_trusted_proxy_says_of_others_is_kept() {
    let world = World::start("trusted_proxies = [\"127.0.0.0/8\"]");
    let request = Request::call("beta__echo")
        .with("X-Forwarded-For", "192.0.2.1")
        .with("X-Forwarded-For", "192.0.2.2")
        .with("X-Forwarded-Host", "mcp.example")
        .with("X-Forwarded-Proto", "https");
    world.assert_passes(&request, "forwarded");
    let seen = &world.seen(&request)[0];
    let all = |name: &str| {
        let values = values(&seen.head.fields, name);
        values.into_iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(all("x-forwarded-for"), ["192.0.2.1, 192.0.2.2, 127.0.0.1"]);
    assert_eq!(all("x-forwarded-host"), ["mcp.example"]);
    assert_eq!(all("x-forwarded-proto"), ["https"]);
}

#[test]
fn hop_by_hop_headers_end_here() {
    let world = world();
    let request = Request::call("beta__echo")
        .with("Connection", "keep-alive, upgrade, te")
        .with("Keep-Alive", "timeout=5")
        .with("TE", "trailers")
        .with("Trailer", "X-Last")
        .with("Upgrade", "websocket")
        .with("Proxy-Connection", "keep-alive");
    let response = raw::exchange(world.address(), &request).unwrap();
    if response.status != 200 {
        world.check_framing_refused(&request, &response).unwrap();
        return;
    }
    let seen = &world.seen(&request)[0];
    for name in ["keep-alive", "te", "trailer", "upgrade", "proxy-connection"] {
        assert_eq!(seen.text(name), "", "{name}");
    }
}

#[test]
fn what_is_not_a_servers_to_say_is_dropped_from_its_answer() {
    let world = world();
    let response = world.assert_passes(&Request::call("beta__echo").with("X-Do", "foreign"), "foreign");
    for name in [
        "set-cookie",
        "alt-svc",
        "strict-transport-security",
        "clear-site-data",
        "access-control-allow-origin",
        "access-control-allow-credentials",
        "mcp-session-id",
    ] {
        assert_eq!(response.header(name), None, "{name}");
    }
    assert_eq!(response.header("x-kept").as_deref(), Some("1"));
}

#[test]
fn a_servers_401_passes_with_its_challenge() {
    let world = world();
    let request = Request::call("beta__echo").with("X-Do", "unauthorized");
    let response = raw::exchange(world.address(), &request).unwrap();
    assert_eq!(response.status, 401);
    assert_eq!(response.header("www-authenticate").as_deref(), Some("Bearer scope=\"x\""));
    assert_eq!(Some(response.body), world.seen(&request)[0].answer);
}

#[test]
fn events_arrive_when_they_are_sent() {
    let world = world();
    let request = Request::call("beta__echo").with("X-Do", "trickle");
    let mut client = Client::connect(world.address());
    client.send_request(&request);
    let is_early = client.read_until(b"notifications/message", Duration::from_secs(3));
    world.beta.release(&request.token());
    assert!(is_early, "the first event waited for the second");
    assert!(client.read_until(b"0\r\n\r\n", Duration::from_secs(3)), "the stream does not end");
}

#[test]
fn one_walk_over_a_servers_list_serves_all_who_wait() {
    let world = World::start("");
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let request = Request::call("alpha__get_weather");
                assert_eq!(raw::exchange(world.address(), &request).unwrap().status, 200);
            });
        }
    });
    let log = world.alpha.log();
    let lists = log.iter().filter(|seen| seen.text("mcp-method") == "tools/list").count();
    assert_eq!((lists, log.len()), (2, 18), "two pages, once");
}
