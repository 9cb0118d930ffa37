//! What the program uses: the configuration, checked and typed.
//!
//! Everything here holds: whoever has a `Config` need not look again. Must never hold how the file wrote something
//! where the meaning is enough, and must never print a secret.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderName;
use ipnet::IpNet;

use super::endpoint::Endpoint;
use super::pattern::Pattern;

/// One whole configuration.
#[derive(Clone, Debug)]
pub struct Config {
    pub gateway: Gateway,
    /// `None`: no admin port.
    pub admin: Option<Admin>,
    pub cache: Cache,
    /// In the order of the file; at least one.
    pub servers: Vec<Server>,
}

/// How long servers' answers are kept, and how many.
#[derive(Clone, Debug)]
pub struct Cache {
    /// The most that a server may claim.
    pub max_ttl: Duration,
    /// How long an expired answer serves while its server fails.
    pub stale_if_error: Duration,
    /// The most that a merged answer claims that lacks a server.
    pub partial_ttl: Duration,
    pub max_bytes: u64,
}

/// Which tools of a server are shown, and may be called.
#[derive(Clone, Debug)]
pub struct Tools {
    pub allow: Vec<Pattern>,
    pub deny: Vec<Pattern>,
}

impl Tools {
    /// `name` as the server calls the tool.
    pub fn shows(&self, name: &str) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(name));
        any(&self.allow) && !any(&self.deny)
    }
}

/// To whom an answer may be given, in the operator's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheScope {
    Public,
    Private,
}

/// Whether one server's answers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerCache {
    On,
    Off,
    /// Said of answers for which the server claims no time.
    Assume {
        scope: CacheScope,
        ttl: Duration,
    },
}

/// What becomes of a server's resource URIs at the merged endpoint.
#[derive(Clone, Debug)]
pub enum Uris {
    Rewrite,
    /// They pass as they are; those that match are this server's.
    Pass(Vec<Pattern>),
}

impl Uris {
    pub fn is_rewritten(&self) -> bool {
        matches!(self, Self::Rewrite)
    }
}

/// What is checked against a tool's schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validation {
    pub arguments: bool,
    pub results: bool,
    /// Calls and results larger than this are not checked: such a call is refused.
    pub max_bytes: usize,
}

#[derive(Clone, Debug)]
pub struct Gateway {
    /// At least one; no two bind the same port of the same address.
    pub listen: Vec<SocketAddr>,
    /// Begins with `/`; without a slash at the end, except `/` itself.
    pub path: String,
    /// In characters; longer names are shortened.
    pub max_name_length: usize,
    /// Items on one page of a list; 0 is all of them.
    pub list_page_size: usize,
    pub max_body_bytes: u64,
    pub max_head_bytes: usize,
    /// Exact origins, or `*`.
    pub allowed_origins: Vec<String>,
    /// Host names in lower case and addresses (IPv6 without brackets), without ports.
    pub allowed_hosts: Vec<String>,
    pub trusted_proxies: Vec<IpNet>,
    /// What clients must send as their bearer token.
    pub bearer: Option<BearerFile>,
    pub unauthenticated: bool,
    pub max_connections: usize,
    pub max_in_flight: usize,
    pub max_buffered_bytes: u64,
    pub timeouts: ClientTimeouts,
    pub shutdown_grace: Duration,
    /// Threads that serve requests; 0 is one for each core.
    pub threads: usize,
    pub protected_resource: Option<ProtectedResource>,
}

#[derive(Clone, Debug)]
pub struct ClientTimeouts {
    pub head: Duration,
    pub body: Duration,
    pub keepalive: Duration,
    pub write: Duration,
}

/// A token that stands in a file.
#[derive(Clone, Debug)]
pub struct BearerFile {
    pub path: PathBuf,
    pub token: Secret,
}

/// The metadata of RFC 9728.
#[derive(Clone, Debug)]
pub struct ProtectedResource {
    pub resource: String,
    pub authorization_servers: Vec<String>,
    pub scopes_supported: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Admin {
    pub listen: SocketAddr,
}

#[derive(Clone, Debug)]
pub struct Server {
    /// `[a-z]([a-z0-9-]*[a-z0-9])?`, at most 32 characters, unique.
    pub name: String,
    /// As `name`, unique; or empty: names pass unchanged (one server at most).
    pub prefix: String,
    /// The default pool; empty only if there are routes.
    pub endpoints: Vec<Endpoint>,
    pub authorization: Authorization,
    pub credential_headers: Vec<HeaderName>,
    pub headers: Vec<AddedHeader>,
    pub timeouts: ServerTimeouts,
    pub expose: bool,
    pub params: Vec<Parameter>,
    pub rules_ttl: Duration,
    pub tools: Tools,
    pub cache: ServerCache,
    /// Whether a list without this server is none.
    pub required: bool,
    pub validation: Validation,
    pub uris: Uris,
    /// In order, the first match wins.
    pub routes: Vec<Route>,
}

/// What becomes of the client's `Authorization`.
#[derive(Clone, Debug)]
pub enum Authorization {
    Strip,
    Forward,
    /// Replaced by a token of the gateway's own.
    Bearer {
        source: Source,
        token: Secret,
    },
}

/// Where a secret was taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// It stands in the file itself.
    Written,
    /// The environment variable of this name.
    Variable(String),
    File(PathBuf),
}

/// A header added to each request to a server. The value is lawful in a header.
#[derive(Clone, Debug)]
pub struct AddedHeader {
    pub name: HeaderName,
    pub value: Secret,
    pub source: Source,
}

#[derive(Clone, Debug)]
pub struct ServerTimeouts {
    pub connect: Duration,
    pub response: Duration,
    /// Between two bytes of a response.
    pub idle: Duration,
    /// For a whole list that the gateway itself asks for.
    pub list: Duration,
}

/// A parameter that every tool of a server mirrors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The part after `Mcp-Param-`, as the file spells it; compared without case.
    pub header: String,
    /// The names that lead to it in `arguments`; at least one.
    pub path: Vec<String>,
}

/// A pool and the parameters that lead to it.
#[derive(Clone, Debug)]
pub struct Route {
    /// As a server's name; unique within its server.
    pub name: String,
    /// At least one; no two of the same parameter.
    pub when: Vec<Condition>,
    /// At least one.
    pub endpoints: Vec<Endpoint>,
    /// Whether requests without parameters come here; at most one of a server.
    pub lists: bool,
}

/// What one parameter must look like.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The part after `Mcp-Param-`, as the file spells it; compared without case.
    pub header: String,
    /// One of these must match; at least one.
    pub patterns: Vec<Pattern>,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, to be sent or compared and nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Gateway {
    /// The listeners that only this machine can reach.
    pub fn loopback_listeners(&self) -> impl Iterator<Item = SocketAddr> {
        self.listen.iter().copied().filter(is_loopback)
    }
}

pub(super) fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
