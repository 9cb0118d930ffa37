use http::Request;

use super::*;

fn policy() -> Policy {
    Policy {
        max_body_bytes: 100,
        max_head_bytes: 1000,
        loopback_listeners: vec!["127.0.0.1:8080".parse().unwrap()],
        allowed_origins: vec!["https://app.example".into()],
        allowed_hosts: vec!["mcp.internal".into()],
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        bearer: None,
    }
}

fn head(pairs: &[(&str, &str)]) -> Parts {
    let mut request = Request::post("/mcp");
    for (name, value) in pairs {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

#[test]
fn framing_that_two_parsers_could_read_differently() {
    let lawful: [&[(&str, &str)]; 4] = [
        &[("host", "a")],
        &[("host", "a"), ("content-length", "12")],
        &[("host", "a"), ("transfer-encoding", "Chunked")],
        &[("host", "a"), ("connection", "keep-alive, x-mcp-name")],
    ];
    for pairs in lawful {
        assert_eq!(check_framing(&head(pairs)), Ok(()), "{pairs:?}");
    }
    let unlawful: [&[(&str, &str)]; 8] = [
        &[],
        &[("host", "a"), ("host", "a")],
        &[("host", "a"), ("content-length", "1"), ("content-length", "1")],
        &[("host", "a"), ("content-length", "1, 1")],
        &[("host", "a"), ("content-length", "+1")],
        &[("host", "a"), ("transfer-encoding", "gzip, chunked")],
        &[("host", "a"), ("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")],
        &[("host", "a"), ("transfer-encoding", "chunked"), ("content-length", "1")],
    ];
    for pairs in unlawful {
        assert!(matches!(check_framing(&head(pairs)), Err(Refusal::Framing(_))), "{pairs:?}");
    }
    for named in ["close,Mcp-Name", "MCP-Protocol-Version", "keep-alive, Content-Type"] {
        assert_eq!(check_framing(&head(&[("host", "a"), ("connection", named)])), Err(Refusal::Connection), "{named}");
    }
}

#[test]
fn media_types() {
    let json = ("content-type", "application/json; charset=UTF-8");
    let check = |pairs: &[(&str, &str)]| policy().check_request(&head(pairs));
    for accept in ["*/*", "text/event-stream", "text/html, application/json;q=0.1", "application/*"] {
        assert_eq!(check(&[json, ("accept", accept)]), Ok(()), "{accept}");
    }
    assert_eq!(check(&[json]), Ok(()));
    for accept in ["text/html", "application/json;q=0", ""] {
        assert_eq!(check(&[json, ("accept", accept)]), Err(Refusal::Accept), "{accept}");
    }
    for kind in ["text/plain", "application/json; charset=latin1", "application/jsonx", ""] {
        assert_eq!(check(&[("content-type", kind)]), Err(Refusal::ContentType), "{kind}");
    }
    assert_eq!(check(&[]), Err(Refusal::ContentType));
    assert_eq!(check(&[json, ("content-encoding", "identity")]), Ok(()));
    assert_eq!(check(&[json, ("content-encoding", "gzip")]), Err(Refusal::ContentEncoding));
}

#[test]
fn sizes() {
    let json = ("content-type", "application/json");
    let check = |name, value: &str| policy().check_request(&head(&[json, (name, value)]));
    assert_eq!(check("content-length", "100"), Ok(()));
    assert_eq!(check("content-length", "101"), Err(Refusal::BodyTooLarge { limit: 100 }));
    assert_eq!(check("x", &"a".repeat(1000)), Err(Refusal::HeadTooLarge { limit: 1000 }));
}

#[test]
fn origins_and_hosts() {
    let caller =
        |pairs: &[(&str, &str)], loopback| policy().check_caller(&head(pairs), loopback).map(|cors| cors.is_some());
    assert_eq!(caller(&[("host", "public.example")], false), Ok(false));
    assert_eq!(caller(&[("host", "x"), ("origin", "https://app.example")], false), Ok(true));
    assert_eq!(caller(&[("host", "x"), ("origin", "http://localhost:3000")], false), Err(Refusal::Origin));
    assert_eq!(caller(&[("host", "x"), ("origin", "null")], false), Err(Refusal::Origin));
    for host in ["localhost:8080", "127.0.0.1", "[::1]:8080", "mcp.internal"] {
        assert_eq!(caller(&[("host", host), ("origin", "http://[::1]:1")], true), Ok(true), "{host}");
    }
    for origin in [
        "http://localhost:1@evil.example",
        "http://localhost:evil",
        "http://localhost.evil.example",
        "http://evil.example",
        "file://localhost",
    ] {
        assert_eq!(caller(&[("host", "localhost"), ("origin", origin)], true), Err(Refusal::Origin), "{origin}");
    }
    for host in ["evil.example", "localhost:evil"] {
        assert_eq!(caller(&[("host", host)], true), Err(Refusal::Host), "{host}");
    }
}

#[test]
fn a_loopback_listener_is_known_by_its_address() {
    let at = |text: &str| policy().is_loopback(Some(text.parse().unwrap()));
    assert!(at("127.0.0.1:8080"));
    assert!(!at("127.0.0.1:9999"));
    assert!(!at("10.0.0.1:8080"));
    assert!(!policy().is_loopback(None));
}

#[test]
fn a_preflight_allows_what_was_asked_for_if_it_is_a_name() {
    let asked = head(&[("access-control-request-headers", "mcp-param-region, bad name,x-y")]);
    let allowed = Cors::allowed_headers(&asked.headers);
    assert!(allowed.ends_with("Mcp-Name, mcp-param-region, x-y"), "{allowed}");
}
