//! Clients that leave: the server hears of it at once, or nothing at all.

// Helpers of tests fail loudly, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use support::h2c::{self, Sending};
use support::raw::Client;
use support::request::Request;
use support::world::World;

static WORLD: Mutex<Weak<World>> = Mutex::new(Weak::new());

/// How soon the server must hear of it.
const AT_ONCE: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_secs(4);

fn world() -> Arc<World> {
    World::shared(&WORLD, "")
}

/// The two ways to leave.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    ByReset,
    ByClose,
}

const WAYS: [Leaving; 2] = [Leaving::ByReset, Leaving::ByClose];

fn leave(client: Client, way: Leaving) {
    match way {
        Leaving::ByReset => client.reset(),
        Leaving::ByClose => drop(client),
    }
}

/// Sends the first `count` bytes of a request and stays.
fn begin(address: SocketAddr, request: &Request, count: usize) -> Client {
    let mut client = Client::connect(address);
    client.send(&request.bytes(address)[..count]);
    client
}

fn serves_on(world: &World) {
    let response = Client::connect(world.address()).exchange(&Request::call("beta__echo")).expect("an answer");
    assert_eq!(response.status, 200, "{}", response.brief());
}

#[test]
fn before_a_small_request_is_complete_no_server_hears_of_it() {
    let world = world();
    for request in [Request::call("beta__echo"), Request::call("beta__echo").chunked(30)] {
        let head = request.head(world.address()).len();
        let all = request.bytes(world.address()).len();
        for count in [0, 1, 20, head - 3, head - 1, head, head + 1, head + 50, all - 1] {
            for way in WAYS {
                let client = begin(world.address(), &request, count);
                std::thread::sleep(Duration::from_millis(3));
                leave(client, way);
            }
        }
        std::thread::sleep(Duration::from_millis(100));
        world.assert_unseen(&request);
    }
    serves_on(&world);
}

#[test]
fn amid_a_large_body_the_server_is_left_with_half_of_it() {
    let world = world();
    for way in WAYS {
        for request in [Request::sized("beta__echo", 400_000), Request::sized("beta__echo", 400_000).chunked(30_000)] {
            let client = begin(world.address(), &request, 250_000);
            assert!(world.beta.wait(&request.token(), SOON, |seen| !seen.body.is_empty()), "{way:?}: not streamed");
            leave(client, way);
            let is_lost = world.beta.wait(&request.token(), AT_ONCE, |seen| seen.lost.is_some());
            assert!(is_lost, "{way:?}: the server still waits");
            world.assert_never_whole(&request).unwrap();
        }
    }
    serves_on(&world);
}

#[test]
fn after_the_body_the_server_hears_of_it() {
    let world = world();
    for way in WAYS {
        for size in [1000, 200_000] {
            let request = Request::sized("beta__echo", size).with("X-Do", "hold");
            let client = begin(world.address(), &request, request.bytes(world.address()).len());
            assert!(world.beta.wait(&request.token(), SOON, |seen| seen.ended), "{way:?} {size}: not sent");
            leave(client, way);
            let is_lost = world.beta.wait(&request.token(), AT_ONCE, |seen| seen.lost.is_some());
            assert!(is_lost, "{way:?} {size}: the server still works");
        }
    }
    serves_on(&world);
}

#[test]
fn amid_the_answer_the_server_hears_of_it() {
    let world = world();
    for way in WAYS {
        let request = Request::call("beta__echo").with("X-Do", "trickle");
        let mut client = begin(world.address(), &request, request.bytes(world.address()).len());
        let head = client.read_head().unwrap();
        assert_eq!(head.get("content-type"), Some(&b"text/event-stream"[..]));
        assert_eq!(head.get("x-accel-buffering"), Some(&b"no"[..]));
        leave(client, way);
        assert!(
            world.beta.wait(&request.token(), AT_ONCE, |seen| seen.lost.is_some()),
            "{way:?}: the server still works"
        );
    }
    serves_on(&world);
}

#[test]
fn half_a_close_is_answered_or_counts_as_leaving() {
    let world = world();
    let request = Request::call("beta__echo");
    let mut client = begin(world.address(), &request, request.bytes(world.address()).len());
    client.half_close();
    match client.read() {
        Ok(response) => assert_eq!(response.status, 200, "{}", response.brief()),
        Err(_) => assert!(client.is_closed_within(AT_ONCE)),
    }
    assert!(world.seen(&request).len() <= 1);
    let held = Request::call("beta__echo").with("X-Do", "hold");
    let mut client = begin(world.address(), &held, held.bytes(world.address()).len());
    assert!(world.beta.wait(&held.token(), SOON, |seen| seen.ended));
    client.half_close();
    let is_lost = world.beta.wait(&held.token(), AT_ONCE, |seen| seen.lost.is_some());
    world.beta.release(&held.token());
    assert!(is_lost || client.read().is_ok_and(|response| response.status == 200), "neither answered nor given up");
    serves_on(&world);
}

#[test]
fn half_a_close_amid_a_body_ends_the_request() {
    let world = world();
    for request in [Request::call("beta__echo"), Request::sized("beta__echo", 200_000)] {
        let mut client = begin(world.address(), &request, request.bytes(world.address()).len() - 30);
        client.half_close();
        if let Ok(response) = client.read() {
            assert_eq!(response.status, 400, "{}", response.brief());
        }
        assert!(client.is_closed_within(AT_ONCE));
        world.assert_never_whole(&request).unwrap();
    }
    serves_on(&world);
}

#[test]
fn over_http2_a_reset_of_the_stream_is_leaving_too() {
    let world = world();
    let small = Request::call("beta__echo");
    let half = Sending::in_pieces(&small, vec![&small.body[..40]], Duration::ZERO);
    h2c::reset_unfinished(world.address(), &half, Duration::from_millis(50)).unwrap();
    world.assert_unseen(&small);

    let large = Request::sized("beta__echo", 400_000);
    let half = Sending::in_pieces(&large, vec![&large.body[..200_000]], Duration::ZERO);
    h2c::reset_unfinished(world.address(), &half, Duration::from_millis(200)).unwrap();
    assert!(world.beta.wait(&large.token(), Duration::ZERO, |seen| seen.lost.is_some()), "amid the body");
    world.assert_never_whole(&large).unwrap();

    for doing in ["hold", "trickle"] {
        let held = Request::call("beta__echo").with("X-Do", doing);
        h2c::reset_unanswered(world.address(), &Sending::plain(&held), Duration::from_millis(200)).unwrap();
        assert!(world.beta.wait(&held.token(), Duration::ZERO, |seen| seen.ended && seen.lost.is_some()), "{doing}");
    }
    serves_on(&world);
}

#[test]
fn who_leaves_takes_nobody_along() {
    let world = world();
    let staying = Request::call("beta__echo").with("X-Do", "hold");
    let mut client = begin(world.address(), &staying, staying.bytes(world.address()).len());
    assert!(world.beta.wait(&staying.token(), SOON, |seen| seen.ended));
    for _ in 0..20 {
        let leaving = Request::call("beta__echo").with("X-Do", "hold");
        let gone = begin(world.address(), &leaving, leaving.bytes(world.address()).len());
        assert!(world.beta.wait(&leaving.token(), SOON, |seen| seen.ended));
        gone.reset();
        assert!(world.beta.wait(&leaving.token(), AT_ONCE, |seen| seen.lost.is_some()));
    }
    world.beta.release(&staying.token());
    assert_eq!(client.read().unwrap().status, 200);
}
