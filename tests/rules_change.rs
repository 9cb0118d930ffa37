//! A server whose tools change while the gateway runs, and whose answers depend on who asks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use support::gateway::{Gateway, Setup};
use support::raw::{self, Response};
use support::refusal;
use support::request::Request;

/// What the server does, changed by the tests while it runs.
#[derive(Default)]
struct Behaviour {
    /// The argument that `lookup` mirrors in `Mcp-Param-Region`; none, no annotation.
    mirrored: Option<&'static str>,
    scope: &'static str,
    /// Calls are answered with -32020.
    refuses_calls: bool,
    /// The token of the only caller whose list has the annotation; others' have none.
    only_for: Option<&'static str>,
    lists: usize,
    calls: usize,
}

type Shared = Arc<Mutex<Behaviour>>;

fn answer(behaviour: &Shared, headers: &HeaderMap, request: &Value) -> (StatusCode, Json<Value>) {
    let mut behaviour = behaviour.lock().unwrap();
    let id = request["id"].clone();
    if request["method"] == "tools/list" {
        behaviour.lists += 1;
        let asks = headers.get("authorization").and_then(|value| value.to_str().ok());
        let is_shown = behaviour.only_for.is_none_or(|only| asks == Some(only));
        let mut properties = json!({ "region": { "type": "string" }, "place": { "type": "string" } });
        if let Some(mirrored) = behaviour.mirrored.filter(|_| is_shown) {
            properties[mirrored]["x-mcp-header"] = "Region".into();
        }
        let tool = json!({ "name": "lookup", "inputSchema": { "type": "object", "properties": properties } });
        let result = json!({ "tools": [tool], "resultType": "complete", "ttlMs": 0, "cacheScope": behaviour.scope });
        return (StatusCode::OK, Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })));
    }
    behaviour.calls += 1;
    if behaviour.refuses_calls {
        let error = json!({ "code": -32020, "message": "header mismatch" });
        return (StatusCode::BAD_REQUEST, Json(json!({ "jsonrpc": "2.0", "id": id, "error": error })));
    }
    (StatusCode::OK, Json(json!({ "jsonrpc": "2.0", "id": id, "result": { "resultType": "complete", "content": [] } })))
}

struct Changing {
    behaviour: Shared,
    gateway: Gateway,
    _runtime: tokio::runtime::Runtime,
}

impl Changing {
    fn start(behaviour: Behaviour, lines: &str) -> Self {
        let behaviour = Arc::new(Mutex::new(behaviour));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::clone(&behaviour);
        let route = post(move |headers: HeaderMap, Json(request): Json<Value>| {
            std::future::ready(answer(&shared, &headers, &request))
        });
        runtime.spawn(async move { axum::serve(listener, Router::new().route("/mcp", route)).await });
        let gateway = Setup::default().server("alpha", address, lines).start();
        Self { behaviour, gateway, _runtime: runtime }
    }

    fn set(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.behaviour.lock().unwrap());
    }

    fn counts(&self) -> (usize, usize) {
        let behaviour = self.behaviour.lock().unwrap();
        (behaviour.lists, behaviour.calls)
    }

    fn ask(&self, request: &Request) -> Response {
        raw::exchange(self.gateway.address, request).unwrap()
    }
}

fn call(header: Option<&str>, arguments: &Value) -> Request {
    let request = Request::of("tools/call", Some("alpha__lookup"), json!({ "arguments": arguments }));
    match header {
        Some(value) => request.with("Mcp-Param-Region", value),
        None => request,
    }
}

#[test]
fn a_mismatch_by_old_rules_is_judged_again_by_new_ones() {
    let world = Changing::start(Behaviour { mirrored: Some("region"), scope: "public", ..Behaviour::default() }, "");
    assert_eq!(world.ask(&call(Some("us"), &json!({ "region": "us" }))).status, 200);
    assert_eq!(world.counts(), (1, 1));
    // The annotation moves to another argument; a client that knows it already is not refused by our old rules.
    world.set(|behaviour| behaviour.mirrored = Some("place"));
    assert_eq!(world.ask(&call(Some("eu"), &json!({ "region": "us", "place": "eu" }))).status, 200);
    assert_eq!(world.counts(), (2, 2));
    // Now the new rules are the ones at hand: the next call asks for nothing.
    assert_eq!(world.ask(&call(Some("eu"), &json!({ "place": "eu" }))).status, 200);
    assert_eq!(world.counts(), (2, 3));
}

#[test]
fn lies_cause_no_more_than_one_list_a_second() {
    let world = Changing::start(Behaviour { mirrored: Some("region"), scope: "public", ..Behaviour::default() }, "");
    let lie = call(Some("us"), &json!({ "region": "eu" }));
    let start = std::time::Instant::now();
    for _ in 0..50 {
        refusal::check(&world.ask(&lie), 400, |code| code == -32020, lie.id().as_ref()).unwrap();
    }
    let seconds = usize::try_from(start.elapsed().as_secs()).unwrap();
    let (lists, calls) = world.counts();
    assert!(lists <= 3 + seconds && calls == 0, "{lists} lists and {calls} calls in {seconds} s");
}

#[test]
fn a_server_s_mismatch_makes_the_gateway_ask_again() {
    let world = Changing::start(Behaviour { scope: "public", refuses_calls: true, ..Behaviour::default() }, "");
    let plain = call(None, &json!({ "region": "us" }));
    for _ in 0..5 {
        assert_eq!(world.ask(&plain).status, 400);
    }
    assert!(support::eventually(Duration::from_secs(2), || world.counts().0 == 2), "{:?}", world.counts());
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(world.counts(), (2, 5), "once in five seconds");
}

#[test]
fn private_rules_speak_for_the_caller_who_may_see_them() {
    let behaviour =
        Behaviour { mirrored: Some("region"), scope: "private", only_for: Some("Bearer one"), ..Behaviour::default() };
    let world = Changing::start(behaviour, "authorization = \"forward\"");
    let of = |token: &str, header: Option<&str>| call(header, &json!({ "region": "us" })).with("Authorization", token);
    assert_eq!(world.ask(&of("Bearer one", Some("us"))).status, 200);
    assert_eq!(world.ask(&of("Bearer one", None)).status, 400);
    assert_eq!(world.ask(&of("Bearer two", None)).status, 200);
    // Not declared for this caller: nobody recognizes it, so it is forwarded.
    assert_eq!(world.ask(&of("Bearer two", Some("elsewhere"))).status, 200);
}

#[test]
fn the_gateway_s_own_token_is_asked_for_and_stays_here() {
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "let-me-in\n").unwrap();
    let world = Changing::start(Behaviour { scope: "public", ..Behaviour::default() }, "");
    let address = {
        // The same server behind a second gateway that asks for a token.
        let output = world.gateway.output();
        assert!(!output.contains("let-me-in"));
        world.gateway.address
    };
    let guarded = Setup::default()
        .gateway(&format!("bearer_file = {:?}", file.to_str().unwrap()))
        .server("alpha", address, "")
        .start();
    let ask = |token: Option<&str>| {
        let request = Request::of("tools/call", Some("alpha__alpha__lookup"), json!({ "arguments": {} }));
        let request = token.map_or(request.clone(), |token| request.with("Authorization", token));
        raw::exchange(guarded.address, &request).unwrap()
    };
    for token in [None, Some("Bearer wrong"), Some("let-me-in"), Some("Basic let-me-in")] {
        assert_eq!(ask(token).status, 401, "{token:?}");
    }
    assert_eq!(ask(Some("Bearer let-me-in")).status, 200);
    assert_eq!(ask(Some("bearer let-me-in")).status, 200);
}
