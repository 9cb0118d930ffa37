//! What a request must be like before its body is looked at: method, path, media types, origin, and the first words of
//! older clients.

// Helpers of tests fail loudly, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::{Arc, Mutex, Weak};

use serde_json::{Value, json};
use support::h2c::{self, Sending};
use support::raw::{self, Client};
use support::refusal;
use support::request::{Request, VERSION, meta};
use support::world::World;

static WORLD: Mutex<Weak<World>> = Mutex::new(Weak::new());

const LINES: &str = r#"
allowed_origins = ["https://app.example"]
allowed_hosts = ["gateway.example"]
"#;

fn world() -> Arc<World> {
    World::shared(&WORLD, LINES)
}

#[test]
fn only_post_is_taken() {
    let world = world();
    for method in ["GET", "DELETE", "PUT", "PATCH", "TRACE", "post", "PROPFIND"] {
        let request = Request::call("beta__echo").by(method);
        let response = world.assert_refused(&request, 405, method);
        assert!(response.header("allow").is_some_and(|allow| allow.contains("POST")), "{method}");
    }
    let without_body = Request::call("beta__echo").by("GET").with_body("").with("Accept", "text/event-stream");
    assert!(world.assert_refused(&without_body, 405, "GET without a body").header("allow").is_some());
}

fn preflight(origin: &str) -> Request {
    Request::post("").by("OPTIONS").with("Origin", origin).with("Access-Control-Request-Method", "POST").with(
        "Access-Control-Request-Headers",
        "content-type,mcp-protocol-version,mcp-method,mcp-name,mcp-param-region,x-mine",
    )
}

#[test]
fn a_preflight_of_an_allowed_origin_is_answered() {
    let world = world();
    for origin in ["https://app.example", "http://localhost:3000", "http://127.0.0.1:6274", "http://[::1]:80"] {
        let request = preflight(origin);
        let response = raw::exchange(world.address(), &request).unwrap();
        assert!(matches!(response.status, 200 | 204), "{origin}: {}", response.brief());
        assert_eq!(response.header("access-control-allow-origin").as_deref(), Some(origin));
        assert!(response.header("access-control-allow-methods").unwrap().contains("POST"));
        let allowed = response.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
        for header in ["content-type", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-region", "x-mine"] {
            assert!(allowed.split(',').any(|name| name.trim() == header), "{origin}: {header} not in {allowed}");
        }
        world.assert_unseen(&request);
    }
}

#[test]
fn a_preflight_of_a_foreign_origin_allows_nothing() {
    let world = world();
    for origin in [
        "https://evil.example",
        "null",
        "https://app.example.evil.example",
        "http://localhost.evil.example",
        "http://app.example",
    ] {
        let request = preflight(origin);
        let response = raw::exchange(world.address(), &request).unwrap();
        assert!(response.header("access-control-allow-origin").is_none(), "{origin}: {}", response.brief());
        world.assert_unseen(&request);
    }
}

#[test]
fn origins_are_checked() {
    let world = world();
    for origin in [
        "https://evil.example",
        "null",
        "",
        "https://app.example:444",
        "http://127.0.0.1.evil.example",
        "http://localhost@evil.example",
    ] {
        let request = Request::call("beta__echo").with("Origin", origin);
        let response = world.assert_refused(&request, 403, origin);
        assert!(response.header("access-control-allow-origin").is_none());
    }
    for origin in ["https://app.example", "http://localhost:5173"] {
        let response = world.assert_passes(&Request::call("beta__echo").with("Origin", origin), origin);
        assert_eq!(response.header("access-control-allow-origin").as_deref(), Some(origin));
    }
    let two = Request::call("beta__echo").with("Origin", "https://app.example").with("Origin", "https://evil.example");
    world.assert_refused(&two, 403, "two origins");
}

