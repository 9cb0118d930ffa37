//! Every wire case through real sockets: as HTTP/1.1, as HTTP/2, and with its body split in two.

// Helpers of tests fail loudly, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::Duration;

use support::case::{self, Case};
use support::h2c::{self, Sending};
use support::inbox::find;
use support::raw::{Client, Response};
use support::request::Request;
use support::world::World;

const SHARED: &str = "agreement.jsonl";
const OWN: &str = "more.jsonl";
/// Long enough that the gateway reads the first part alone.
const PAUSE: Duration = Duration::from_millis(4);

/// Cases that HTTP/2 cannot say: `Connection`, and white space around a value.
const ONLY_HTTP1: [(&str, &[&str]); 2] = [
    (SHARED, &["header-ows", "connection-nominates-version"]),
    (
        OWN,
        &[
            "header-ows-tabs",
            "connection-nominates-name",
            "connection-nominates-param",
            "connection-nominates-many",
            "param-padded-lie",
        ],
    ),
];

fn cases(file: &str) -> Vec<Case> {
    case::load(&case::file(file))
}

/// Runs every case, and fails with all that went wrong.
fn run(file: &str, send: impl Fn(&World, &Request) -> Vec<Result<Response, String>>) {
    let world = World::start("");
    let (mut wrong, mut refused) = (Vec::new(), Vec::new());
    for case in cases(file) {
        let request = case.fresh();
        for (variant, response) in send(&world, &request).into_iter().enumerate() {
            // Each variant was sent with a token of its own.
            let request = tokened(&request, variant);
            let judged = response.and_then(|response| case.judge(&world, &request, &response));
            if judged.is_ok() && !case.verdict.starts_with("forward") {
                refused.push((case.name.clone(), request));
            }
            if let Err(why) = judged {
                wrong.push(format!("{} ({}, variant {variant}): {why}", case.name, case.verdict));
            }
        }
    }
    // Nothing that was refused reached a server later.
    for (name, request) in &refused {
        wrong.extend(world.assert_never_whole(request).err().map(|why| format!("{name}, looked at again: {why}")));
    }
    wrong.extend(world.alpha.faults().into_iter().chain(world.beta.faults()));
    assert!(wrong.is_empty(), "{} went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn tokened(request: &Request, variant: usize) -> Request {
    let token = format!("{}-{variant}", request.token());
    request.clone().replacing(support::request::TOKEN, &token)
}

fn http1(world: &World, request: &Request) -> Vec<Result<Response, String>> {
    let request = tokened(request, 0);
    vec![support::raw::exchange(world.address(), &request).map_err(|error| format!("no answer: {error}"))]
}

fn http2(world: &World, request: &Request) -> Vec<Result<Response, String>> {
    let request = tokened(request, 0);
    let sending = Sending::plain(&request);
    if !sending.is_expressible() {
        return vec![];
    }
    vec![h2c::exchange(world.address(), &sending).map_err(|error| format!("no answer: {error}"))]
}

/// Where a body is cut in two: after its first byte, in the prefix of its name, before its last brace, in between.
fn cuts(body: &[u8]) -> Vec<usize> {
    let last = body.iter().rposition(|byte| *byte == b'}').unwrap_or(body.len() / 2);
    let name = find(body, b"__").unwrap_or(body.len() / 3);
    let mut cuts = vec![1, name, body.len() / 2, last, last + 1];
    cuts.retain(|cut| (1..body.len()).contains(cut));
    cuts.dedup();
    cuts
}

fn split_http1(world: &World, request: &Request) -> Vec<Result<Response, String>> {
    let send = |(variant, cut): (usize, usize)| {
        let request = tokened(request, variant);
        let head = request.head(world.address());
        let body = request.framed_body();
        let cut = cut.min(body.len());
        let mut client = Client::try_connect(world.address()).map_err(|error| error.to_string())?;
        client.send(&head);
        client.send_pieces(&[&body[..cut], &body[cut..]], PAUSE);
        client.read().map_err(|error| format!("no answer: {error}"))
    };
    cuts(&request.body).into_iter().enumerate().map(send).collect()
}

fn split_http2(world: &World, request: &Request) -> Vec<Result<Response, String>> {
    let send = |(variant, cut): (usize, usize)| {
        let request = tokened(request, variant);
        let (first, second) = request.body.split_at(cut);
        let sending = Sending::in_pieces(&request, vec![first, second], PAUSE).undeclared();
        h2c::exchange(world.address(), &sending).map_err(|error| format!("no answer: {error}"))
    };
    if !Sending::plain(request).is_expressible() {
        return vec![];
    }
    cuts(&request.body).into_iter().enumerate().map(send).collect()
}

#[test]
fn the_copy_of_the_shared_cases_is_the_shared_file() {
    if let Some(shared) = case::shared_file(SHARED) {
        assert!(shared == case::file(SHARED), "tests/cases/{SHARED} is not the shared file; copy it again");
    }
    assert!(cases(SHARED).len() >= 91 && cases(OWN).len() >= 40);
}

#[test]
fn every_case_has_a_name_of_its_own_and_what_http2_cannot_say_is_known() {
    for (file, expected) in ONLY_HTTP1 {
        let cases = cases(file);
        let mut names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), cases.len());
        let unsaid = cases.iter().filter(|case| !Sending::plain(&case.request).is_expressible());
        assert_eq!(unsaid.map(|case| case.name.as_str()).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn shared_cases_over_http1() {
    run(SHARED, http1);
}

#[test]
fn shared_cases_over_http2() {
    run(SHARED, http2);
}

#[test]
fn shared_cases_split_over_http1() {
    run(SHARED, split_http1);
}

#[test]
fn shared_cases_split_over_http2() {
    run(SHARED, split_http2);
}

#[test]
fn own_cases_over_http1() {
    run(OWN, http1);
}

#[test]
fn own_cases_over_http2() {
    run(OWN, http2);
}

#[test]
fn own_cases_split_over_http1() {
    run(OWN, split_http1);
}

#[test]
fn own_cases_split_over_http2() {
    run(OWN, split_http2);
}
