//! Servers that go wrong, and what the client hears of it.

// Helpers of tests fail loudly, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use support::gateway::{Gateway, Setup};
use support::h2c::{self, Sending};
use support::misbehaving::{ANSWER, Fault, Misbehaving};
use support::raw::{self, Client, Response};
use support::refusal;
use support::request::Request;

const FAULTS: [(&str, Fault); 13] = [
    ("refuses", Fault::Refuses),
    ("resets", Fault::ResetsAtOnce),
    ("resets-later", Fault::ResetsAfterRequest),
    ("closes", Fault::ClosesAfterRequest),
    ("silent", Fault::SilentBeforeHead),
    ("silent-in-body", Fault::SilentInBody),
    ("closes-in-body", Fault::ClosesInBody),
    ("closes-in-chunks", Fault::ClosesInChunks),
    ("garbage", Fault::Garbage),
    ("huge-head", Fault::HugeHead),
    ("early", Fault::AnswersEarly),
    ("interim", Fault::InterimFirst),
    ("too-much", Fault::SaysTooMuch),
];
/// Longer than the response and idle times below, on a busy machine.
const SOON: Duration = Duration::from_secs(6);

/// One gateway before one server of each fault; where they can, they go wrong at calls only, not at lists.
struct Faulty {
    gateway: Gateway,
    servers: Vec<Misbehaving>,
}

impl Faulty {
    fn start(time: &str) -> Self {
        let servers: Vec<_> = FAULTS.iter().map(|(_, fault)| Misbehaving::start_with_lists(*fault)).collect();
        let lines =
            format!("timeouts = {{ connect = \"1s\", response = \"{time}\", idle = \"{time}\", list = \"1s\" }}");
        // One thread, because an allocator keeps its first segments for each.
        let setup = Setup::default().gateway("threads = 1");
        let setup = FAULTS
            .iter()
            .zip(&servers)
            .fold(setup, |setup, ((name, _), server)| setup.server(name, server.address, &lines));
        Self { gateway: setup.start(), servers }
    }

    fn server(&self, name: &str) -> &Misbehaving {
        let index = FAULTS.iter().position(|(known, _)| *known == name).unwrap();
        &self.servers[index]
    }

    fn call(&self, server: &str) -> (Request, Response) {
        let request = Request::call(&format!("{server}__x"));
        let response =
            raw::exchange(self.gateway.address, &request).unwrap_or_else(|error| panic!("{server}: {error}"));
        (request, response)
    }
}

static SHARED: Mutex<Weak<Faulty>> = Mutex::new(Weak::new());

fn faulty() -> Arc<Faulty> {
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let faulty = Arc::new(Faulty::start("1s"));
        *shared = Arc::downgrade(&faulty);
        faulty
    })
}

/// The documented answer: status, id, a code of the gateway's own, the server's name and nothing of where it is.
fn check_answer(
    request: &Request,
    response: &Response,
    status: u16,
    server: &str,
    address: &str,
) -> Result<(), String> {
    refusal::check_own(response, status, request.id().as_ref())?;
    let message = response.message();
    let port = address.rsplit(':').next().unwrap();
    if !message.contains(server) || message.contains("127.0.0.1") || message.contains(port) {
        return Err(format!("the message names the server wrongly: {message}"));
    }
    Ok(())
}

#[test]
fn a_server_that_gives_no_answer_is_502_or_504_by_its_name() {
    let faulty = faulty();
    let expected = [
        ("refuses", 502),
        ("resets", 502),
        ("resets-later", 502),
        ("closes", 502),
        ("garbage", 502),
        ("huge-head", 502),
        ("silent", 504),
    ];
    support::each(expected, |(server, status)| {
        let start = Instant::now();
        let address = faulty.server(server).address.to_string();
        let (request, response) = faulty.call(server);
        check_answer(&request, &response, *status, server, &address)?;
        let request = Request::call(&format!("{server}__x"));
        let response =
            h2c::exchange(faulty.gateway.address, &Sending::plain(&request)).map_err(|error| error.to_string())?;
        check_answer(&request, &response, *status, server, &address)?;
        if start.elapsed() < SOON { Ok(()) } else { Err(format!("after {:?}", start.elapsed())) }
    });
}

#[test]
fn a_large_body_for_a_server_that_is_not_there_is_502_too() {
    let faulty = faulty();
    support::each(["refuses", "resets", "resets-later", "closes", "garbage"], |server| {
        let request = Request::sized(&format!("{server}__x"), 300_000);
        let response = raw::exchange(faulty.gateway.address, &request).map_err(|error| error.to_string())?;
        // What the client said is lost with its id, which may come late.
        refusal::check_own(&response, 502, None)
    });
}

#[test]
fn a_call_is_never_sent_twice() {
    let faulty = Faulty::start("1s");
    for server in ["resets", "resets-later", "closes", "silent", "garbage", "huge-head"] {
        faulty.call(server);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(faulty.server(server).calls(), 1, "{server} was asked again");
    }
}

