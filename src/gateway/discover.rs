//! `server/discover` at the merged endpoint, where no server speaks for all: what the gateway says of itself.

use serde_json::json;

use super::snapshot::Snapshot;
use crate::protocol::{VERSIONS, meta};

/// The result, ready to be sent ("server/discover"; the capabilities are those that can be reached by a prefixed name).
pub fn result(snapshot: &Snapshot) -> String {
    let servers: Vec<&str> = snapshot.servers.iter().map(|server| server.name.as_str()).collect();
    let instructions = format!(
        "This gateway stands before the servers {}. Each is listed at its own endpoint, this path followed by /<server>; \
         here its tools and prompts are called by <prefix>__<name>.",
        servers.join(", ")
    );
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
