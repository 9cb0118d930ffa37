//! The beginning and the end of the process: ready when it listens, a drain that ends with the last request, or an end at
//! once.

// Helpers of tests fail loudly, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::{Duration, Instant};

use support::h2c::{self, Sending};
use support::raw::{self, Client};
use support::request::Request;
use support::world::World;

const SOON: Duration = Duration::from_secs(4);

/// A call that is held by its server, and the client that waits for it.
fn hold(world: &World, doing: &str) -> (Request, Client) {
    let request = Request::call("beta__echo").with("X-Do", doing);
    let mut client = Client::connect(world.address());
    client.send_request(&request);
    assert!(world.beta.wait(&request.token(), SOON, |seen| seen.ended), "not sent");
    (request, client)
}

fn takes_no_more(world: &World) -> bool {
    raw::exchange(world.address(), &Request::call("beta__echo")).is_err()
}

#[test]
fn ready_means_that_it_listens() {
    for _ in 0..8 {
        // The world is there as soon as `/readyz` says so.
        let world = World::start("");
        let first = raw::exchange(world.address(), &Request::call("beta__echo")).expect("ready, but not listening");
        assert_eq!(first.status, 200, "{}", first.brief());
    }
}

#[test]
fn sigterm_without_requests_ends_at_once_and_well() {
    let mut world = World::start("");
    let mut idle = Client::connect(world.address());
    assert_eq!(idle.exchange(&Request::call("beta__echo")).unwrap().status, 200);
    world.gateway.signal("TERM");
    let status = world.gateway.exit_within(Duration::from_millis(1500)).expect("it does not end");
    assert_eq!(status.code(), Some(0), "{}", world.gateway.output());
}

#[test]
fn sigterm_lets_requests_finish() {
    let mut world = World::start("");
    let (held, mut client) = hold(&world, "hold");
    let (streaming, mut listener) = hold(&world, "trickle");
    world.gateway.signal("TERM");
    assert!(support::eventually(SOON, || world.gateway.admin_status("/readyz") != Some(200)), "still ready");
    assert!(support::eventually(SOON, || takes_no_more(&world)), "still takes connections");
    std::thread::sleep(Duration::from_millis(500));
    assert!(world.gateway.exit_within(Duration::ZERO).is_none(), "it did not wait for its requests");
    world.beta.release(&held.token());
    let response = client.read().expect("an answer during the drain");
    assert_eq!(response.status, 200, "{}", response.brief());
    world.beta.release(&streaming.token());
    assert!(listener.read().expect("a stream during the drain").is_complete);
    let status = world.gateway.exit_within(Duration::from_millis(1500)).expect("it does not end with the last request");
    assert_eq!(status.code(), Some(0), "{}", world.gateway.output());
}

#[test]
fn sigterm_lets_requests_over_http2_finish() {
    let mut world = World::start("");
    let held = Request::call("beta__echo").with("X-Do", "hold");
    let address = world.address();
    let asking = held.clone();
    let client =
        std::thread::spawn(move || h2c::exchange(address, &Sending::plain(&asking)).map_err(|e| e.to_string()));
    assert!(world.beta.wait(&held.token(), SOON, |seen| seen.ended));
    world.gateway.signal("TERM");
    std::thread::sleep(Duration::from_millis(300));
    world.beta.release(&held.token());
    assert_eq!(client.join().unwrap().expect("an answer during the drain").status, 200);
    let status = world.gateway.exit_within(Duration::from_millis(1500)).expect("it does not end with the last request");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_drain_ends_after_its_grace() {
    let mut world = World::start("shutdown_grace = \"1s\"\n");
    let (held, _client) = hold(&world, "hold");
    let start = Instant::now();
    world.gateway.signal("TERM");
    world.gateway.exit_within(SOON).expect("it waits past its grace");
    assert!(start.elapsed() > Duration::from_millis(800), "it did not wait: {:?}", start.elapsed());
    assert!(world.beta.wait(&held.token(), SOON, |seen| seen.lost.is_some()));
}

#[test]
fn sigint_ends_at_once() {
    let mut world = World::start("");
    let (held, _client) = hold(&world, "hold");
    world.gateway.signal("INT");
    world.gateway.exit_within(Duration::from_secs(1)).expect("it does not end");
    assert!(world.beta.wait(&held.token(), SOON, |seen| seen.lost.is_some()));
}

/// The access-log lines of requests that were cut.
fn cut_lines(world: &World) -> Vec<serde_json::Value> {
    let output = world.gateway.output();
    let lines = output.lines().filter_map(|line| serde_json::from_str(line).ok());
    lines.filter(|line: &serde_json::Value| line["outcome"] == "cut").collect()
}

#[test]
fn what_is_cut_leaves_a_line_each_and_the_end_says_how_many() {
    for (signal, setup) in [("TERM", "shutdown_grace = \"300ms\"\n"), ("INT", "")] {
        let mut world = World::start(setup);
        let (_, held) = hold(&world, "hold");
        let (_, trickling) = hold(&world, "trickle");
        let over_http2 = Request::call("beta__echo").with("X-Do", "hold");
        let (address, asking) = (world.address(), over_http2.clone());
        let client = std::thread::spawn(move || h2c::exchange(address, &Sending::plain(&asking)).is_err());
        assert!(world.beta.wait(&over_http2.token(), SOON, |seen| seen.ended));
        let mut idle = Client::connect(world.address());
        assert_eq!(idle.exchange(&Request::call("beta__echo")).unwrap().status, 200);
        world.gateway.signal(signal);
        let status = world.gateway.exit_within(SOON).expect("it does not end");
        assert!(status.success(), "{signal}");
        let output = world.gateway.output();
        let lines = cut_lines(&world);
        assert_eq!(lines.len(), 3, "{signal}: {output}");
        for line in &lines {
            assert_eq!(
                (&line["method"], &line["name"], &line["server"]),
                (&"tools/call".into(), &"beta__echo".into(), &"beta".into())
            );
            assert!(line["total_us"].as_u64().unwrap() > 0);
        }
        assert!(lines.iter().any(|line| line["status"] == 200), "the stream had begun: {output}");
        assert!(output.contains("cut 3 requests") && output.contains("stopped"), "{signal}: {output}");
        assert!(client.join().unwrap());
        drop((held, trickling, idle));
    }
}

#[test]
fn an_end_that_cuts_nothing_says_so_little() {
    let mut world = World::start("");
    world.assert_passes(&Request::call("beta__echo"), "before the end");
    world.gateway.signal("INT");
    assert!(world.gateway.exit_within(SOON).unwrap().success());
    let output = world.gateway.output();
    assert!(output.contains("stopped") && !output.contains("cut "), "{output}");
}

#[test]
fn a_hangup_changes_nothing() {
    let world = World::start("");
    world.gateway.signal("HUP");
    assert!(support::eventually(SOON, || world.gateway.output().contains("SIGHUP")), "it says nothing");
    world.assert_passes(&Request::call("beta__echo"), "after SIGHUP");
}

#[test]
fn connections_on_which_nothing_has_begun_do_not_hold_up_a_drain() {
    let mut world = World::start("timeouts = { head = \"20s\", body = \"20s\", keepalive = \"20s\", write = \"20s\" }");
    let silent = std::net::TcpStream::connect(world.address()).unwrap();
    let mut kept = Client::connect(world.address());
    assert_eq!(kept.exchange(&Request::call("beta__echo")).unwrap().status, 200);
    world.gateway.signal("TERM");
    let status = world.gateway.exit_within(Duration::from_secs(3)).expect("it goes on");
    assert!(status.success());
    drop(silent);
}
