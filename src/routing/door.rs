//! Which servers stand behind a path, and which of them a name means.

use std::collections::HashMap;

use crate::config::{Config, Pattern, Server, Uris};

use super::routes::ServerRoutes;

/// What stands between a prefix and the server's own name.
pub const SEPARATOR: &str = "__";

/// What a server's tool or prompt is called at the merged door: the way back of [`Table::server`].
pub fn prefixed_name(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}{SEPARATOR}{name}") }
}

/// Where a request came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// All servers as one, names with prefixes.
    Merged,
    /// One server alone, names bare. Its index in the configuration.
    Server(usize),
}

/// Why a name means no server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoServer {
    #[error("the name is empty")]
    EmptyName,
    #[error("nothing follows the prefix")]
    EmptyBareName,
    #[error("the name has no prefix, and every server has one")]
    NoPrefix,
    #[error("what stands before the first `__` is no server's prefix")]
    UnknownPrefix,
    #[error("no server's prefix stands before the first `+`, nor as the host of a `ui:` URI")]
    UnknownUri,
    #[error("the method has no name by which a server could be found")]
    Nameless,
}

/// The routing of one configuration. Servers are named by their index in it.
#[derive(Debug)]
pub struct Table {
    /// The path of the merged door, without a slash at its end; empty for `/`.
    mount: String,
    /// Never the empty prefix.
    by_prefix: HashMap<String, usize>,
    unprefixed: Option<usize>,
    /// Whether there is more behind the merged door than one server without a prefix.
    merges: bool,
    /// URIs that belong to a server as they are.
    passing: Vec<(Pattern, usize)>,
    /// Only the servers that are served alone.
    exposed: HashMap<String, usize>,
    routes: Vec<ServerRoutes>,
}

impl Table {
    pub fn new(config: &Config) -> Self {
        let servers = || config.servers.iter().enumerate();
        let prefixed = servers().filter(|(_, server)| !server.prefix.is_empty());
        let exposed = servers().filter(|(_, server)| server.expose);
        Self {
            mount: config.gateway.path.trim_end_matches('/').to_owned(),
            by_prefix: prefixed.map(|(index, server)| (server.prefix.clone(), index)).collect(),
            unprefixed: servers().find(|(_, server)| server.prefix.is_empty()).map(|(index, _)| index),
            merges: config.servers.len() != 1 || config.servers.iter().any(|server| !server.prefix.is_empty()),
            passing: servers()
                .flat_map(|(index, server)| passing(server).map(move |pattern| (pattern, index)))
                .collect(),
            exposed: exposed.map(|(index, server)| (server.name.clone(), index)).collect(),
            routes: config.servers.iter().map(ServerRoutes::new).collect(),
        }
    }

    /// The door at this path (without a query), if there is one. A slash at the end changes nothing.
    pub fn door(&self, path: &str) -> Option<Door> {
        let rest = path.strip_prefix(self.mount.as_str())?;
        if rest.is_empty() {
            // With the mount `/` an empty path is no path at all.
            return (!path.is_empty()).then_some(Door::Merged);
        }
        let below = rest.strip_prefix('/')?;
        let name = below.strip_suffix('/').unwrap_or(below);
        match name {
            "" if below.is_empty() => Some(Door::Merged),
            _ => self.exposed.get(name).copied().map(Door::Server),
        }
    }

    /// The server that a name means, and the name there.
    ///
    /// At the merged door the text before the first `__` is the prefix if a server declares it; what no prefix claims
    /// belongs to the server without one. At a server's own door every name is its own.
    pub fn server<'n>(&self, door: Door, name: &'n str) -> Result<(usize, &'n str), NoServer> {
        if name.is_empty() {
            return Err(NoServer::EmptyName);
        }
        if let Door::Server(index) = door {
            return Ok((index, name));
        }
        let split = name.split_once(SEPARATOR);
        if let Some((prefix, bare)) = split
            && let Some(index) = self.by_prefix.get(prefix)
        {
            return if bare.is_empty() { Err(NoServer::EmptyBareName) } else { Ok((*index, bare)) };
        }
        match (self.unprefixed, split) {
            (Some(index), _) => Ok((index, name)),
            (None, Some(_)) => Err(NoServer::UnknownPrefix),
            (None, None) => Err(NoServer::NoPrefix),
        }
    }

    /// The parameter routes of a server; `None` if there is no such server.
    pub fn routes(&self, server: usize) -> Option<&ServerRoutes> {
        self.routes.get(server)
    }

    pub(super) fn by_prefix(&self, prefix: &str) -> Option<usize> {
        self.by_prefix.get(prefix).copied()
    }

    /// The server whose URIs pass as they are and that this one matches; the first one in the configuration.
    pub(super) fn passing(&self, uri: &str) -> Option<usize> {
        self.passing.iter().find(|(pattern, _)| pattern.matches(uri)).map(|(_, index)| *index)
    }

    pub(super) fn unprefixed(&self) -> Option<usize> {
        self.unprefixed
    }

    pub(super) fn merges(&self) -> bool {
        self.merges
    }

    pub(super) fn mount(&self) -> &str {
        if self.mount.is_empty() { "/" } else { &self.mount }
    }
}

fn passing(server: &Server) -> impl Iterator<Item = Pattern> + '_ {
    let patterns: &[Pattern] = match &server.uris {
        Uris::Pass(patterns) => patterns,
        Uris::Rewrite => &[],
    };
    patterns.iter().cloned()
}
