//! Where the rules for a tool's parameters come from, and what happens without them.

// Helpers of tests fail loudly, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::Duration;

use serde_json::json;
use support::gateway::{Gateway, Setup};
use support::misbehaving::{ANSWER, Fault, Misbehaving};
use support::raw;
use support::recorder::Recorder;
use support::refusal;
use support::request::Request;

/// A call with its region in the header and in the body.
fn regional(name: &str, header: &str, body: &str) -> Request {
    let arguments = json!({ "arguments": { "region": body } });
    Request::of("tools/call", Some(name), arguments).with("Mcp-Param-Region", header)
}

fn ask(gateway: &Gateway, request: &Request) -> raw::Response {
    raw::exchange(gateway.address, request).expect("an answer")
}

#[test]
fn declared_parameters_stand_beside_the_tools_own_rules() {
    let alpha = Recorder::start("alpha");
    let gateway = Setup::default().server("alpha", alpha.address, "params = { Place = \"region\" }").start();
    let declared = |region: &str| {
        regional("alpha__get_weather", "unused", region).without("Mcp-Param-Region").with("Mcp-Param-Place", "us")
    };
    assert_eq!(ask(&gateway, &declared("us")).status, 200);
    let own = regional("alpha__execute_sql", "us", "us").with("Mcp-Param-Place", "us");
    assert_eq!(ask(&gateway, &own).status, 200);
    let lies = [
        declared("eu"),
        declared("us").without("Mcp-Param-Place"),
        regional("alpha__execute_sql", "eu", "us").with("Mcp-Param-Place", "us"),
        regional("alpha__execute_sql", "us", "us").with("Mcp-Param-Place", "eu"),
    ];
    support::each(lies, |lie| {
        refusal::check(&ask(&gateway, lie), 400, |code| code == -32020, lie.id().as_ref())?;
        if alpha.seen(&lie.token()).is_empty() { Ok(()) } else { Err("the server saw it".into()) }
    });
}

#[test]
fn declared_parameters_hold_where_no_list_can_be_had() {
    let server = Misbehaving::start(Fault::InterimFirst);
    let gateway = Setup::default().server("alpha", server.address, "params = { Region = \"region\" }").start();
    assert_eq!(ask(&gateway, &regional("alpha__x", "us", "us")).status, 200);
    let lie = regional("alpha__x", "us", "eu");
    refusal::check(&ask(&gateway, &lie), 400, |code| code == -32020, lie.id().as_ref()).unwrap();
    assert_eq!(server.calls(), 1);
}

#[test]
fn without_rules_a_call_goes_on_where_no_route_hangs_on_them() {
    // It answers calls but no list.
    let server = Misbehaving::start(Fault::InterimFirst);
    let gateway = Setup::default().server("alpha", server.address, "").start();
    let response = ask(&gateway, &regional("alpha__x", "us", "us"));
    assert_eq!((response.status, response.body.as_slice()), (200, ANSWER.as_bytes()));
    let (_, metrics) = gateway.admin_get("/metrics").unwrap();
    let counted =
        metrics.lines().any(|line| line.contains("unproven") && !line.starts_with('#') && line.ends_with(" 1"));
    assert!(counted, "not counted as unproven:\n{metrics}");
}

#[test]
fn without_rules_a_call_is_503_where_a_route_hangs_on_them() {
    for fault in [Fault::InterimFirst, Fault::Refuses, Fault::SilentBeforeHead] {
        let (server, region) = (Misbehaving::start(fault), Recorder::start("us"));
        let lines = format!(
            "timeouts = {{ list = \"500ms\" }}\n[[servers.sql.routes]]\nname = \"us\"\nwhen = {{ Region = [\"us-*\"] }}\n\
             endpoints = [\"http://{}/mcp\"]",
            region.address
        );
        let gateway = Setup::default().server("sql", server.address, &lines).start();
        let with_header = regional("sql__x", "us-1", "us-1");
        for request in [with_header.clone(), with_header.without("Mcp-Param-Region")] {
            let response = ask(&gateway, &request);
            refusal::check_own(&response, 503, request.id().as_ref()).unwrap_or_else(|why| panic!("{fault:?}: {why}"));
            assert!(response.header("retry-after").is_some());
            assert!(response.message().contains("sql") && !response.message().contains("127.0.0.1"));
        }
        assert!(region.log().is_empty());
    }
}

#[test]
fn a_route_hangs_on_declared_parameters_alone() {
    let (alpha, us) = (Recorder::start("alpha"), Recorder::start("us"));
    let lines = format!(
        "[[servers.alpha.routes]]\nname = \"us\"\nwhen = {{ Region = [\"us-*\"] }}\nendpoints = [\"http://{}/mcp\"]",
        us.address
    );
    let gateway = Setup::default().server("alpha", alpha.address, &lines).start();
    let routed = regional("alpha__execute_sql", "us-west1", "us-west1");
    assert_eq!(ask(&gateway, &routed).status, 200);
    assert_eq!(us.seen(&routed.token()).len(), 1, "not routed");
    let other = regional("alpha__execute_sql", "eu-1", "eu-1");
    assert_eq!(ask(&gateway, &other).status, 200);
    assert_eq!(alpha.seen(&other.token()).len(), 1, "not to the default pool");
    let lie = regional("alpha__execute_sql", "us-west1", "eu-1");
    refusal::check(&ask(&gateway, &lie), 400, |code| code == -32020, lie.id().as_ref()).unwrap();
    // This tool does not declare the header that a route names.
    let undeclared = regional("alpha__get_weather", "us-west1", "us-west1");
    refusal::check(&ask(&gateway, &undeclared), 400, |code| code == -32020, undeclared.id().as_ref()).unwrap();
    for request in [&lie, &undeclared] {
        assert!(us.seen(&request.token()).is_empty() && alpha.seen(&request.token()).is_empty());
    }
}

#[test]
fn a_list_that_never_ends_is_given_up() {
    let server = Misbehaving::start(Fault::SilentInBody);
    let lines = "timeouts = { list = \"300ms\", response = \"300ms\", idle = \"300ms\" }";
    let gateway = Setup::default().server("alpha", server.address, lines).start();
    let start = std::time::Instant::now();
    // The call itself then meets the same server; what counts is that it does not wait for ever.
    drop(raw::exchange(gateway.address, &Request::call("alpha__x")));
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}
