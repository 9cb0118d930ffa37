//! mcp-signpost: a stateless reverse proxy and gateway for the Model Context Protocol, revision 2026-07-28.
//!
//! The headers of a request decide where it goes; its body must confirm what they say before a server sees it whole.
//!
//! # The house
//!
//! Pure rooms (no I/O, no clock of their own, no pingora):
//!
//! | room | what it knows |
//! | --- | --- |
//! | [`scan`] | the resumable JSON scanner: bytes in, values at watched paths out; edits in place |
//! | [`protocol`] | header names, methods, versions, error codes, the sentinel, decimals, event streams, a tool's parameter rules, how a value is quoted |
//! | [`agreement`] | what a head and a body must agree on, and the verdict |
//! | [`refusal`] | every way to say no, turned into HTTP, JSON-RPC and a label in one place |
//! | [`policy`] | what a head must be, what goes to a server and what comes back to a client |
//! | [`routing`] | name to server, parameters to pool, and why |
//! | [`catalog`] | what each server offers, to whom and until when, and all of it as one |
//! | [`rewriting`] | a server's results on their way out: the URIs in them, rewritten as they stream |
//! | [`config`] | TOML to checked configuration; every complaint with its line |
//!
//! The shell (does the I/O, holds no rules):
//!
//! | room | what it does |
//! | --- | --- |
//! | [`telemetry`] | metrics and the access log |
//! | [`wire`] | what pingora lacks: deadlines, strict framing, connections to servers |
//! | [`upstream`] | endpoints, pools, the gateway's own requests |
//! | [`fleet`] | what one configuration runs: its servers, where their lists come from, the budgets of the process |
//! | [`gateway`] | one request's way from accept to log line |
//! | [`admin`] | health, metrics and state for operators |
//! | [`process`] | run, signals, drain, the end |
//! | [`cli`] | `serve`, `check`, `route`, `tools`, `demo`, `schema` |
//!
//! Dependencies point downwards: [`gateway`] may use everything, [`scan`] uses nothing.

pub mod admin;
pub mod agreement;
pub mod catalog;
pub mod cli;
pub mod config;
#[cfg(feature = "demo")]
pub mod demo;
pub mod fleet;
pub mod gateway;
pub mod policy;
pub mod process;
pub mod protocol;
pub mod refusal;
pub mod rewriting;
pub mod routing;
pub mod scan;
pub mod telemetry;
pub mod upstream;
pub mod wire;
