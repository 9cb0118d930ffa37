//! `server/discover` at the merged endpoint, where no server speaks for all: what the gateway says of itself.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;

use super::server::Server;
use super::snapshot::Snapshot;
use crate::protocol::{VERSIONS, meta};

/// The result, ready to be sent ("server/discover"; the capabilities are those that can be reached by a prefixed name).
pub fn result(snapshot: &Snapshot) -> String {
    let name = |server: &Arc<Server>| server.name.clone();
    let all: Vec<String> = snapshot.servers.iter().map(name).collect();
    let alone: Vec<String> = snapshot.servers.iter().filter(|server| server.is_exposed).map(name).collect();
    let mut instructions = format!("This gateway stands before the servers {}.", all.join(", "));
    if !alone.is_empty() {
        let _ = write!(
            instructions,
            " Each of {} is also served alone, at this path followed by its name.",
            alone.join(", ")
        );
    }
    json!({
        "resultType": "complete",
        "supportedVersions": VERSIONS,
        "capabilities": { "tools": {}, "prompts": {}, "resources": {} },
        "instructions": instructions,
        "ttlMs": 0,
        "cacheScope": "public",
        "_meta": { meta::SERVER_INFO: { "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") } },
    })
    .to_string()
}
