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
//! | [`policy`] | the guards that need nothing but a head |
//! | [`routing`] | name to server, parameters to pool, and why |
//! | [`catalog`] | what each server offers, to whom and until when, and all of it as one |
//! | [`answers`] | a server's results on their way out: the URIs in them, rewritten as they stream |
//! | [`config`] | TOML to checked configuration; every complaint with its line |
//!
//! The shell (does the I/O, holds no rules):
//!
//! | room | what it does |
//! | --- | --- |
//! | [`wire`] | deadlines and manners for pingora's streams |
//! | [`upstream`] | endpoints, pools, the gateway's own requests |
//! | [`gateway`] | one request's way from accept to log line, on pingora |
//! | [`telemetry`] | metrics and the access log |
//! | [`admin`] | health and metrics for operators |
//! | [`cli`] | `serve`, `check`, `route`, `tools`, `demo`, `schema` |
//!
//! Dependencies point downwards: [`gateway`] may use everything, [`scan`] uses nothing.

pub mod admin;
pub mod agreement;
pub mod answers;
pub mod catalog;
pub mod cli;
pub mod config;
#[cfg(feature = "demo")]
pub mod demo;
pub mod gateway;
pub mod policy;
pub mod process;
pub mod protocol;
pub mod refusal;
pub mod routing;
pub mod scan;
pub mod telemetry;
pub mod upstream;
pub mod wire;