#[test]
fn an_answer_that_breaks_off_never_looks_complete() {
    let faulty = faulty();
    support::each(["silent-in-body", "closes-in-body", "closes-in-chunks"], |server| {
        let request = Request::call(&format!("{server}__x"));
        let start = Instant::now();
        let mut client = Client::connect(faulty.gateway.address);
        client.send_request(&request);
        match client.read() {
            Ok(response) if response.status == 200 && response.is_complete => return Err(response.brief()),
            // Nothing had been passed on yet.
            Ok(response) if response.status != 200 => {
                refusal::check_any(&response, response.status, request.id().as_ref())?;
            }
            _ => {}
        }
        let is_over_http2 = h2c::exchange(faulty.gateway.address, &Sending::plain(&request));
        if is_over_http2.is_ok_and(|response| response.status == 200 && response.is_complete) {
            return Err("complete over HTTP/2".into());
        }
        if start.elapsed() < 2 * SOON { Ok(()) } else { Err(format!("after {:?}", start.elapsed())) }
    });
}

#[test]
fn an_answer_before_the_body_was_read_reaches_the_client_or_is_502() {
    let faulty = faulty();
    for request in [
        Request::call("early__x"),
        Request::sized("early__x", 300_000),
        Request::sized("early__x", 4_000_000),
        Request::sized("early__x", 4_000_000).chunked(60_000),
    ] {
        let start = Instant::now();
        let response = raw::exchange(faulty.gateway.address, &request).expect("an answer");
        match response.status {
            200 => assert!(response.is_complete && response.body == ANSWER.as_bytes(), "{}", response.brief()),
            status => refusal::check_own(&response, 502, None).unwrap_or_else(|why| panic!("{status}: {why}")),
        }
        assert!(start.elapsed() < SOON, "after {:?}", start.elapsed());
    }
}

#[test]
fn interim_responses_are_not_answers() {
    let faulty = faulty();
    for _ in 0..2 {
        let (_, response) = faulty.call("interim");
        assert_eq!((response.status, response.body.as_slice()), (200, ANSWER.as_bytes()));
    }
}

#[test]
fn what_a_server_says_too_much_is_nobodys_answer() {
    let faulty = faulty();
    for _ in 0..5 {
        let (_, response) = faulty.call("too-much");
        if response.status == 200 {
            assert_eq!(String::from_utf8_lossy(&response.body), ANSWER);
        } else {
            refusal::check_own(&response, 502, None).unwrap();
        }
    }
}

#[test]
fn one_servers_faults_are_not_anothers() {
    let faulty = faulty();
    std::thread::scope(|scope| {
        for server in ["silent", "silent-in-body", "refuses", "huge-head"] {
            let faulty = &faulty;
            scope.spawn(move || {
                let mut client = Client::connect(faulty.gateway.address);
                // Whatever it says: another test looks at it.
                drop(client.exchange(&Request::call(&format!("{server}__x"))));
            });
        }
        let start = Instant::now();
        let (_, response) = faulty.call("interim");
        assert_eq!(response.status, 200);
        assert!(start.elapsed() < Duration::from_millis(700), "it waited for the others: {:?}", start.elapsed());
    });
    assert_eq!(faulty.gateway.admin_status("/readyz"), Some(200), "servers do not make the gateway unready");
}

/// Every fault once, all at the same time, over both versions of HTTP, and some clients that leave.
fn round(faulty: &Faulty) {
    let address = faulty.gateway.address;
    std::thread::scope(|scope| {
        for (server, _) in FAULTS {
            scope.spawn(move || {
                let small = Request::call(&format!("{server}__x"));
                let large = Request::sized(&format!("{server}__x"), 200_000);
                // The answers are looked at elsewhere; here it counts what is left behind.
                drop(raw::exchange(address, &small));
                drop(raw::exchange(address, &large));
                drop(h2c::exchange(address, &Sending::plain(&small)));
                let mut leaving = Client::connect(address);
                leaving.send(&large.bytes(address)[..100_000]);
                leaving.reset();
            });
        }
    });
}

/// Whether the process has no more open than before: nothing but the connections that its pool may keep, at most one
/// for each of the servers that answer properly.
fn comes_back(faulty: &Faulty, descriptors: usize) -> bool {
    let kept = 4;
    support::eventually(SOON, || faulty.gateway.descriptors() <= descriptors + kept)
}

#[test]
fn after_all_faults_nothing_is_left_behind() {
    const ROUNDS: usize = 12;
    // What a leak of one read buffer (64 KiB) for each of a round's exchanges would cost is 40 MiB; what an allocator
    // does not give back after its first rounds is far less.
    const MEMORY: usize = 12 * 1024 * 1024;
    let faulty = Faulty::start("200ms");
    let idle = faulty.gateway.descriptors();
    for _ in 0..4 {
        round(&faulty);
    }
    assert!(comes_back(&faulty, idle), "{} descriptors, idle it had {idle}", faulty.gateway.descriptors());
    let resident = faulty.gateway.resident();
    for _ in 0..ROUNDS {
        round(&faulty);
    }
    assert!(comes_back(&faulty, idle), "{} descriptors, idle it had {idle}", faulty.gateway.descriptors());
    let open = || faulty.servers.iter().map(Misbehaving::open).sum::<usize>();
    assert!(support::eventually(SOON, || open() <= FAULTS.len()), "{} upstream connections stay", open());
    let grown = faulty.gateway.resident().saturating_sub(resident);
    assert!(grown < MEMORY, "{grown} bytes more than before, in {ROUNDS} rounds");
}
