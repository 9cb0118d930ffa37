//! The tools, prompts and lists of the two servers that the wire cases speak of (`cases/README.md`).

use serde_json::{Value, json};

fn tool(name: &str, properties: &Value) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } })
}

fn execute_sql() -> Value {
    tool(
        "execute_sql",
        &json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "limit": { "type": "integer", "x-mcp-header": "Limit" },
            "dry_run": { "type": "boolean", "x-mcp-header": "Dry-Run" },
            "filter": {
                "type": "object",
                "properties": { "tenant": { "type": "string", "x-mcp-header": "Tenant" } },
            },
            "query": {},
        }),
    )
}

/// The pages of `tools/list` of a server.
pub fn pages(server: &str) -> Vec<Value> {
    let plain = |name: &str| tool(name, &json!({ "text": { "type": "string" } }));
    match server {
        "alpha" => vec![
            json!({ "tools": [execute_sql(), plain("get_weather")], "nextCursor": "second page" }),
            json!({ "tools": [plain("get_weather__"), plain("caf\u{e9} lookup")] }),
        ],
        _ => vec![json!({ "tools": [plain("get_weather"), plain("echo")] })],
    }
}

/// A page by its cursor, with what every complete list must carry.
pub fn page(server: &str, cursor: Option<&str>) -> Value {
    let mut pages = pages(server);
    let index = usize::from(cursor.is_some()).min(pages.len() - 1);
    let mut page = pages.swap_remove(index);
    page["resultType"] = "complete".into();
    page["ttlMs"] = 60_000.into();
    page["cacheScope"] = "public".into();
    page
}

/// The result of a call, told apart by its server and a serial number.
pub fn call_result(server: &str, serial: usize) -> Value {
    json!({
        "resultType": "complete",
        "content": [{ "type": "text", "text": format!("{server} answers number {serial}") }],
    })
}

/// The result of `prompts/get`.
pub fn prompt_result(server: &str, serial: usize) -> Value {
    json!({
        "resultType": "complete",
        "messages": [{ "role": "user", "content": { "type": "text", "text": format!("{server} greets {serial}") } }],
    })
}
