use std::process::Output;

use serde_json::Value;

use super::commands::sql_call;
use super::*;

/// Runs a command as a person would: pasted into a shell.
async fn paste(command: String) -> (Value, String) {
    let run = move || std::process::Command::new("sh").args(["-c", &command]).output();
    let Output { status, stdout, stderr } = tokio::task::spawn_blocking(run).await.unwrap().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let stdout = String::from_utf8(stdout).unwrap();
    let (body, status) = stdout.trim_end().rsplit_once("\nHTTP status ").unwrap();
    (serde_json::from_str(body).unwrap(), status.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_region_answers_for_itself() {
    let servers = Servers::start().await.unwrap();
    for (running, region, customer) in [(&servers.us, "us-west1", "Ada"), (&servers.eu, "eu-west1", "Emmy")] {
        let (answer, status) = paste(sql_call(&running.url(), "execute_sql", region, region)).await;
        let result = &answer["result"];
        assert_eq!((status.as_str(), &answer["id"], &result["isError"]), ("200", &1.into(), &false.into()), "{answer}");
        assert_eq!(result["structuredContent"]["region"], region);
        assert_eq!(result["structuredContent"]["rows"][0][0], customer);
    }
    let (answer, status) = paste(sql_call(&servers.us.url(), "execute_sql", "eu-west1", "eu-west1")).await;
    assert_eq!((status.as_str(), &answer["result"]["isError"]), ("200", &true.into()), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_lies_is_refused_by_the_server_too() {
    let servers = Servers::start().await.unwrap();
    let (answer, status) = paste(sql_call(&servers.us.url(), "execute_sql", "us-west1", "eu-west1")).await;
    assert_eq!((status.as_str(), &answer["error"]["code"]), ("400", &(-32020).into()), "{answer}");
}

#[test]
fn the_commands_are_for_the_gateway() {
    let found = commands("http://127.0.0.1:8080/mcp");
    for command in &found {
        assert!(command.curl.contains("' http://127.0.0.1:8080/mcp \\\n"), "{}", command.curl);
        assert!(command.curl.contains("Mcp-Name: sql__execute_sql'"), "{}", command.curl);
        assert!(command.curl.contains(r#""name": "sql__execute_sql","#), "{}", command.curl);
    }
    let lies = |command: &Command| {
        command.curl.contains("Mcp-Param-Region: us-west1'") && command.curl.contains(r#""region": "eu-west1""#)
    };
    assert_eq!(found.each_ref().map(lies), [false, false, true]);
}

#[tokio::test]
async fn a_server_ends_when_it_is_dropped() {
    let servers = Servers::start().await.unwrap();
    let addr = servers.weather.addr;
    assert!(addr.ip().is_loopback() && tokio::net::TcpStream::connect(addr).await.is_ok());
    drop(servers);
    for _ in 0..100 {
        if tokio::net::TcpStream::connect(addr).await.is_err() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{addr} still accepts");
}

#[tokio::test]
async fn the_configuration_names_every_server() {
    let servers = Servers::start().await.unwrap();
    let text = servers.config("127.0.0.1:8080".parse().unwrap(), "127.0.0.1:9090".parse().unwrap());
    let config: toml::Table = text.parse().unwrap();
    let routes = config["servers"]["sql"]["routes"].as_array().unwrap();
    assert_eq!(config["gateway"]["listen"][0].as_str(), Some("127.0.0.1:8080"));
    assert_eq!(config["admin"]["listen"].as_str(), Some("127.0.0.1:9090"));
    assert_eq!(config["servers"]["weather"]["endpoints"][0].as_str(), Some(servers.weather.url().as_str()));
    for (route, pattern, running) in [(&routes[0], "us-*", &servers.us), (&routes[1], "eu-*", &servers.eu)] {
        assert_eq!(route["when"]["Region"][0].as_str(), Some(pattern));
        assert_eq!(route["endpoints"][0].as_str(), Some(running.url().as_str()));
    }
    assert_eq!(routes.iter().filter(|route| route.get("lists").is_some()).count(), 1);
}

/// Sends a request as any HTTP client could; the `result`.
async fn post(running: &Running, method: &str, name: &str, params: Value) -> Value {
    let Value::Object(mut params) = params else { panic!("params are an object") };
    let about = serde_json::json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params.insert("_meta".into(), about);
    let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let command = format!(
        r"curl -sS -w '\nHTTP status %{{http_code}}\n' {} -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
        -H 'Mcp-Method: {method}' -H 'Mcp-Name: {name}' -d '{body}'",
        running.url()
    );
    let (answer, status) = paste(command).await;
    assert_eq!(status, "200", "{answer}");
    answer["result"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_weather_server_has_a_tool_a_resource_and_a_prompt() {
    let weather = Servers::start().await.unwrap().weather;
    let call = |city| serde_json::json!({"name": "get_weather", "arguments": {"city": city}});
    let known = post(&weather, "tools/call", "get_weather", call("lisbon")).await;
    assert_eq!(known["structuredContent"]["city"], "Lisbon", "{known}");
    let unknown = post(&weather, "tools/call", "get_weather", call("Atlantis")).await;
    assert_eq!(unknown["isError"], true, "{unknown}");
    let uri = serde_json::json!({"uri": "weather://cities"});
    let read = post(&weather, "resources/read", "weather://cities", uri).await;
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("Tokyo"), "{read}");
    let prompt = serde_json::json!({"name": "what_to_wear", "arguments": {"city": "Oslo"}});
    let prompt = post(&weather, "prompts/get", "what_to_wear", prompt).await;
    assert!(prompt["messages"][0]["content"]["text"].as_str().unwrap().contains("Oslo"), "{prompt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_server_declares_lawful_rules_and_may_be_kept_by_anyone() {
    use crate::protocol::tool::{ParamKind, Rule, tool_rules};
    let us = Servers::start().await.unwrap().us;
    let listed = post(&us, "tools/list", "", serde_json::json!({})).await;
    assert_eq!((listed["cacheScope"].as_str(), listed["ttlMs"].as_u64()), (Some("public"), Some(60_000)));
    let tools = listed["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "execute_sql").unwrap();
    let rule = |header: &str, path: &str, kind| Rule { header: header.into(), path: vec![path.into()], kind };
    let expected = [rule("Limit", "limit", ParamKind::Integer), rule("Region", "region", ParamKind::String)];
    assert_eq!(tool_rules(tool).unwrap().rules, expected);
}