#[test]
fn on_loopback_the_host_is_checked_too() {
    let world = world();
    let port = world.address().port();
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
    ] {
        world.assert_refused(&Request::call("beta__echo").with("Host", &host), 403, &host);
    }
    for host in
        [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}"), "gateway.example".into()]
    {
        world.assert_passes(&Request::call("beta__echo").with("Host", &host), &host);
    }
    let absolute = Request::call("beta__echo").to("http://evil.example/mcp");
    let response = raw::exchange(world.address(), &absolute).unwrap();
    assert!((400..500).contains(&response.status), "an absolute target: {}", response.brief());
    world.assert_unseen(&absolute);
    let over_http2 = Request::call("beta__echo").with("Host", "evil.example");
    let response = h2c::exchange(world.address(), &Sending::plain(&over_http2)).unwrap();
    world.check_refused(&over_http2, &response, 403).expect("an :authority");
}

#[test]
fn paths_are_known() {
    let world = world();
    for path in
        ["/", "/mcpx", "/mcp/gamma", "/mcp/alpha/x", "/MCP", "/mcp//alpha", "/mcp/../mcp", "/mcp;x", "/mcp/alpha%2f"]
    {
        world.assert_refused(&Request::call("beta__echo").to(path), 404, path);
    }
    world.assert_passes(&Request::call("beta__echo").to("/mcp/"), "a slash at the end");
}

#[test]
fn media_types_are_checked() {
    let world = world();
    for kind in
        ["text/plain", "application/jsonx", "", "application/json-seq", "multipart/form-data; a=application/json"]
    {
        world.assert_refused(&Request::call("beta__echo").replacing("Content-Type", kind), 415, kind);
    }
    world.assert_refused(&Request::call("beta__echo").without("Content-Type"), 415, "no Content-Type");
    for coding in ["gzip", "br", "identity, gzip"] {
        world.assert_refused(&Request::call("beta__echo").with("Content-Encoding", coding), 415, coding);
    }
    for kind in ["application/json; charset=utf-8", "Application/JSON", "application/json;charset=\"UTF-8\""] {
        world.assert_passes(&Request::call("beta__echo").replacing("Content-Type", kind), kind);
    }
    world.assert_passes(&Request::call("beta__echo").with("Content-Encoding", "identity"), "identity");
}

#[test]
fn an_accept_that_excludes_both_answers_is_refused() {
    let world = world();
    for accept in
        ["text/html", "image/*, text/html;q=0.9", "application/json;q=0, text/event-stream;q=0", "application/xml"]
    {
        world.assert_refused(&Request::call("beta__echo").replacing("Accept", accept), 406, accept);
    }
    for accept in [
        "*/*",
        "application/*",
        "text/html, */*;q=0.1",
        "application/json",
        "TEXT/Event-Stream",
        "application/json;q=0.5",
    ] {
        world.assert_passes(&Request::call("beta__echo").replacing("Accept", accept), accept);
    }
    let two = Request::call("beta__echo").replacing("Accept", "text/html").with("Accept", "application/json");
    world.assert_passes(&two, "two Accept headers");
}

