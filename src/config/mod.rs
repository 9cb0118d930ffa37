//! The configuration file: read, checked, typed; every complaint with its line.
//!
//! Text → `tree` (syntax, places) → `shape` (keys and kinds, from the table in `keys`) → `gateway`, `server`, `route`,
//! `offer` (meanings) and `whole` (what must fit together) → `Config`. All complaints are gathered on the way. Pure but for
//! `Surroundings`. Must never stop at the first complaint, and must never show a secret.

mod complaint;
mod dump;
mod duration;
mod endpoint;
mod gateway;
mod keys;
mod offer;
mod pattern;
mod reading;
mod route;
mod schema;
mod secrets;
mod server;
mod settings;
mod shadow;
mod shape;
mod surroundings;
mod texts;
mod tree;
mod whole;

pub use complaint::{Complaint, Complaints, Place};
pub use dump::dump;
pub use endpoint::{Endpoint, Scheme};
pub use pattern::{Pattern, Unmatchable};
pub use schema::schema;
pub use settings::{
    AddedHeader, Admin, Authorization, BearerFile, Cache, CacheScope, ClientTimeouts, Condition, Config, Gateway,
    Parameter, ProtectedResource, Route, Secret, Server, ServerCache, ServerTimeouts, Source, Tools, Uris, Validation,
};
#[cfg(test)]
pub(crate) use surroundings::Nothing;
pub use surroundings::{Machine, Surroundings};

use complaint::{Findings, Lines, Told};
use reading::{Reading, all};
use tree::Table;

/// The configuration that a file describes, or everything that is wrong with it.
///
/// `origin` is the name that complaints show for the file.
pub fn parse(text: &str, origin: &str, surroundings: &dyn Surroundings) -> Result<Config, Complaints> {
    let lines = Lines::new(text);
    let mut syntax = Findings::default();
    let (file, broken_from) = tree::read(text, &mut syntax);
    let mut reading = Reading { findings: Findings::default(), lines: &lines, surroundings };
    let file = shape::check(file, &mut reading.findings);
    let config = config(&file, &mut reading);
    whole::check(&file, &mut reading);

    let mut findings = reading.findings;
    if let Some(offset) = broken_from {
        findings.trust_before(offset);
    }
    findings.append(syntax);
    match config {
        Ok(config) if findings.is_empty() => Ok(config),
        _ => Err(findings.into_complaints(&lines, origin)),
    }
}

fn config(file: &Table, reading: &mut Reading<'_>) -> Result<Config, Told> {
    let gateway = reading.table(file, "gateway").and_then(|table| gateway::gateway(table, reading));
    let admin = file.entry("admin").map(|_| {
        let table = reading.table(file, "admin")?;
        gateway::admin(table, reading)
    });
    let servers = match file.entry("servers") {
        Some(_) => reading.table(file, "servers").map(|servers| servers.entries.as_slice()),
        // `whole` says that there are none.
        None => Ok([].as_slice()),
    };
    let servers = servers.and_then(|entries| all(entries.iter().map(|entry| server::server(entry, reading)).collect()));
    let cache = reading.table(file, "cache").and_then(|table| offer::kept(table, reading));
    Ok(Config { gateway: gateway?, admin: admin.transpose()?, cache: cache?, servers: servers? })
}

#[cfg(test)]
mod tests;
