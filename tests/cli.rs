//! The commands, as a person at a terminal meets them: what they print where, and their exit status.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use support::recorder::Recorder;

fn signpost(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-signpost"));
    command.args(arguments).env_remove("MCP_SIGNPOST_CONFIG").current_dir(env!("CARGO_MANIFEST_DIR"));
    command.output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn with_config(text: &str, run: impl FnOnce(&str)) {
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("signpost.toml");
    std::fs::write(&file, text).unwrap();
    run(file.to_str().unwrap());
}

#[test]
fn every_example_configuration_holds() {
    let examples = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("config")).unwrap();
    let examples: Vec<_> = examples.map(|entry| entry.unwrap().path()).collect();
    assert!(examples.len() >= 3, "{examples:?}");
    for example in examples {
        let output = signpost(&["check", "--config", example.to_str().unwrap()]);
        assert!(output.status.success(), "{}: {}", example.display(), err(&output));
    }
}

#[test]
fn check_says_every_problem_with_its_place_and_ends_with_2() {
    with_config("[gateway]\nlissten = []\n[servers.a]\nendpoints = [\"ftp://x\"]\n", |file| {
        for command in ["check", "serve"] {
            let output = signpost(&[command, "--config", file]);
            assert_eq!(output.status.code(), Some(2), "{command}");
            let said = err(&output);
            for part in [":2:1", "lissten", "`listen`", ":4:14", "ftp://x"] {
                assert!(said.contains(part), "{command} does not say {part}:\n{said}");
            }
            assert_eq!(out(&output), "");
        }
    });
}

#[test]
fn check_dump_reads_back_and_masks_secrets() {
    with_config(
        "[servers.a]\nendpoints = [\"http://127.0.0.1:1/mcp\"]\nheaders = { X-Api-Key = \"s3cret\" }\n",
        |file| {
            let output = signpost(&["check", "--config", file, "--dump"]);
            assert!(output.status.success(), "{}", err(&output));
            assert!(out(&output).contains("[servers.a]") && !out(&output).contains("s3cret"), "{}", out(&output));
        },
    );
}

#[test]
fn what_cannot_be_read_or_understood_ends_with_2() {
    for arguments in [&["check", "--config", "/nonexistent"][..], &["serve", "--nonsense"], &["nonsense"], &[]] {
        let output = signpost(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!err(&output).is_empty() && out(&output).is_empty(), "{arguments:?}");
    }
    assert!(signpost(&["--version"]).status.success());
    assert!(out(&signpost(&["route", "--help"])).contains("Example:"));
}

#[test]
fn route_says_where_and_why() {
    let example = "config/regions.toml";
    let route = |arguments: &[&str]| {
        let output = signpost(&[&["route", "--config", example], arguments].concat());
        assert!(output.status.success(), "{}", err(&output));
        out(&output)
    };
    let eu = route(&["--name", "sql__execute_sql", "--param", "Region=eu-west1"]);
    assert!(eu.contains("https://eu.sql.example/mcp") && eu.contains("us"), "{eu}");
    let json: Value =
        serde_json::from_str(&route(&["--name", "sql__x", "--param", "Region=us-west1", "--json"])).unwrap();
    assert_eq!(json["pool"]["route"], "us");
    assert_eq!(json["endpoints"].as_array().unwrap().len(), 2);
    assert!(route(&["--name", "nobody__x"]).contains("prefix"), "an unknown prefix is explained");
    let output = signpost(&["route", "--config", example, "--name", "x", "--param", "Region"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn tools_prints_the_merged_view_and_what_is_missing() {
    let alpha = Recorder::start("alpha");
    let text = format!(
        "[servers.alpha]\nendpoints = [\"http://{}/mcp\"]\n[servers.gone]\nendpoints = [\"http://127.0.0.1:9/mcp\"]\n",
        alpha.address
    );
    with_config(&text, |file| {
        let output = signpost(&["tools", "--config", file, "--json"]);
        let view: Value = serde_json::from_str(&out(&output)).unwrap();
        let tools = view["tools"].as_array().unwrap();
        let sql = tools.iter().find(|tool| tool["name"] == "alpha__execute_sql").unwrap();
        assert!(sql["params"].as_array().unwrap().contains(&"Region".into()), "{sql}");
        let why = "127.0.0.1:9: 127.0.0.1:9 refused the connection";
        assert_eq!(view["unavailable"], serde_json::json!([{ "server": "gone", "why": why }]));
        assert_eq!(output.status.code(), Some(1), "a view that lacks a server is no success");
        let words = out(&signpost(&["tools", "--config", file]));
        assert!(words.contains("alpha__execute_sql  (alpha)") && words.contains("unavailable: gone"), "{words}");
    });
}

#[test]
fn schema_is_a_json_schema() {
    let schema: Value = serde_json::from_str(&out(&signpost(&["schema"]))).unwrap();
    assert!(schema["$schema"].is_string() && schema["properties"]["servers"].is_object());
}

const VARIABLES: [&str; 4] =
    ["MCP_SIGNPOST_CONFIG", "MCP_SIGNPOST_LOG", "MCP_SIGNPOST_LOG_STYLE", "MCP_SIGNPOST_LOG_FORMAT"];

fn with_variable(arguments: &[&str], name: &str, value: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-signpost"));
    command.args(arguments).env_remove("MCP_SIGNPOST_CONFIG").env(name, value).output().unwrap()
}

#[test]
fn a_variable_that_is_empty_counts_as_not_set() {
    for name in VARIABLES {
        let output = with_variable(&["check", "--config", "config/regions.toml"], name, "");
        assert!(output.status.success(), "{name}: {}", err(&output));
    }
    let output = with_variable(&["check"], "MCP_SIGNPOST_CONFIG", "");
    assert!(err(&output).contains("no configuration found"), "{}", err(&output));
}

#[test]
fn a_variable_that_is_not_understood_is_named_by_every_command() {
    for (name, value) in [
        ("MCP_SIGNPOST_LOG", "verbose"),
        ("MCP_SIGNPOST_LOG", "trce"),
        ("MCP_SIGNPOST_LOG", "5"),
        ("MCP_SIGNPOST_LOG_STYLE", "sometimes"),
        ("MCP_SIGNPOST_LOG_FORMAT", "xml"),
    ] {
        for command in ["check", "serve", "route", "tools"] {
            let output = with_variable(&[command, "--config", "config/regions.toml"], name, value);
            assert_eq!(output.status.code(), Some(2), "{name}={value} {command}");
            let said = err(&output);
            assert!(said.contains(&format!("{name} is '{value}'; write ")) && out(&output).is_empty(), "{said}");
        }
    }
    let output = with_variable(&["check"], "MCP_SIGNPOST_CONFIG", "/nonexistent.toml");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("/nonexistent.toml (named by MCP_SIGNPOST_CONFIG)"), "{}", err(&output));
}

#[test]
fn a_level_shows_the_gateways_own_messages_and_not_its_libraries() {
    let alpha = Recorder::start("alpha");
    let config = format!("[servers.alpha]\nendpoints = [\"http://{}/mcp\"]\n", alpha.address);
    with_config(&config, |file| {
        let output = with_variable(&["tools", "--config", file], "MCP_SIGNPOST_LOG", "trace");
        assert!(output.status.success(), "{}", err(&output));
        for library in ["pingora", "tokio", "rustls", "hyper", "mio"] {
            assert!(!err(&output).to_lowercase().contains(library), "{}", err(&output));
        }
    });
}
