//! The tests' own tools, tested against each other without a gateway.

// Helpers of tests fail loudly, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::Duration;

use support::braces::Braces;
use support::h2c::Sending;
use support::misbehaving::{ANSWER, Fault, Misbehaving};
use support::raw::{self, Client};
use support::recorder::Recorder;
use support::request::Request;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_value_is_whole_at_its_last_brace_and_not_before() {
    for (text, whole_at) in [
        (r#"{"a":{"b":"}}"}}"#, Some(16)),
        (r#"{"a":"\"}"} x"#, Some(11)),
        ("/* */{}", Some(7)),
        ("[{}]{}", Some(4)),
        (r#"{"a":[1,2}"#, None),
        (r#""{}""#, Some(3)),
        (r#"{"a":1"#, None),
    ] {
        let mut braces = Braces::default();
        let found = text.bytes().position(|byte| braces.feed(&[byte])).map(|index| index + 1);
        assert_eq!(found, whole_at, "{text}");
    }
}

#[test]
fn the_recorder_sees_a_request_whole_before_its_body_ends() {
    let recorder = Recorder::start("alpha");
    let request = Request::call("get_weather").chunked(7);
    let bytes = request.bytes(recorder.address);
    let mut client = Client::connect(recorder.address);
    let before_the_brace = bytes.len() - b"}\r\n0\r\n\r\n".len();
    client.send(&bytes[..before_the_brace]);
    assert!(!recorder.wait(&request.token(), SECOND / 5, |seen| seen.whole));
    client.send(&bytes[before_the_brace..=before_the_brace]);
    assert!(recorder.wait(&request.token(), SECOND, |seen| seen.whole && !seen.ended));
    client.send(&bytes[before_the_brace + 1..]);
    let response = client.read().unwrap();
    let seen = recorder.seen(&request.token());
    assert_eq!(seen[0].answer.as_deref(), Some(response.body.as_slice()));
    assert_eq!(seen[0].body, request.body);
    assert!(seen[0].ended && seen[0].lost.is_none());
}

#[test]
fn the_recorder_notices_a_reset_and_what_is_no_http() {
    let recorder = Recorder::start("alpha");
    let request = Request::call("get_weather");
    let mut client = Client::connect(recorder.address);
    client.send(&request.head(recorder.address));
    client.reset();
    assert!(recorder.wait(&request.token(), SECOND, |seen| seen.lost.is_some() && !seen.whole));
    let twice = [Request::call("x").chunked(9).bytes(recorder.address), b"0\r\n\r\n".to_vec()].concat();
    Client::connect(recorder.address).send(&twice);
    assert!(support::eventually(SECOND, || !recorder.faults().is_empty()));
}

#[test]
fn a_held_request_is_answered_when_released_or_lost_when_left() {
    let recorder = Recorder::start("beta");
    let [held, left] = [Request::call("echo").with("X-Do", "hold"), Request::call("echo").with("X-Do", "trickle")];
    let mut client = Client::connect(recorder.address);
    client.send_request(&held);
    let mut leaving = Client::connect(recorder.address);
    leaving.send_request(&left);
    leaving.read_head().unwrap();
    leaving.reset();
    assert!(recorder.wait(&left.token(), SECOND, |seen| seen.lost.is_some()));
    recorder.release(&held.token());
    assert_eq!(client.read().unwrap().status, 200);
    assert!(recorder.wait_until_over(&held.token(), SECOND));
}

#[test]
fn lists_come_in_pages_from_one_server_and_as_events_from_the_other() {
    let list = |server: &str, cursor: serde_json::Value| {
        let recorder = Recorder::start(server);
        let request = Request::of("tools/list", None, serde_json::json!({ "cursor": cursor }));
        let response = raw::exchange(recorder.address, &request).unwrap();
        (response.header("content-type").unwrap(), String::from_utf8(response.body).unwrap())
    };
    let (kind, first) = list("alpha", serde_json::Value::Null);
    assert!(kind == "application/json" && first.contains("execute_sql") && first.contains("nextCursor"));
    let (_, second) = list("alpha", "second page".into());
    assert!(second.contains("caf\u{e9} lookup") && !second.contains("nextCursor"));
    let (kind, events) = list("beta", serde_json::Value::Null);
    assert!(kind == "text/event-stream" && events.contains("echo"));
}

#[test]
fn misbehaving_servers_misbehave() {
    let ask = |fault| {
        let server = Misbehaving::start(fault);
        let answer = Client::try_connect(server.address).and_then(|mut client| client.exchange(&Request::call("x")));
        answer.map(|response| (response.is_complete, response.body))
    };
    for fault in
        [Fault::Refuses, Fault::ResetsAtOnce, Fault::ResetsAfterRequest, Fault::ClosesAfterRequest, Fault::Garbage]
    {
        assert!(ask(fault).is_err(), "{fault:?}");
    }
    for fault in [Fault::ClosesInBody, Fault::ClosesInChunks] {
        assert!(!ask(fault).unwrap().0, "{fault:?}");
    }
    for fault in [Fault::HugeHead, Fault::AnswersEarly, Fault::InterimFirst, Fault::SaysTooMuch] {
        assert_eq!(ask(fault).unwrap(), (true, ANSWER.into()), "{fault:?}");
    }
}

#[test]
fn what_http2_cannot_say_is_known() {
    let call = Request::call("x");
    assert!(Sending::plain(&call).is_expressible());
    for request in [call.clone().with("Connection", "close"), call.with("Mcp-Param-X", " a")] {
        assert!(!Sending::plain(&request).is_expressible());
    }
}
