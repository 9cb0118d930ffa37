//! Why a server cannot be reached: what the operator is told, and what the client is not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output};

use serde_json::{Value, json};
use support::encrypting::Authority;
use support::gateway::Setup;
use support::misbehaving::{Fault, Misbehaving};
use support::raw;
use support::refusal;
use support::request::Request;
use support::scripted::{Asked, Reply, Scripted, tools};
use support::swallowing::Swallowing;

fn answer(asked: &Asked) -> Reply {
    match asked.method.as_str() {
        "tools/list" => tools(&["a"], 60_000, "public"),
        _ => Reply::result(&json!({ "resultType": "complete", "content": [] })),
    }
}

/// What an operator should learn of each of these endpoints: a label and words.
struct Case {
    url: String,
    label: &'static str,
    words: String,
}

fn cases(ours: &Authority, other: &Authority, plain: &Scripted, dead: &Misbehaving, full: &Swallowing) -> Vec<Case> {
    let case = |url: String, label, words: &str| Case { url, label, words: words.to_owned() };
    let port = |address: SocketAddr| address.port();
    vec![
        case(format!("http://{}/mcp", dead.address), "refused", "refused the connection"),
        case(format!("http://{}/mcp", full.address), "timed_out", "no connection within 500ms"),
        case("http://no-such-host.invalid/mcp".into(), "name", "the name no-such-host.invalid was not found"),
        case(
            format!("https://localhost:{}/mcp", port(other.encrypt("localhost", plain.address))),
            "tls",
            "its certificate was issued by CN=Somebody Else, which is not trusted here",
        ),
        case(
            format!("https://localhost:{}/mcp", port(ours.encrypt("elsewhere.example", plain.address))),
            "tls",
            "elsewhere.example",
        ),
        case(
            format!("https://localhost:{}/mcp", port(ours.encrypt_expired("localhost", plain.address))),
            "tls",
            "its certificate expired at 2020-02-03T00:00:00Z",
        ),
        case(format!("https://localhost:{}/mcp", port(outraged())), "tls", "answers without TLS"),
        case(
            format!("https://localhost:{}/mcp", port(plain.address)),
            "tls",
            "did not finish the TLS handshake within 500ms",
        ),
    ]
}

/// An HTTP server that answers what it cannot read.
fn outraged() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
            let _ = stream.read(&mut [0; 1024]);
        }
    });
    address
}

fn signpost(command: &str, file: &std::path::Path, authority: &str) -> Output {
    let mut signpost = Command::new(env!("CARGO_BIN_EXE_mcp-signpost"));
    signpost.arg(command).arg("--config").arg(file).env("SSL_CERT_FILE", authority).output().unwrap()
}

#[test]
fn an_operator_is_told_the_cause_and_a_client_no_address() {
    let (ours, other) = (Authority::new("Ours"), Authority::new("Somebody Else"));
    let plain = Scripted::start(|_| Reply::closing());
    let (dead, full) = (Misbehaving::start(Fault::Refuses), Swallowing::start());
    let authority = ours.file();
    let authority = authority.to_str().unwrap();
    for Case { url, label, words } in cases(&ours, &other, &plain, &dead, &full) {
        let timeouts = "timeouts = { connect = \"500ms\" }";
        let tables = format!("[servers.s]\nendpoints = [\"{url}\"]\n{timeouts}\n");
        let gateway = Setup { tables, ..Setup::default() }.variable("SSL_CERT_FILE", authority).start();
        let request = Request::call("s__a");
        let response = raw::exchange(gateway.address, &request).unwrap();
        refusal::check(&response, 502, |code| code == 1001, request.id().as_ref()).unwrap();
        let list = Request::of("tools/list", None, json!({}));
        let response_to_list = raw::exchange(gateway.address, &list).unwrap();
        refusal::check(&response_to_list, 502, |code| code == 1009, list.id().as_ref()).unwrap();
        let host = url.split('/').nth(2).unwrap();
        for told in [response.message(), response_to_list.message()] {
            assert!(!told.contains("127.0.0.1") && !told.contains(host) && !told.contains("certificate"), "{told}");
        }
        let output = gateway.output();
        assert!(output.contains(&words) && output.contains(host), "{url}: {words} is missing in\n{output}");
        let (_, metrics) = gateway.admin_get("/metrics").unwrap();
        let series =
            format!("signpost_upstream_connect_failures_total{{pool=\"default\",reason=\"{label}\",server=\"s\"}} ");
        let count = metrics.lines().find_map(|line| line.strip_prefix(&series)).unwrap();
        assert_ne!(count, "0", "{url}");

        let directory = tempfile::TempDir::new().unwrap();
        let file = directory.path().join("signpost.toml");
        std::fs::write(&file, format!("[servers.s]\nendpoints = [\"{url}\"]\n{timeouts}\n")).unwrap();
        let printed = String::from_utf8(signpost("tools", &file, authority).stdout).unwrap();
        assert!(printed.contains(&words) && printed.contains(host), "{url}: {printed}");
    }
}

