//! Sizes, times and numbers: what one client, and all of them, may take.

// Helpers of tests fail loudly, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use support::h2c::{self, Sending};
use support::raw::{self, Client, Response};
use support::refusal;
use support::request::Request;
use support::world::World;

static WORLD: Mutex<Weak<World>> = Mutex::new(Weak::new());

const LIMIT: usize = 1_000_000;
const LINES: &str = r#"
max_body_bytes = 1_000_000
max_head_bytes = 32_768
timeouts = { head = "1s", body = "1s", keepalive = "2s", write = "5s" }
"#;
/// What a deadline of a second may take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(4);

fn world() -> Arc<World> {
    World::shared(&WORLD, LINES)
}

#[test]
fn a_body_of_exactly_the_limit_passes() {
    let world = world();
    for request in [Request::sized("beta__echo", LIMIT), Request::sized("beta__echo", LIMIT).chunked(65_000)] {
        let response = raw::exchange(world.address(), &request).unwrap();
        assert_eq!(response.status, 200, "{}", response.brief());
        assert_eq!(world.seen(&request)[0].body.len(), LIMIT);
    }
}

#[test]
fn a_length_past_the_limit_is_refused_before_the_body() {
    let world = world();
    let request = Request::sized("beta__echo", LIMIT + 1);
    let mut client = Client::connect(world.address());
    client.send(&request.head(world.address()));
    refusal::check_own(&client.read().unwrap(), 413, None).unwrap();
    world.assert_unseen(&request);
    let response = h2c::exchange(world.address(), &Sending::plain(&request)).unwrap();
    refusal::check_own(&response, 413, None).unwrap();
    world.assert_unseen(&request);
}

#[test]
fn a_body_that_grows_past_the_limit_is_refused_there() {
    let world = world();
    let request = Request::sized("beta__echo", LIMIT + 200_000).chunked(10_000);
    let response = raw::exchange(world.address(), &request).expect("an answer to what was too large");
    refusal::check_own(&response, 413, None).unwrap();
    world.assert_never_whole(&request).unwrap();
    let request = Request::sized("beta__echo", LIMIT + 200_000).chunked(10_000);
    let response = h2c::exchange(world.address(), &Sending::plain(&request)).unwrap();
    refusal::check_own(&response, 413, None).unwrap();
    world.assert_never_whole(&request).unwrap();
}

/// A call with so many more fields of so many bytes each.
fn with_fields(count: usize, length: usize) -> Request {
    let value = "h".repeat(length);
    (0..count).fold(Request::call("beta__echo"), |request, index| request.with(&format!("X-{index}"), &value))
}

#[test]
fn a_head_past_the_limit_is_refused() {
    let world = world();
    let long_target = Request::call("beta__echo").to(&format!("/mcp?{}", "q".repeat(40_000)));
    let heads = [
        ("one of 40 kB", with_fields(1, 40_000)),
        ("one of 100 kB", with_fields(1, 100_000)),
        ("one of 3 MB", with_fields(1, 3_000_000)),
        ("a target of 40 kB", long_target),
        ("1000 fields", with_fields(1000, 40)),
        ("5000 fields", with_fields(5000, 40)),
        ("300 short fields", with_fields(300, 1)),
        ("200 long fields", with_fields(200, 400)),
    ];
    support::each(heads.iter().map(|(what, _)| *what), |what| {
        let request = &heads.iter().find(|(name, _)| name == what).unwrap().1;
        let response = raw::exchange(world.address(), request).map_err(|error| error.to_string())?;
        world.assert_unseen(request);
        refusal::check_own(&response, 431, None)
    });
    assert_eq!(raw::exchange(world.address(), &with_fields(100, 200)).unwrap().status, 200, "20 kB are fine");
}

#[test]
fn a_head_past_the_limit_is_refused_over_http2() {
    let world = world();
    let request = Request::call("beta__echo").with("X-Long", &"h".repeat(100_000));
    // HTTP/2 may also end the stream or the connection.
    if let Ok(response) = h2c::exchange(world.address(), &Sending::plain(&request)) {
        assert_eq!(response.status, 431, "{}", response.brief());
    }
    world.assert_unseen(&request);
}

