//! Every key of the file: its name, what it takes, its default, what it is for.
//!
//! The one place that knows them. The check of names and types (`shape`), the defaults and the JSON Schema (`schema`) are
//! all read from here, so that they cannot differ. Must hold no rule about a value that its kind cannot say.

use std::time::Duration;

/// One key of one table.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) presence: Presence,
    /// A TOML literal that shows how the value is written.
    pub(super) example: &'static str,
    pub(super) about: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    Optional,
    /// Left out, the key means this TOML literal.
    Defaulted(&'static str),
}

/// What a value may be.
#[derive(Debug)]
pub(super) enum Kind {
    /// Any string; the pattern is for editors, the exact rule stands where the value is used.
    Text {
        pattern: Option<&'static str>,
    },
    Word(&'static [&'static str]),
    Boolean,
    Integer {
        min: i64,
        max: i64,
    },
    Duration {
        min: Duration,
        max: Duration,
    },
    List(&'static Kind),
    OneOrList(&'static Kind),
    Table(&'static [Key]),
    /// A table whose names the user chooses.
    Names {
        pattern: &'static str,
        each: &'static Kind,
    },
    /// The first that fits the value's TOML type.
    Either(&'static [Kind]),
}

pub(super) const NAME: &str = "^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$";
const TOKEN: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";
const URL: Kind = Kind::Text { pattern: Some("^[Hh][Tt][Tt][Pp][Ss]?://") };
const TEXT: Kind = Kind::Text { pattern: None };
const TOKEN_TEXT: Kind = Kind::Text { pattern: Some(TOKEN) };
const TIMEOUT: Kind = Kind::Duration { min: Duration::from_millis(1), max: DAY };
const KEPT: Kind = Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(30 * 86_400) };
const DAY: Duration = Duration::from_secs(86_400);
const GIB: i64 = 1 << 30;

pub(super) static FILE: &[Key] = &[
    defaulted("gateway", Kind::Table(GATEWAY), "{}", "What clients connect to.")
        .like("{ listen = [\"127.0.0.1:8080\"] }"),
    optional(
        "admin",
        Kind::Table(ADMIN),
        "{ listen = \"127.0.0.1:9090\" }",
        "Health and metrics; without this table there is no admin port.",
    ),
    defaulted("cache", Kind::Table(CACHE), "{}", "How long and how much of what servers list is kept.")
        .like("{ max_ttl = \"1h\" }"),
    optional(
        "servers",
        Kind::Names { pattern: NAME, each: &Kind::Table(SERVER) },
        "{ github = { endpoints = [\"http://127.0.0.1:9000/mcp\"] } }",
        "The MCP servers behind the gateway, by name; at least one.",
    ),
];

static GATEWAY: &[Key] = &[
    defaulted(
        "listen",
        Kind::List(&TEXT),
        "[\"127.0.0.1:8080\"]",
        "Addresses and ports to listen on; HTTP/1.1 and HTTP/2 (h2c) on each.",
    ),
    defaulted(
        "path",
        Kind::Text { pattern: Some("^/") },
        "\"/mcp\"",
        "Where all servers are served as one; below it, each server alone by its name. A trailing slash is the same path.",
    ),
    defaulted(
        "max_name_length",
        Kind::Integer { min: 48, max: 1_024 },
        "64",
        "Tools and prompts whose names with the prefix have more characters are listed under a shortened name.",
    ),
    defaulted(
        "list_page_size",
        Kind::Integer { min: 0, max: 100_000 },
        "0",
        "Items on one page of a list; 0 is all of them on one.",
    ),
    defaulted(
        "max_body_bytes",
        Kind::Integer { min: 1_024, max: GIB },
        "16_777_216",
        "A request body longer than this is refused with 413.",
    ),
    defaulted(
        "max_head_bytes",
        Kind::Integer { min: 4_096, max: 1 << 20 },
        "65_536",
        "A request head longer than this is refused with 431.",
    ),
    defaulted(
        "allowed_origins",
        Kind::List(&TEXT),
        "[]",
        "Origins of browsers that may call, exactly, or \"*\"; loopback origins may always call a loopback listener.",
    )
    .like("[\"https://app.example\"]"),
    defaulted(
        "allowed_hosts",
        Kind::List(&TEXT),
        "[]",
        "Host names that a loopback listener answers to besides loopback names, without ports.",
    )
    .like("[\"mcp.local\"]"),
    defaulted(
        "trusted_proxies",
        Kind::List(&TEXT),
        "[]",
        "Addresses or networks whose X-Forwarded-* headers are kept.",
    )
    .like("[\"10.0.0.0/8\"]"),
    optional(
        "bearer_file",
        TEXT,
        "\"/run/secrets/gateway-token\"",
        "A file that holds the token every client must send as `Authorization: Bearer`.",
    ),
    defaulted(
        "unauthenticated",
        Kind::Boolean,
        "false",
        "Says that anyone who reaches a listener may use the gateway's own credentials.",
    ),
    defaulted(
        "max_connections",
        Kind::Integer { min: 1, max: 1_000_000 },
        "10_000",
        "Client connections open at once; past it, 503 with Retry-After.",
    ),
    defaulted(
        "max_in_flight",
        Kind::Integer { min: 1, max: 1_000_000 },
        "4_096",
        "Requests in flight at once; past it, 503 with Retry-After.",
    ),
    defaulted(
        "max_buffered_bytes",
        Kind::Integer { min: 1 << 20, max: 1 << 40 },
        "268_435_456",
        "Bytes of requests held in memory at once; past it, 503 with Retry-After.",
    ),
    defaulted("timeouts", Kind::Table(GATEWAY_TIMEOUTS), "{}", "How slow a client may be.").like("{ head = \"10s\" }"),
    defaulted(
        "shutdown_grace",
        Kind::Duration { min: Duration::ZERO, max: DAY },
        "\"25s\"",
        "How long requests may go on after SIGTERM.",
    ),
    defaulted(
        "threads",
        Kind::Integer { min: 0, max: 1_024 },
        "0",
        "Threads that serve requests; 0 is one for each core.",
    ),
    optional(
        "protected_resource",
        Kind::Table(PROTECTED_RESOURCE),
        "{ resource = \"https://mcp.example/mcp\", authorization_servers = [\"https://login.example\"] }",
        "Served at /.well-known/oauth-protected-resource (RFC 9728).",
    ),
];

static CACHE: &[Key] = &[
    defaulted("max_ttl", KEPT, "\"1h\"", "The longest time for which a server's list is kept, whatever it claims."),
    defaulted("stale_if_error", KEPT, "\"5m\"", "How long an expired list serves while its server fails."),
    defaulted(
        "partial_ttl",
        KEPT,
        "\"5s\"",
        "The longest time that a list claims which lacks a server; also, how long a failed server is not asked again.",
    ),
    defaulted(
        "max_bytes",
        Kind::Integer { min: 1 << 20, max: 1 << 40 },
        "67_108_864",
        "Bytes of lists that are kept, of all servers and callers together, about.",
    ),
];

static GATEWAY_TIMEOUTS: &[Key] = &[
    defaulted("head", TIMEOUT, "\"10s\"", "Until a request's head is complete."),
    defaulted("body", TIMEOUT, "\"60s\"", "Between two reads of a request's body."),
    defaulted("keepalive", TIMEOUT, "\"75s\"", "How long an idle connection stays open."),
    defaulted("write", TIMEOUT, "\"60s\"", "Until the client takes what was written to it."),
];

static PROTECTED_RESOURCE: &[Key] = &[
    required("resource", URL, "\"https://mcp.example/mcp\"", "The URL by which clients know this gateway."),
    required(
        "authorization_servers",
        Kind::List(&URL),
        "[\"https://login.example\"]",
        "Issuers whose tokens are accepted.",
    ),
    defaulted("scopes_supported", Kind::List(&TEXT), "[]", "Scopes that clients may ask for.").like("[\"mcp:read\"]"),
];

static ADMIN: &[Key] =
    &[defaulted("listen", TEXT, "\"127.0.0.1:9090\"", "Address and port of /livez, /readyz and /metrics.")];

static SERVER: &[Key] = &[
    optional(
        "prefix",
        Kind::Text { pattern: Some("^([a-z]([a-z0-9-]{0,30}[a-z0-9])?)?$") },
        "\"github\"",
        "What names of this server begin with, before `__`; the server's name if left out; \"\" passes names unchanged.",
    ),
    optional(
        "endpoints",
        Kind::List(&URL),
        "[\"http://127.0.0.1:9000/mcp\"]",
        "The default pool: URLs at which this server answers, used in turn.",
    ),
    defaulted(
        "authorization",
        Kind::Either(&[Kind::Word(AUTHORIZATIONS), Kind::Table(BEARER)]),
        "\"strip\"",
        "The client's Authorization: removed, forwarded (only where gateway and server share an audience), or replaced by a token of the gateway.",
    ),
    defaulted(
        "credential_headers",
        Kind::List(&TOKEN_TEXT),
        "[\"authorization\"]",
        "Request headers that identify a caller to this server.",
    ),
    defaulted(
        "headers",
        Kind::Names { pattern: TOKEN, each: &Kind::Either(&[TEXT, Kind::Table(FROM_ENVIRONMENT)]) },
        "{}",
        "Headers added to each request to this server.",
    ).like("{ X-Fleet = \"blue\" }"),
    defaulted("timeouts", Kind::Table(SERVER_TIMEOUTS), "{}", "How slow this server may be.").like("{ connect = \"2s\" }"),
    defaulted("expose", Kind::Boolean, "true", "Whether the server is also served alone, at its name below the path."),
    defaulted(
        "params",
        Kind::Names { pattern: TOKEN, each: &TEXT },
        "{}",
        "Parameters that all tools of this server mirror in `Mcp-Param-*`: header name to dotted path in the arguments.",
    ).like("{ Region = \"region\" }"),
    defaulted("rules_ttl", TIMEOUT, "\"60s\"", "How long the x-mcp-header rules of its tools are relied on."),
    defaulted(
        "tools",
        Kind::Table(TOOLS),
        "{}",
        "Which tools of this server are listed and can be called, by patterns of its own names.",
    )
    .like("{ allow = [\"get_*\"], deny = [\"*_all\"] }"),
    defaulted(
        "cache",
        Kind::Either(&[Kind::Word(&["on", "off"]), Kind::Table(ASSUMED)]),
        "\"on\"",
        "Whether this server's lists are kept as long as they claim; or what holds for those that claim no time.",
    ),
    defaulted("required", Kind::Boolean, "false", "Whether a list that lacks this server is answered with an error instead."),
    defaulted(
        "validate_arguments",
        Kind::Boolean,
        "false",
        "Whether the arguments of calls are checked against the tool's inputSchema before they are sent.",
    ),
    defaulted(
        "validate_results",
        Kind::Boolean,
        "false",
        "Whether results are checked against the tool's outputSchema; what does not hold is logged and counted.",
    ),
    defaulted(
        "validate_max_bytes",
        Kind::Integer { min: 1_024, max: 64 << 20 },
        "1_048_576",
        "A call longer than this cannot be checked and is refused; a result is not looked at.",
    ),
    defaulted(
        "uris",
        Kind::Either(&[Kind::Word(&["rewrite"]), Kind::Table(PASSING)]),
        "\"rewrite\"",
        "Resource URIs at the merged endpoint: with the server's prefix, or as they are, for those that match a pattern.",
    ),
    defaulted(
        "routes",
        Kind::List(&Kind::Table(ROUTE)),
        "[]",
        "Pools chosen by parameters; in order, the first match wins.",
    ).like("[{ name = \"us\", when = { Region = \"us-*\" }, endpoints = [\"https://us.sql.example/mcp\"] }]"),
];

pub(super) static AUTHORIZATIONS: &[&str] = &["strip", "forward"];

static TOOLS: &[Key] = &[
    defaulted("allow", Kind::List(&TEXT), "[\"*\"]", "Tools that are shown; `*` is any run of characters."),
    defaulted("deny", Kind::List(&TEXT), "[]", "Tools that are hidden, whatever `allow` says.").like("[\"delete_*\"]"),
];

static ASSUMED: &[Key] = &[
    required("assume", Kind::Word(&["public", "private"]), "\"public\"", "To whom such a list may be given again."),
    required("ttl", KEPT, "\"60s\"", "For how long."),
];

static PASSING: &[Key] =
    &[required("pass", Kind::List(&TEXT), "[\"file:///srv/*\"]", "URIs that are this server's; `*` is any run.")];

static BEARER: &[Key] = &[
    optional("bearer_env", TEXT, "\"SQL_TOKEN\"", "The environment variable that holds the token."),
    optional("bearer_file", TEXT, "\"/run/secrets/sql-token\"", "The file that holds the token."),
];

static FROM_ENVIRONMENT: &[Key] =
    &[required("env", TEXT, "\"FLEET\"", "The environment variable that holds the value.")];

static SERVER_TIMEOUTS: &[Key] = &[
    defaulted("connect", TIMEOUT, "\"2s\"", "Until a connection stands."),
    defaulted("response", TIMEOUT, "\"60s\"", "Until the head of the response has come."),
    defaulted("idle", TIMEOUT, "\"300s\"", "Between two bytes of a response."),
    defaulted("list", TIMEOUT, "\"5s\"", "Until a list that the gateway itself asks for is complete."),
];

static ROUTE: &[Key] = &[
    required("name", Kind::Text { pattern: Some(NAME) }, "\"us\"", "What the route is called in logs and metrics."),
    required(
        "when",
        Kind::Names { pattern: TOKEN, each: &Kind::OneOrList(&TEXT) },
        "{ Region = [\"us-west1\", \"us-east*\"] }",
        "Every parameter named must match one of its patterns; `*` is any run of characters.",
    ),
    required("endpoints", Kind::List(&URL), "[\"https://us.sql.example/mcp\"]", "The pool of this route."),
    defaulted("lists", Kind::Boolean, "false", "Whether requests without parameters come here."),
];

const fn required(name: &'static str, kind: Kind, example: &'static str, about: &'static str) -> Key {
    Key { name, kind, presence: Presence::Required, example, about }
}

const fn optional(name: &'static str, kind: Kind, example: &'static str, about: &'static str) -> Key {
    Key { name, kind, presence: Presence::Optional, example, about }
}

const fn defaulted(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { name, kind, presence: Presence::Defaulted(default), example: default, about }
}

impl Key {
    /// For a default that does not show how the value is written.
    const fn like(self, example: &'static str) -> Self {
        Self { example, ..self }
    }
}
