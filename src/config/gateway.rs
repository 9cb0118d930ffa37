//! `[gateway]` and `[admin]`.

use super::complaint::Told;
use super::reading::Reading;
use super::secrets;
use super::settings::{Admin, ClientTimeouts, Gateway, ProtectedResource};
use super::texts;
use super::tree::Table;

pub(super) fn gateway(table: &Table, reading: &mut Reading<'_>) -> Result<Gateway, Told> {
    let listen = reading.some_texts(table, "listen", texts::socket);
    let path = mount(table, reading);
    let max_name_length = reading.integer(table, "max_name_length");
    let list_page_size = reading.integer(table, "list_page_size");
    let max_body_bytes = reading.integer(table, "max_body_bytes");
    let max_head_bytes = reading.integer(table, "max_head_bytes");
    let allowed_origins = reading.texts(table, "allowed_origins", texts::origin);
    let allowed_hosts = reading.texts(table, "allowed_hosts", texts::host);
    let trusted_proxies = reading.texts(table, "trusted_proxies", texts::network);
    let bearer = table.entry("bearer_file").map(|_| {
        let (path, span) = reading.text(table, "bearer_file")?;
        secrets::bearer_file(path, span, reading)
    });
    let unauthenticated = unauthenticated(table, reading);
    let max_connections = reading.integer(table, "max_connections");
    let max_in_flight = reading.integer(table, "max_in_flight");
    let max_buffered_bytes = reading.integer(table, "max_buffered_bytes");
    let timeouts = timeouts(table, reading);
    let shutdown_grace = reading.duration(table, "shutdown_grace");
    let threads = reading.integer(table, "threads");
    let protected_resource = table.entry("protected_resource").map(|_| protected_resource(table, reading));
    Ok(Gateway {
        listen: listen?,
        path: path?,
        max_body_bytes: max_body_bytes?,
        max_name_length: max_name_length?,
        list_page_size: list_page_size?,
        max_head_bytes: max_head_bytes?,
        allowed_origins: allowed_origins?,
        allowed_hosts: allowed_hosts?,
        trusted_proxies: trusted_proxies?,
        bearer: bearer.transpose()?,
        unauthenticated: unauthenticated?,
        max_connections: max_connections?,
        max_in_flight: max_in_flight?,
        max_buffered_bytes: max_buffered_bytes?,
        timeouts: timeouts?,
        shutdown_grace: shutdown_grace?,
        threads: threads?,
        protected_resource: protected_resource.transpose()?,
    })
}

pub(super) fn admin(table: &Table, reading: &mut Reading<'_>) -> Result<Admin, Told> {
    let (text, span) = reading.text(table, "listen")?;
    let listen = texts::socket(text).map_err(|fault| reading.findings.add_fault(span, fault))?;
    Ok(Admin { listen })
}

fn mount(table: &Table, reading: &mut Reading<'_>) -> Result<String, Told> {
    let (text, span) = reading.text(table, "path")?;
    texts::mount(text).map_err(|fault| reading.findings.add_fault(span, fault))
}

/// Both at once would leave open which of the two is meant.
fn unauthenticated(table: &Table, reading: &mut Reading<'_>) -> Result<bool, Told> {
    let unauthenticated = reading.boolean(table, "unauthenticated")?;
    let (Some(entry), true, Some(_)) = (table.entry("unauthenticated"), unauthenticated, table.entry("bearer_file"))
    else {
        return Ok(unauthenticated);
    };
    let message = "`unauthenticated = true` contradicts `bearer_file`";
    Err(reading.findings.add(entry.name_span, message, "remove the one that is not meant"))
}

fn timeouts(table: &Table, reading: &mut Reading<'_>) -> Result<ClientTimeouts, Told> {
    let table = reading.table(table, "timeouts")?;
    let head = reading.duration(table, "head");
    let body = reading.duration(table, "body");
    let keepalive = reading.duration(table, "keepalive");
    let write = reading.duration(table, "write");
    Ok(ClientTimeouts { head: head?, body: body?, keepalive: keepalive?, write: write? })
}

fn protected_resource(table: &Table, reading: &mut Reading<'_>) -> Result<ProtectedResource, Told> {
    let table = reading.table(table, "protected_resource")?;
    let resource = reading
        .text(table, "resource")
        .and_then(|(text, span)| texts::url(text).map_err(|fault| reading.findings.add_fault(span, fault)));
    let authorization_servers = reading.some_texts(table, "authorization_servers", texts::url);
    let scopes_supported = reading.texts(table, "scopes_supported", texts::scope);
    Ok(ProtectedResource {
        resource: resource?,
        authorization_servers: authorization_servers?,
        scopes_supported: scopes_supported?,
    })
}