#[test]
fn a_wrong_path_is_told_apart() {
    let server = Scripted::start(|_| Reply { status: "404 Not Found", ..Reply::html("<h1>Not Found</h1>") });
    let gateway = Setup::default().server("s", server.address, "").start();
    raw::exchange(gateway.address, &Request::of("tools/list", None, json!({}))).unwrap();
    let words = "tools/list of server s cannot be had: the server answered with HTTP status 404; is its path right?";
    assert!(support::eventually(std::time::Duration::from_secs(1), || gateway.output().contains(words)));
}

#[test]
fn a_server_behind_an_authority_of_ones_own_is_spoken_to() {
    let ours = Authority::new("Ours");
    let server = Scripted::start(answer);
    let encrypted = ours.encrypt("localhost", server.address);
    let tables = format!("[servers.s]\nendpoints = [\"https://localhost:{}/mcp\"]\n", encrypted.port());
    let gateway = Setup { tables, ..Setup::default() }.variable("SSL_CERT_FILE", ours.file().to_str().unwrap()).start();
    for _ in 0..3 {
        let response = raw::exchange(gateway.address, &Request::call("s__a")).unwrap();
        assert_eq!(response.status, 200, "{}", response.brief());
    }
    assert_eq!(server.asked("tools/call").len(), 3);
}

#[test]
fn a_file_of_authorities_that_is_not_there_is_an_error_of_check() {
    let directory = tempfile::TempDir::new().unwrap();
    let (file, empty) = (directory.path().join("signpost.toml"), directory.path().join("empty.pem"));
    std::fs::write(&empty, "").unwrap();
    for (authority, words) in
        [("/nonexistent.pem", "cannot be read"), (empty.to_str().unwrap(), "holds no certificate")]
    {
        std::fs::write(&file, "[servers.s]\nendpoints = [\"https://localhost:1/mcp\"]\n").unwrap();
        for command in ["check", "serve", "tools"] {
            let output = signpost(command, &file, authority);
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains("SSL_CERT_FILE names ") && said.contains(words), "{command}: {said}");
            assert_ne!(output.status.code(), Some(0), "{command}");
        }
        // Where nothing encrypts it is nobody's business.
        std::fs::write(&file, "[servers.s]\nendpoints = [\"http://localhost:1/mcp\"]\n").unwrap();
        assert!(signpost("check", &file, authority).status.success());
    }
}

/// The JSON of `tools` names the server and why.
#[test]
fn tools_says_it_as_json_too() {
    let dead = Misbehaving::start(Fault::Refuses);
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("signpost.toml");
    std::fs::write(&file, format!("[servers.s]\nendpoints = [\"http://{}/mcp\"]\n", dead.address)).unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_mcp-signpost")).args(["tools", "--json", "--config"]).arg(&file).output();
    let view: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    assert_eq!(view["unavailable"][0]["server"], "s");
    assert!(view["unavailable"][0]["why"].as_str().unwrap().contains("refused the connection"), "{view}");
}
