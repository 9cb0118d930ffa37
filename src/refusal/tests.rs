//! What must hold of every refusal.

use serde_json::{Value, json};

use super::*;
use crate::protocol::{VERSIONS, code};
use crate::scan::{ScanError, ScanErrorKind};

fn every() -> Vec<Refusal> {
    let server = || "alpha".to_owned();
    vec![
        Refusal::Method,
        Refusal::Path,
        Refusal::ContentType,
        Refusal::ContentEncoding,
        Refusal::Accept,
        Refusal::Origin,
        Refusal::Host,
        Refusal::Framing("x"),
        Refusal::Connection,
        Refusal::BodyTooLarge { limit: 1 },
        Refusal::HeadTooLarge { limit: 1 },
        Refusal::TooManyFields { limit: 1 },
        Refusal::HeadTooSlow,
        Refusal::BodyTooSlow,
        Refusal::Unauthenticated,
        Refusal::Overloaded(Exhausted::InFlight),
        Refusal::Head(HeadFault::EmptyName),
        Refusal::Body(Fault::NotARequest("x")),
        Refusal::Body(Fault::Meta("x")),
        Refusal::Version { requested: "x".into() },
        Refusal::Notification,
        Refusal::NoServer { name: "x".into() },
        Refusal::NoMethod { method: "x".into() },
        Refusal::NoRoute { params: vec!["Region".into()] },
        Refusal::Undeclared { header: "Region".into() },
        Refusal::RulesUnavailable { server: server() },
        Refusal::BadCursor,
        Refusal::NamesUnavailable { server: server() },
        Refusal::NoReference,
        Refusal::Rounds,
        Refusal::Arguments { complaint: "x".into() },
        Refusal::ListUnavailable { server: server(), why: "x".into(), is_late: true },
        Refusal::ListUnauthorized { status: 401, challenge: None },
        Refusal::ListRefused { code: -32603, message: "x".into() },
        Refusal::Unreachable { server: server() },
        Refusal::Silent { server: server() },
        Refusal::BrokeOff { server: server() },
        Refusal::Internal,
    ]
}

#[test]
fn every_refusal_has_a_lawful_code_and_words() {
    for refusal in every() {
        let answer = refusal.answer();
        let specified = (-32768..=-32000).contains(&answer.code);
        assert!(specified || answer.code > 0, "{refusal:?}");
        assert!(!answer.message.is_empty());
    }
}

#[test]
fn an_answer_is_json_rpc_with_the_id_as_it_was_written() {
    let answer = Refusal::Version { requested: "\"x".into() }.answer();
    let body: Value = serde_json::from_slice(&answer.body(Some("\"a\\u0062\""))).unwrap();
    assert_eq!(body["id"], "ab");
    assert_eq!(body["error"]["code"], code::UNSUPPORTED_VERSION);
    assert_eq!(body["error"]["data"], json!({ "supported": VERSIONS, "requested": "\"x" }));
    let without: Value = serde_json::from_slice(&answer.body(None)).unwrap();
    assert!(without.get("id").is_none());
}

#[test]
fn wrong_arguments_are_a_tools_result() {
    let answer = Refusal::Arguments { complaint: "arguments.\"x\" is missing".into() }.answer();
    let body: Value = serde_json::from_slice(&answer.body(Some("7"))).unwrap();
    assert_eq!((answer.status, &body["id"], &body["result"]["isError"]), (200, &json!(7), &json!(true)));
    assert_eq!(body["result"]["content"][0]["text"], "arguments.\"x\" is missing");
}

#[test]
fn an_answer_about_a_server_names_it_and_says_whether_the_call_may_have_run() {
    let ran = |refusal: Refusal| refusal.answer().message.contains("may have run");
    assert!(!ran(Refusal::Unreachable { server: "a".into() }));
    assert!(ran(Refusal::Silent { server: "a".into() }));
    assert!(ran(Refusal::BrokeOff { server: "a".into() }));
}

#[test]
fn what_ends_a_connection_says_so_and_a_servers_doing_is_not_the_clients() {
    let closing: Vec<_> = every().into_iter().filter(Refusal::closes).map(|refusal| refusal.reason().label()).collect();
    let expected = ["framing", "body_too_large", "head_too_large", "head_too_large", "head_too_slow", "body_too_slow"];
    assert_eq!(closing, expected);
    for refusal in every() {
        let status = refusal.answer().status;
        let is_servers = matches!(status, 502 | 504) || matches!(refusal, Refusal::ListRefused { .. });
        let is_servers = is_servers || matches!(refusal.reason(), Reason::RulesUnavailable | Reason::NamesUnavailable);
        assert_eq!(refusal.blame() == Blame::Server, is_servers, "{refusal:?}");
        assert_eq!(refusal.blame() == Blame::Client, (200..500).contains(&status) && !is_servers, "{refusal:?}");
    }
}

#[test]
fn every_reason_is_given_by_a_refusal() {
    let mut given: Vec<_> = every().iter().map(|refusal| refusal.reason().label()).collect();
    given.push(Refusal::Overloaded(Exhausted::Connections).reason().label());
    let malformed = ScanError { at: 0, kind: ScanErrorKind::TooDeep { limit: 1 } };
    given.push(Refusal::Body(Fault::Malformed(malformed)).reason().label());
    for reason in Reason::ALL {
        assert!(given.contains(&reason.label()), "{reason:?}");
    }
}
