//! What every refusal owes its client.

use serde_json::Value;

use super::raw::Response;

/// JSON-RPC reserves these (JSON-RPC 2.0, section 5.1, and "basic/index", error codes).
const RESERVED: std::ops::RangeInclusive<i64> = -32768..=-32000;

/// Checks that this is a JSON-RPC error with the given status and code, and with the request's id.
pub fn check(response: &Response, status: u16, code: impl Fn(i64) -> bool, id: Option<&Value>) -> Result<(), String> {
    let says = |what: &str| Err(format!("{what}: {}", response.brief()));
    if response.status != status {
        return says(&format!("not status {status}"));
    }
    if !response.is_complete {
        return says("the answer breaks off");
    }
    if !response.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        return says("the answer is not declared as JSON");
    }
    let Some(body) = response.json() else { return says("no JSON") };
    if body["jsonrpc"] != "2.0" || body.get("result").is_some() || response.message().is_empty() {
        return says("no JSON-RPC error");
    }
    match response.code() {
        Some(found) if code(found) => {}
        found => return says(&format!("not the code expected, but {found:?}")),
    }
    match (body.get("id"), id) {
        (found, Some(id)) if found != Some(id) => says(&format!("not the id {id}")),
        _ => Ok(()),
    }
}

/// The same for a code of the gateway's own.
pub fn check_own(response: &Response, status: u16, id: Option<&Value>) -> Result<(), String> {
    check(response, status, |code| !RESERVED.contains(&code), id)
}

/// The same for any code at all.
pub fn check_any(response: &Response, status: u16, id: Option<&Value>) -> Result<(), String> {
    check(response, status, |_| true, id)
}