/// Sends a byte a tenth of a second until the other side answers or closes.
fn drip(client: &mut Client, bytes: &[u8], limit: Duration) -> Option<Response> {
    let start = Instant::now();
    for byte in bytes {
        if start.elapsed() > limit || !client.send(&[*byte]) {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    client.read().ok()
}

#[test]
fn a_head_a_byte_at_a_time_is_too_slow() {
    let world = world();
    let request = Request::call("beta__echo");
    for begins_with in [0, 40] {
        let bytes = request.bytes(world.address());
        let mut client = Client::connect(world.address());
        let start = Instant::now();
        client.send(&bytes[..begins_with]);
        let response = drip(&mut client, &bytes[begins_with..], DEADLINE).expect("an answer to a slow head");
        refusal::check_own(&response, 408, None).unwrap();
        assert!(start.elapsed() > Duration::from_millis(900), "too early");
        assert!(start.elapsed() < DEADLINE, "too late: {:?}", start.elapsed());
        assert!(client.is_closed_within(Duration::from_secs(1)));
    }
    world.assert_unseen(&request);
}

#[test]
fn a_later_head_on_the_same_connection_may_be_no_slower() {
    let world = world();
    let mut client = Client::connect(world.address());
    assert_eq!(client.exchange(&Request::call("beta__echo")).unwrap().status, 200);
    let start = Instant::now();
    let response = drip(&mut client, &Request::call("beta__echo").bytes(world.address()), DEADLINE);
    assert!(start.elapsed() < DEADLINE, "too late: {:?}", start.elapsed());
    if let Some(response) = response {
        refusal::check_own(&response, 408, None).unwrap();
    }
}

#[test]
fn a_connection_that_says_nothing_is_closed() {
    let world = world();
    assert!(Client::connect(world.address()).is_closed_within(DEADLINE));
    let mut used = Client::connect(world.address());
    assert_eq!(used.exchange(&Request::call("beta__echo")).unwrap().status, 200);
    assert!(used.is_closed_within(DEADLINE), "kept alive past two seconds");
    let mut preface = Client::connect(world.address());
    preface.send(b"PRI * HT");
    assert!(preface.is_closed_within(DEADLINE), "half a preface of HTTP/2");
}

#[test]
fn a_body_that_stalls_is_too_slow() {
    let world = world();
    for request in [
        Request::call("beta__echo"),
        Request::call("beta__echo").chunked(20),
        Request::sized("beta__echo", 200_000),
        Request::sized("beta__echo", 200_000).chunked(5_000),
    ] {
        let bytes = request.bytes(world.address());
        let mut client = Client::connect(world.address());
        client.send(&bytes[..bytes.len() - 40]);
        let start = Instant::now();
        let response = client.read().expect("an answer to a slow body");
        refusal::check_own(&response, 408, None).unwrap();
        assert!(start.elapsed() < DEADLINE, "too late: {:?}", start.elapsed());
        world.assert_never_whole(&request).unwrap();
    }
}

#[test]
fn a_small_body_a_byte_at_a_time_is_too_slow() {
    let world = world();
    let request = Request::call("beta__echo");
    let mut client = Client::connect(world.address());
    client.send(&request.head(world.address()));
    let start = Instant::now();
    let response = drip(&mut client, &request.body, DEADLINE).expect("an answer to a slow body");
    refusal::check_own(&response, 408, None).unwrap();
    assert!(start.elapsed() < DEADLINE, "too late: {:?}", start.elapsed());
    world.assert_unseen(&request);
}

#[test]
fn a_client_that_does_not_read_is_left() {
    let world = World::start("threads = 1\ntimeouts = { write = \"1s\" }\n");
    let much = || Request::call("beta__echo").with("X-Do", "much");
    let read = raw::exchange(world.address(), &much()).unwrap();
    assert!(read.is_complete && read.body.len() > support::recorder::MUCH);
    let before = world.gateway.peak();
    let unread = much();
    let mut client = Client::connect(world.address());
    client.send_request(&unread);
    assert!(world.beta.wait(&unread.token(), DEADLINE, |seen| seen.ended));
    let is_lost = world.beta.wait(&unread.token(), 2 * DEADLINE, |seen| seen.lost.is_some());
    assert!(is_lost, "the server still writes to a client that does not read");
    let grown = world.gateway.peak().saturating_sub(before);
    assert!(grown < support::recorder::MUCH / 2, "{grown} bytes are held for a client that does not read");
    drop(client);
}

#[test]
fn pipelined_requests_are_answered_in_order_or_not_at_all() {
    let world = world();
    let requests =
        [Request::call("beta__echo"), Request::call("alpha__get_weather"), Request::call("beta__get_weather")];
    let bytes: Vec<u8> = requests.iter().flat_map(|request| request.bytes(world.address())).collect();
    let mut client = Client::connect(world.address());
    client.send(&bytes);
    let mut answered = 0;
    while let Ok(response) = client.read() {
        assert_eq!(response.status, 200, "{}", response.brief());
        assert_eq!(response.json().unwrap().get("id"), requests[answered].id().as_ref());
        answered += 1;
        if answered == requests.len() {
            break;
        }
    }
    assert!(answered >= 1, "the first is answered");
    std::thread::sleep(Duration::from_millis(200));
    let executed: Vec<_> = requests.iter().map(|request| world.seen(request).len()).collect();
    let expected: Vec<_> = (0..requests.len()).map(|index| usize::from(index < answered)).collect();
    assert_eq!(executed, expected, "what is executed once is answered, and nothing else is");
}

#[test]
fn a_request_inside_the_body_of_a_refused_one_is_never_executed() {
    let world = world();
    let call = Request::call("beta__echo");
    let outer = [
        call.clone().to("/none"),
        call.clone().by("GET"),
        call.clone().replacing("Accept", "text/html"),
        call.clone().replacing("Content-Type", "text/plain"),
        call.clone().without("Mcp-Method"),
        call.clone().with("Origin", "https://evil.example"),
        call.clone().with("Connection", "keep-alive, Mcp-Name"),
        call.clone().with("Expect", "100-continue").replacing("Accept", "text/html"),
        call.clone().replacing("Mcp-Name", "gamma__x"),
        call,
    ];
    std::thread::scope(|scope| {
        for outer in &outer {
            // The hidden request comes with the head and after it.
            for pause in [Duration::ZERO, Duration::from_millis(20), Duration::from_millis(600)] {
                let world = &world;
                scope.spawn(move || hides_nothing(world, outer, pause));
            }
        }
    });
}

/// Sends a request whose body is itself a request.
fn hides_nothing(world: &World, outer: &Request, pause: Duration) {
    let inner = Request::call("beta__echo");
    let hidden = inner.bytes(world.address());
    let outer = outer.clone().with_body(hidden.clone());
    let mut client = Client::connect(world.address());
    client.send_pieces(&[&outer.head(world.address()), &hidden], pause);
    let response = client.read().expect("a refusal");
    assert!(response.status >= 400 || response.code().is_some(), "{}", response.brief());
    assert!(client.read().map_or(true, |second| second.status != 200), "a second answer");
    world.assert_unseen(&inner);
}

fn assert_overloaded(response: &Response, request: Option<&Request>) {
    refusal::check_own(response, 503, request.and_then(Request::id).as_ref()).unwrap();
    assert!(response.header("retry-after").is_some_and(|after| after.parse::<u32>().is_ok()));
}

#[test]
fn connections_are_bounded() {
    let world = World::start("max_connections = 2\n");
    let call = || Request::call("beta__echo");
    let mut first = Client::connect(world.address());
    let mut second = Client::connect(world.address());
    assert_eq!(first.exchange(&call()).unwrap().status, 200);
    assert_eq!(second.exchange(&call()).unwrap().status, 200);
    let mut third = Client::connect(world.address());
    assert_overloaded(&third.read().expect("a word to the third"), None);
    assert!(third.is_closed_within(Duration::from_secs(1)));
    assert_eq!(first.exchange(&call()).unwrap().status, 200, "the others go on");
    drop(second);
    let is_free = || raw::exchange(world.address(), &call()).is_ok_and(|response| response.status == 200);
    assert!(support::eventually(Duration::from_secs(2), is_free), "the place is not given back");
}

#[test]
fn requests_in_flight_are_bounded() {
    let world = World::start("max_in_flight = 2\n");
    let held =
        [Request::call("beta__echo").with("X-Do", "hold"), Request::call("alpha__get_weather").with("X-Do", "hold")];
    let mut clients: Vec<_> = held.iter().map(|_| Client::connect(world.address())).collect();
    for (client, request) in clients.iter_mut().zip(&held) {
        client.send_request(request);
    }
    assert!(world.beta.wait(&held[0].token(), DEADLINE, |seen| seen.ended));
    assert!(world.alpha.wait(&held[1].token(), DEADLINE, |seen| seen.ended));
    let third = Request::call("beta__echo");
    assert_overloaded(&raw::exchange(world.address(), &third).unwrap(), Some(&third));
    let over_http2 = h2c::exchange(world.address(), &Sending::plain(&third)).unwrap();
    assert_overloaded(&over_http2, Some(&third));
    world.assert_unseen(&third);
    world.beta.release(&held[0].token());
    world.alpha.release(&held[1].token());
    for client in &mut clients {
        assert_eq!(client.read().unwrap().status, 200);
    }
    let is_free =
        || raw::exchange(world.address(), &Request::call("beta__echo")).is_ok_and(|answer| answer.status == 200);
    assert!(support::eventually(Duration::from_secs(1), is_free), "the places are not given back");
}

#[test]
fn bytes_that_wait_are_bounded() {
    const SIZE: usize = 60_000;
    let world = World::start("max_buffered_bytes = 1_048_576\n");
    let waiting: Vec<_> = (0..1_048_576 / SIZE).map(|_| Request::sized("beta__echo", SIZE)).collect();
    let mut clients: Vec<_> = waiting.iter().map(|_| Client::connect(world.address())).collect();
    let bytes: Vec<_> = waiting.iter().map(|request| request.bytes(world.address())).collect();
    for (client, bytes) in clients.iter_mut().zip(&bytes) {
        client.send(&bytes[..bytes.len() - 20]);
    }
    std::thread::sleep(Duration::from_millis(500));
    let more = Request::sized("beta__echo", SIZE);
    let response = raw::exchange(world.address(), &more).expect("an answer to the one too many");
    assert_overloaded(&response, None);
    world.assert_unseen(&more);
    for (client, bytes) in clients.iter_mut().zip(&bytes) {
        client.send(&bytes[bytes.len() - 20..]);
        assert_eq!(client.read().unwrap().status, 200, "the others go on");
    }
    let later = Request::sized("beta__echo", SIZE);
    assert_eq!(raw::exchange(world.address(), &later).unwrap().status, 200, "the room is not given back");
}
