//! What the protocol says, as values: header names, methods, versions, error codes, ids.
//!
//! Knows MCP revision 2026-07-28 ("basic/transports/streamable-http" and the schema). Must never do I/O, and must never
//! know of pingora, of servers or of configuration.

pub mod caching;
pub mod decimal;
pub mod head;
pub mod method;
pub mod quote;
pub mod sentinel;
pub mod sse;
pub mod tool;

pub use caching::Scope;
pub use head::{Head, HeadFault};
pub use method::{Method, NamedBy};
pub use quote::{escaped, quote};
pub use tool::{ParamKind, ToolRules, Unlawful};

/// The revisions this gateway speaks, newest first.
pub const VERSIONS: [&str; 1] = ["2026-07-28"];

/// Header names as they are sent; they compare without case.
pub mod header {
    pub const VERSION: &str = "MCP-Protocol-Version";
    pub const METHOD: &str = "Mcp-Method";
    pub const NAME: &str = "Mcp-Name";
    /// What every mirrored parameter's header begins with, in lower case.
    pub const PARAM_PREFIX: &str = "mcp-param-";
    /// What every header of the protocol begins with, in lower case.
    pub const PREFIX: &str = "mcp-";
    pub const SESSION_ID: &str = "mcp-session-id";
}

/// Members of `params._meta` that the protocol requires or names.
pub mod meta {
    pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// Ours: the servers that a merged answer lacks.
    pub const UNAVAILABLE: &str = "mcp-signpost/unavailable";
    /// Ours: the servers whose list was cut short.
    pub const INCOMPLETE: &str = "mcp-signpost/incomplete";
}

/// JSON-RPC error codes.
///
/// -32020 to -32099 belong to the specification ("basic/index", error codes); ours are positive, outside
/// everything that JSON-RPC reserves (-32768 to -32000).
pub mod code {
    pub const PARSE: i32 = -32700;
    pub const INVALID_REQUEST: i32 = -32600;
    pub const METHOD_NOT_FOUND: i32 = -32601;
    pub const INVALID_PARAMS: i32 = -32602;
    pub const HEADER_MISMATCH: i32 = -32020;
    pub const UNSUPPORTED_VERSION: i32 = -32022;

    pub const SERVER_UNREACHABLE: i32 = 1001;
    pub const SERVER_SILENT: i32 = 1002;
    pub const SERVER_BROKE_OFF: i32 = 1003;
    pub const RULES_UNAVAILABLE: i32 = 1004;
    pub const OVERLOADED: i32 = 1005;
    pub const REFUSED_BY_GUARD: i32 = 1006;
    pub const TOO_SLOW: i32 = 1007;
    pub const INTERNAL: i32 = 1008;
    pub const LIST_UNAVAILABLE: i32 = 1009;
}
