//! A real `rmcp` client calls a real `rmcp` server through the gateway: by prefix, at the server's own endpoint, and at a
//! gateway that passes names unchanged.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "support/rmcp_peer.rs"]
mod rmcp_peer;
mod support;

use rmcp_peer::{Answers, Client, Server};
use support::gateway::{Gateway, Setup};

fn gateway_before(server: &Server, lines: &str) -> Gateway {
    let address = server.url().trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap();
    Setup::default().server("rust", address, lines).start()
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_at_the_servers_own_endpoint() {
    for answers in [Answers::Sse, Answers::Json] {
        let server = Server::start(answers).await;
        let gateway = gateway_before(&server, "");
        Client::connect(&format!("http://{}/mcp/rust", gateway.address), "").await.do_everything().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_with_names_unchanged() {
    let server = Server::start(Answers::Sse).await;
    let gateway = gateway_before(&server, "prefix = \"\"");
    Client::connect(&format!("http://{}/mcp", gateway.address), "").await.do_everything().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_by_prefix_and_the_server_sees_its_own_names() {
    let server = Server::start(Answers::Sse).await;
    let gateway = gateway_before(&server, "");
    let client = Client::connect(&format!("http://{}/mcp", gateway.address), "rust__").await;
    client.lists().await;
    server.take_received();
    let arguments = serde_json::json!({ "region": "us-west1", "limit": 42 });
    assert_eq!(client.call("lookup", arguments).await.unwrap(), "us-west1/42");
    let received = server.take_received();
    let call = received.iter().find(|received| received.body["method"] == "tools/call").unwrap();
    assert_eq!(call.headers["mcp-name"], "lookup");
    assert_eq!(call.headers["mcp-param-region"], "us-west1");
    assert_eq!(call.body["params"]["name"], "lookup");
    client.hears_of_progress().await;
    client.goes_two_rounds().await;
    client.reads().await;
    client.prompts().await;
}
