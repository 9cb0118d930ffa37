//! What servers offer: `[cache]`, and of a server `tools`, `cache`, `uris` and what is validated.

use super::complaint::{Fault, Told};
use super::pattern::Pattern;
use super::reading::Reading;
use super::settings::{Cache, CacheScope, ServerCache, Tools, Uris, Validation};
use super::tree::{Node, Table, Value};

pub(super) fn kept(table: &Table, reading: &mut Reading<'_>) -> Result<Cache, Told> {
    let max_ttl = reading.duration(table, "max_ttl");
    let stale_if_error = reading.duration(table, "stale_if_error");
    let partial_ttl = reading.duration(table, "partial_ttl");
    let max_bytes = reading.integer(table, "max_bytes");
    Ok(Cache { max_ttl: max_ttl?, stale_if_error: stale_if_error?, partial_ttl: partial_ttl?, max_bytes: max_bytes? })
}

pub(super) fn tools(table: &Table, reading: &mut Reading<'_>) -> Result<Tools, Told> {
    let table = reading.table(table, "tools")?;
    let allow = reading.some_texts(table, "allow", pattern);
    let deny = reading.texts(table, "deny", pattern);
    Ok(Tools { allow: allow?, deny: deny? })
}

pub(super) fn cache(table: &Table, reading: &mut Reading<'_>) -> Result<ServerCache, Told> {
    let Some(Node { value: Value::Table(assumed), .. }) = table.node("cache") else {
        let (word, _) = reading.text(table, "cache")?;
        return Ok(if word == "off" { ServerCache::Off } else { ServerCache::On });
    };
    let (word, span) = reading.text(assumed, "assume")?;
    let scope = if word == "public" { CacheScope::Public } else { CacheScope::Private };
    let ttl = reading.duration(assumed, "ttl");
    let forwards =
        matches!(table.node("authorization"), Some(Node { value: Value::Text(word), .. }) if word == "forward");
    if scope == CacheScope::Public && forwards {
        let message = "what is asked with a caller's credentials cannot be assumed to be public";
        let help = "write `assume = \"private\"`, or another `authorization` than \"forward\"";
        return Err(reading.findings.add(span, message, help));
    }
    Ok(ServerCache::Assume { scope, ttl: ttl? })
}

pub(super) fn uris(table: &Table, reading: &mut Reading<'_>) -> Result<Uris, Told> {
    match table.node("uris") {
        Some(Node { value: Value::Table(passing), .. }) => reading.some_texts(passing, "pass", pattern).map(Uris::Pass),
        _ => reading.text(table, "uris").map(|_| Uris::Rewrite),
    }
}

pub(super) fn validation(table: &Table, reading: &mut Reading<'_>) -> Result<Validation, Told> {
    let arguments = reading.boolean(table, "validate_arguments");
    let results = reading.boolean(table, "validate_results");
    let max_bytes = reading.integer(table, "validate_max_bytes");
    Ok(Validation { arguments: arguments?, results: results?, max_bytes: max_bytes? })
}

fn pattern(text: &str) -> Result<Pattern, Fault> {
    Pattern::new(text).map_err(|error| Fault::new(error.to_string(), "remove the control character"))
}