#[test]
fn an_older_clients_first_word_is_answered_with_the_versions() {
    let world = world();
    let body = json!({ "jsonrpc": "2.0", "id": "first", "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "old", "version": "1" } } });
    let bare = Request::post(body.to_string())
        .with("Content-Type", "application/json")
        .with("Accept", "application/json, text/event-stream");
    for (what, request) in
        [("without headers", bare.clone()), ("with its version", bare.with("MCP-Protocol-Version", "2025-06-18"))]
    {
        let response = raw::exchange(world.address(), &request).unwrap();
        refusal::check(&response, 400, |code| code == -32022, Some(&"first".into())).unwrap();
        let data = response.json().unwrap()["error"]["data"].clone();
        assert_eq!((&data["supported"], &data["requested"]), (&json!([VERSION]), &json!("2025-06-18")), "{what}");
        assert!(response.message().contains(VERSION), "no hint: {}", response.brief());
        world.assert_unseen(&request);
    }
}

#[test]
fn a_cancellation_is_taken_and_goes_nowhere() {
    let world = world();
    let body =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1, "_meta": meta() } });
    let with_version = Request::post(body.to_string())
        .with("Content-Type", "application/json")
        .with("Accept", "application/json, text/event-stream")
        .with("MCP-Protocol-Version", VERSION);
    let with_method = with_version.clone().with("Mcp-Method", "notifications/cancelled");
    let bare = with_version.clone().without("MCP-Protocol-Version");
    support::each(
        [("with its version", with_version), ("with its method", with_method), ("bare", bare)],
        |(_, request)| {
            let mut client = Client::connect(world.address());
            let response = client.exchange(request).map_err(|error| error.to_string())?;
            world.assert_unseen(request);
            if (response.status, response.body.len()) != (202, 0) {
                return Err(response.brief());
            }
            let next = client.exchange(&Request::call("beta__echo")).map_err(|error| format!("the next: {error}"))?;
            if next.status == 200 { Ok(()) } else { Err(format!("the next: {}", next.brief())) }
        },
    );
}

#[test]
fn other_notifications_and_calls_without_an_id_are_refused() {
    let world = world();
    for method in ["notifications/initialized", "notifications/roots/list_changed", "notifications/progress"] {
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": { "_meta": meta() } }).to_string();
        let request = Request::call("beta__echo").without("Mcp-Name").without("Mcp-Method").with_body(body);
        world.assert_refused(&request, 400, method);
        world.assert_refused(&request.with("Mcp-Method", method), 400, method);
    }
    let mut body: Value = serde_json::from_slice(&Request::call("beta__echo").body).unwrap();
    body.as_object_mut().unwrap().remove("id");
    let response = world.assert_refused(&Request::call("beta__echo").with_body(body.to_string()), 400, "no id");
    assert_eq!(response.code(), Some(-32600));
}

#[test]
fn batches_are_refused() {
    let world = world();
    let one = String::from_utf8(Request::call("beta__echo").body).unwrap();
    for body in [format!("[{one}]"), format!("[{one},{one}]"), "[]".into()] {
        let response = world.assert_refused(&Request::call("beta__echo").with_body(body), 400, "a batch");
        assert!(matches!(response.code(), Some(-32600 | -32700)));
    }
}

/// Whatever is wrong, the answer says whose it is: over both versions of HTTP, with numbers and strings.
#[test]
fn every_refusal_says_the_requests_id() {
    let world = world();
    let call = Request::call("beta__echo");
    let wrong = [
        (call.clone().to("/none"), 404),
        (call.clone().by("PUT"), 405),
        (call.clone().replacing("Accept", "text/html"), 406),
        (call.clone().replacing("Content-Type", "text/plain"), 415),
        (call.clone().with("Origin", "https://evil.example"), 403),
        (call.clone().without("Mcp-Method"), 400),
        (call.clone().without("MCP-Protocol-Version"), 400),
        (call.clone().replacing("MCP-Protocol-Version", "1"), 400),
        (call.clone().replacing("Mcp-Name", "alpha__get_weather"), 400),
        (Request::call("gamma__x"), 200),
        (call.clone().with("Mcp-Name", "beta__echo"), 400),
    ];
    for (request, status) in wrong {
        for id in [json!(0), json!("a\"\\\u{e9}\u{1f30d}"), json!(9_007_199_254_740_993_u64), json!(-1)] {
            let mut body: Value = serde_json::from_slice(&request.body).unwrap();
            body["id"] = id;
            let request = request.clone().with_body(body.to_string());
            world.assert_refused(&request, status, "HTTP/1.1");
            world.assert_refused(&request.clone().chunked(33), status, "in chunks");
            let response = h2c::exchange(world.address(), &Sending::plain(&request)).unwrap();
            world.check_refused(&request, &response, status).expect("HTTP/2");
        }
    }
}
