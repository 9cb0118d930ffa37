//! A pool survives its members: calls go on while an endpoint refuses, swallows or comes back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use support::gateway::{Gateway, Setup};
use support::misbehaving::{Fault, Misbehaving};
use support::raw::{self, Client};
use support::request::Request;
use support::scripted::{Asked, Reply, Scripted, tools};
use support::swallowing::Swallowing;
use support::{eventually, refusal};

const CALLS: usize = 10_000;
const AT_ONCE: usize = 64;
/// A call that takes longer was kept waiting by an endpoint that swallows: the default `timeouts.connect` is 2 s.
const SLOW: Duration = Duration::from_millis(1_500);

fn answer(asked: &Asked) -> Reply {
    match asked.method.as_str() {
        "tools/list" => tools(&["a"], 60_000, "public"),
        "tools/call" => Reply::result(&json!({ "resultType": "complete", "content": [] })),
        _ => Reply::no_method(),
    }
}

fn before(endpoints: &[SocketAddr]) -> Gateway {
    let urls: Vec<_> = endpoints.iter().map(|address| format!("http://{address}/mcp")).collect();
    let tables = format!("[servers.s]\nendpoints = {urls:?}\n");
    Setup { tables, ..Setup::default() }.start()
}

/// Makes many calls at once; how many were slow. Each must succeed.
fn load(gateway: &Gateway, calls: usize) -> usize {
    let (left, slow) = (AtomicUsize::new(calls), AtomicUsize::new(0));
    let work = || {
        let mut client = Client::connect(gateway.address);
        while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            let start = Instant::now();
            let response = client.exchange(&Request::call("s__a")).unwrap();
            assert_eq!(response.status, 200, "{}", response.brief());
            slow.fetch_add(usize::from(start.elapsed() > SLOW), Ordering::SeqCst);
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    slow.into_inner()
}

#[test]
fn no_call_fails_while_one_of_three_endpoints_refuses() {
    let (one, other) = (Scripted::start(answer), Scripted::start(answer));
    let dead = Misbehaving::start(Fault::Refuses);
    for order in [[dead.address, one.address, other.address], [one.address, other.address, dead.address]] {
        let gateway = before(&order);
        assert_eq!(load(&gateway, CALLS), 0);
        let words = format!("{} cannot be reached: ", dead.address);
        assert_eq!(gateway.output().matches(&words).count(), 1, "it is said once");
    }
    let counts = [one.asked("tools/call").len(), other.asked("tools/call").len()];
    assert_eq!(counts.iter().sum::<usize>(), 2 * CALLS);
    assert!(counts.iter().all(|count| *count > CALLS / 2), "the load is shared: {counts:?}");
}

#[test]
fn a_handful_of_calls_is_slow_while_one_of_three_endpoints_swallows() {
    let (one, other) = (Scripted::start(answer), Scripted::start(answer));
    let swallowing = Swallowing::start();
    let gateway = before(&[swallowing.address, one.address, other.address]);
    let slow = load(&gateway, CALLS);
    assert!(slow <= 8, "{slow} calls were slow");
    let (_, metrics) = gateway.admin_get("/metrics").unwrap();
    let series = "signpost_upstream_connect_failures_total{pool=\"default\",reason=\"timed_out\",server=\"s\"} ";
    assert!(metrics.contains(series) && !metrics.contains(&format!("{series}0")), "{metrics}");
}

#[test]
fn an_endpoint_that_dies_under_load_takes_no_call_with_it_and_comes_back() {
    let one = Scripted::start(answer);
    let other = Scripted::start(answer);
    let address = other.address;
    let gateway = before(&[one.address, address]);
    load(&gateway, 500);
    assert!(!other.asked("tools/call").is_empty());
    other.stop();
    // What was under way on its connections was lost with them; from then on every call has a place to go.
    eventually(Duration::from_secs(2), || {
        (0..20).all(|_| raw::exchange(gateway.address, &Request::call("s__a")).unwrap().status == 200)
    });
    assert_eq!(load(&gateway, 2_000), 0);
    let back = Scripted::start_at(address, answer);
    let is_asked = || {
        load(&gateway, 50);
        back.asked("tools/call").len() > 10
    };
    assert!(eventually(Duration::from_secs(20), is_asked), "{}", gateway.output());
    assert!(gateway.output().contains(&format!("{address} can be reached again")));
}

#[test]
fn where_no_endpoint_can_be_reached_each_was_tried() {
    let dead: Vec<_> = (0..20).map(|_| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()).collect();
    let gateway = before(&dead);
    for _ in 0..3 {
        let request = Request::call("s__a");
        let response = raw::exchange(gateway.address, &request).unwrap();
        refusal::check(&response, 502, |code| code == 1001, request.id().as_ref()).unwrap();
    }
    let output = gateway.output();
    for address in &dead {
        assert!(output.contains(&format!("{address} cannot be reached: ")), "{address} was not tried");
    }
    let alive = Scripted::start(answer);
    let mut all = dead.clone();
    all.push(alive.address);
    let gateway = before(&all);
    assert_eq!(raw::exchange(gateway.address, &Request::call("s__a")).unwrap().status, 200);
}
