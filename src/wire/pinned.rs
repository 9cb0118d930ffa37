//! What this room leans on in pingora, held by tests: an upgrade that changes it fails here first.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pingora::connectors::http::Connector;
use pingora::http::RequestHeader;
use pingora::protocols::http::client::HttpSession;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::dial::Dial;
use super::patience::{Patience, Sending};
use super::{Dials, Upstreams};

#[test]
fn pingora_is_one_version_exactly() {
    let manifest: toml::Table = include_str!("../../Cargo.toml").parse().unwrap();
    let dependencies = manifest["dependencies"].as_table().unwrap();
    let version = |name: &str| {
        let dependency = &dependencies[name];
        dependency.get("version").unwrap_or(dependency).as_str().unwrap().to_owned()
    };
    for name in ["pingora", "pingora-error"] {
        assert!(version(name).starts_with('='), "{name}: this room leans on what its versions do not promise");
    }
}

/// Answers every request on every connection with 200 and nothing.
async fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut bytes = [0; 1024];
                while stream.read(&mut bytes).await.is_ok_and(|count| count > 0) {
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
                }
            });
        }
    });
    port
}

async fn ask(session: &mut HttpSession) {
    let mut head = RequestHeader::build("GET", b"/", None).unwrap();
    head.insert_header("Host", "a").unwrap();
    session.write_request_header(Box::new(head)).await.unwrap();
    session.write_request_body(Bytes::new(), true).await.unwrap();
    session.finish_request_body().await.unwrap();
    session.read_response_header().await.unwrap();
    while session.read_response_body().await.unwrap().is_some() {}
}

#[tokio::test]
async fn our_connector_makes_its_connections_and_its_pool_keeps_them_with_what_they_carry() {
    let time = Duration::from_secs(5);
    let dials = Arc::new(Dials::default());
    let patience = Patience { response: time, idle: time, body: time };
    let registered = dials.register(Dial::new("127.0.0.1", server().await, None, time, patience));
    let other = dials.register(Dial::new("127.0.0.1", server().await, None, time, patience));
    let connector = Connector::new_custom(None, Upstreams::new(dials));
    let peer = registered.peer();

    let (mut session, is_reused) = connector.get_http_session(&peer).await.unwrap();
    assert!(!is_reused);
    assert!(matches!(session, HttpSession::H1(_)), "a stream from our connector gets an HTTP/1 session");
    let sending = |session: &HttpSession| session.digest().and_then(Sending::on).is_some();
    assert!(sending(&session), "the digest of a session shows what its stream carries");
    ask(&mut session).await;
    connector.release_http_session(session, &peer, peer.options.idle_timeout).await;

    let (session, is_reused) = connector.get_http_session(&other.peer()).await.unwrap();
    assert!(!is_reused, "connections are kept by the peer's group");
    drop(session);
    let (mut session, is_reused) = connector.get_http_session(&peer).await.unwrap();
    assert!(is_reused, "a kept connection is used again");
    assert!(sending(&session));
    ask(&mut session).await;
}
