//! The effective configuration as a file that means the same, every default written out.
//!
//! Secrets are shown by where they come from; what stands in the file itself is masked where its name says that it may
//! be one. Must never call `Secret::reveal` for anything else.

use std::fmt::{self, Display, Write};
use std::time::Duration;

use super::duration;
use super::settings::{
    AddedHeader, Authorization, Cache, CacheScope, Condition, Config, Gateway, Parameter, ProtectedResource, Route,
    Server, ServerCache, Source, Uris,
};

/// Parts of header names whose values may be secrets.
const SECRET_NAMES: [&str; 7] = ["auth", "cookie", "key", "token", "secret", "password", "credential"];

/// The configuration as TOML, secrets masked.
pub fn dump(config: &Config) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, config);
    out
}

fn write(out: &mut String, config: &Config) -> fmt::Result {
    gateway(out, &config.gateway)?;
    if let Some(admin) = &config.admin {
        writeln!(out, "\n[admin]\nlisten = {}", quoted(admin.listen))?;
    }
    cache(out, &config.cache)?;
    config.servers.iter().try_for_each(|server| self::server(out, server))
}

fn cache(out: &mut String, cache: &Cache) -> fmt::Result {
    writeln!(out, "\n[cache]")?;
    writeln!(out, "max_ttl = {}", quoted(duration::show(cache.max_ttl)))?;
    writeln!(out, "stale_if_error = {}", quoted(duration::show(cache.stale_if_error)))?;
    writeln!(out, "partial_ttl = {}", quoted(duration::show(cache.partial_ttl)))?;
    writeln!(out, "max_bytes = {}", cache.max_bytes)
}

fn gateway(out: &mut String, gateway: &Gateway) -> fmt::Result {
    writeln!(out, "[gateway]")?;
    writeln!(out, "listen = {}", list(&gateway.listen))?;
    writeln!(out, "path = {}", quoted(&gateway.path))?;
    writeln!(out, "max_name_length = {}", gateway.max_name_length)?;
    writeln!(out, "list_page_size = {}", gateway.list_page_size)?;
    writeln!(out, "max_body_bytes = {}", gateway.max_body_bytes)?;
    writeln!(out, "max_head_bytes = {}", gateway.max_head_bytes)?;
    writeln!(out, "allowed_origins = {}", list(&gateway.allowed_origins))?;
    writeln!(out, "allowed_hosts = {}", list(&gateway.allowed_hosts))?;
    writeln!(out, "trusted_proxies = {}", list(&gateway.trusted_proxies))?;
    if let Some(bearer) = &gateway.bearer {
        writeln!(out, "bearer_file = {}", quoted(bearer.path.display()))?;
    }
    writeln!(out, "unauthenticated = {}", gateway.unauthenticated)?;
    writeln!(out, "max_connections = {}", gateway.max_connections)?;
    writeln!(out, "max_in_flight = {}", gateway.max_in_flight)?;
    writeln!(out, "max_buffered_bytes = {}", gateway.max_buffered_bytes)?;
    let timeouts = &gateway.timeouts;
    let timeouts = [
        ("head", timeouts.head),
        ("body", timeouts.body),
        ("keepalive", timeouts.keepalive),
        ("write", timeouts.write),
    ];
    writeln!(out, "timeouts = {}", durations(timeouts))?;
    writeln!(out, "shutdown_grace = {}", quoted(duration::show(gateway.shutdown_grace)))?;
    writeln!(out, "threads = {}", gateway.threads)?;
    gateway.protected_resource.iter().try_for_each(|resource| protected_resource(out, resource))
}

fn protected_resource(out: &mut String, resource: &ProtectedResource) -> fmt::Result {
    let entries = [
        format!("resource = {}", quoted(&resource.resource)),
        format!("authorization_servers = {}", list(&resource.authorization_servers)),
        format!("scopes_supported = {}", list(&resource.scopes_supported)),
    ];
    writeln!(out, "protected_resource = {}", inline(entries))
}

