//! Three commands to paste: what a gateway before the example servers does, seen from a terminal.

/// Something to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub title: &'static str,
    /// Complete, for a POSIX shell; needs nothing but curl.
    pub curl: String,
}

/// A call, the same call to the other region, and one whose header lies, to the MCP endpoint `gateway_url`.
pub fn commands(gateway_url: &str) -> [Command; 3] {
    let call = |header, body| sql_call(gateway_url, "sql__execute_sql", header, body);
    [
        Command { title: "a call: the header says us-west1, and us-west1 answers", curl: call("us-west1", "us-west1") },
        Command { title: "the same call to the other region: eu-west1 answers", curl: call("eu-west1", "eu-west1") },
        Command {
            title: "a header that lies: routed by it, the call would reach the wrong region; it is refused",
            curl: call("us-west1", "eu-west1"),
        },
    ]
}

/// A `tools/call` of the database server; `header` is what `Mcp-Param-Region` says, `body` what the argument says.
pub(super) fn sql_call(url: &str, tool: &str, header: &str, body: &str) -> String {
    format!(
        r#"curl -sS -w '\nHTTP status %{{http_code}}\n' {url} \
  -H 'Content-Type: application/json' \
  -H 'Accept: application/json, text/event-stream' \
  -H 'MCP-Protocol-Version: 2026-07-28' \
  -H 'Mcp-Method: tools/call' \
  -H 'Mcp-Name: {tool}' \
  -H 'Mcp-Param-Region: {header}' \
  -d '{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{
        "name": "{tool}",
        "arguments": {{"region": "{body}", "query": "SELECT customer, item, amount, currency FROM orders"}},
        "_meta": {{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                  "io.modelcontextprotocol/clientInfo": {{"name": "curl", "version": "1"}},
                  "io.modelcontextprotocol/clientCapabilities": {{}}}}}}}}'"#
    )
}