fn server(out: &mut String, server: &Server) -> fmt::Result {
    writeln!(out, "\n[servers.{}]", server.name)?;
    writeln!(out, "prefix = {}", quoted(&server.prefix))?;
    if !server.endpoints.is_empty() {
        writeln!(out, "endpoints = {}", list(&server.endpoints))?;
    }
    writeln!(out, "authorization = {}", authorization(&server.authorization))?;
    writeln!(out, "credential_headers = {}", list(&server.credential_headers))?;
    writeln!(out, "headers = {}", inline(server.headers.iter().map(added_header)))?;
    let timeouts = &server.timeouts;
    let timeouts = [
        ("connect", timeouts.connect),
        ("response", timeouts.response),
        ("idle", timeouts.idle),
        ("list", timeouts.list),
    ];
    writeln!(out, "timeouts = {}", durations(timeouts))?;
    writeln!(out, "expose = {}", server.expose)?;
    writeln!(out, "params = {}", inline(server.params.iter().map(parameter)))?;
    writeln!(out, "rules_ttl = {}", quoted(duration::show(server.rules_ttl)))?;
    offer(out, server)?;
    server.routes.iter().try_for_each(|route| self::route(out, &server.name, route))
}

fn offer(out: &mut String, server: &Server) -> fmt::Result {
    let (allow, deny) = (list(&server.tools.allow), list(&server.tools.deny));
    writeln!(out, "tools = {{ allow = {allow}, deny = {deny} }}")?;
    writeln!(out, "cache = {}", server_cache(server.cache))?;
    writeln!(out, "required = {}", server.required)?;
    writeln!(out, "validate_arguments = {}", server.validation.arguments)?;
    writeln!(out, "validate_results = {}", server.validation.results)?;
    writeln!(out, "validate_max_bytes = {}", server.validation.max_bytes)?;
    let uris = match &server.uris {
        Uris::Rewrite => quoted("rewrite"),
        Uris::Pass(patterns) => inline([format!("pass = {}", list(patterns))]),
    };
    writeln!(out, "uris = {uris}")
}

fn server_cache(cache: ServerCache) -> String {
    match cache {
        ServerCache::On => quoted("on"),
        ServerCache::Off => quoted("off"),
        ServerCache::Assume { scope, ttl } => {
            let scope = if scope == CacheScope::Public { "public" } else { "private" };
            inline([format!("assume = {}", quoted(scope)), format!("ttl = {}", quoted(duration::show(ttl)))])
        }
    }
}

fn route(out: &mut String, server: &str, route: &Route) -> fmt::Result {
    writeln!(out, "\n[[servers.{server}.routes]]")?;
    writeln!(out, "name = {}", quoted(&route.name))?;
    writeln!(out, "when = {}", inline(route.when.iter().map(condition)))?;
    writeln!(out, "endpoints = {}", list(&route.endpoints))?;
    writeln!(out, "lists = {}", route.lists)
}

fn authorization(authorization: &Authorization) -> String {
    match authorization {
        Authorization::Strip => quoted("strip"),
        Authorization::Forward => quoted("forward"),
        Authorization::Bearer { source, .. } => match source {
            Source::Variable(name) => inline([format!("bearer_env = {}", quoted(name))]),
            Source::File(path) => inline([format!("bearer_file = {}", quoted(path.display()))]),
            Source::Written => quoted("***"),
        },
    }
}

fn added_header(header: &AddedHeader) -> String {
    let name = header.name.as_str();
    let value = match &header.source {
        Source::Variable(variable) => inline([format!("env = {}", quoted(variable))]),
        Source::Written if !SECRET_NAMES.iter().any(|part| name.contains(part)) => quoted(header.value.reveal()),
        Source::Written | Source::File(_) => quoted("***"),
    };
    format!("{} = {value}", key(name))
}

fn parameter(parameter: &Parameter) -> String {
    format!("{} = {}", key(&parameter.header), quoted(parameter.path.join(".")))
}

fn condition(condition: &Condition) -> String {
    format!("{} = {}", key(&condition.header), list(&condition.patterns))
}

fn durations(entries: [(&str, Duration); 4]) -> String {
    inline(entries.map(|(name, value)| format!("{name} = {}", quoted(duration::show(value)))))
}

fn inline(entries: impl IntoIterator<Item = String>) -> String {
    let entries: Vec<String> = entries.into_iter().collect();
    if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
}

fn list<T: Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(quoted).collect();
    format!("[{}]", items.join(", "))
}

fn quoted(text: impl Display) -> String {
    toml::Value::String(text.to_string()).to_string()
}

/// A key, in quotes unless it may stand bare.
fn key(name: &str) -> String {
    let bare = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if bare { name.to_owned() } else { quoted(name) }
}
