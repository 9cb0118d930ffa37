//! `/status`: what runs, which servers stand behind it and what is known of their lists.
//!
//! For operators' eyes: endpoints are named as configured. Must never show a credential.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::time::Instant;

use crate::catalog::cache::ServerKeeping;
use crate::catalog::offer::Offer;
use crate::catalog::omission::LeftOut;
use crate::catalog::store::{OfferKey, Whose};
use crate::fleet::{Server, Snapshot};
use crate::protocol::Scope;

/// Kept answers and left out items that are shown of one server; the others are counted.
const SHOWN: usize = 50;

#[derive(Debug, Serialize)]
pub struct Status<'s> {
    version: &'static str,
    configuration: Configuration<'s>,
    cache: Cache,
    servers: Vec<ServerStatus<'s>>,
}

#[derive(Debug, Serialize)]
struct Configuration<'s> {
    /// SHA-256 of the file, in hexadecimal.
    hash: &'s str,
    loaded: String,
}

#[derive(Debug, Serialize)]
struct Cache {
    entries: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct ServerStatus<'s> {
    name: &'s str,
    prefix: &'s str,
    exposed: bool,
    cache: String,
    pools: Vec<PoolStatus<'s>>,
    /// Why it gave no list of tools the last time, if it did not.
    trouble: Option<String>,
    lists: Vec<ListStatus>,
    /// Answers that are kept but not shown here.
    more_lists: usize,
}

#[derive(Debug, Serialize)]
struct PoolStatus<'s> {
    name: &'s str,
    endpoints: Vec<&'s str>,
}

#[derive(Debug, Serialize)]
struct ListStatus {
    method: &'static str,
    /// The beginning of the digest of the client's capabilities.
    capabilities: String,
    /// `everyone`, `anonymous` (sent without credentials) or `caller`.
    kept_for: &'static str,
    age_seconds: u64,
    /// 0 where it is not fresh any more.
    fresh_for_seconds: u64,
    items: usize,
    cut: Option<String>,
    left_out: Vec<LeftOutStatus>,
    more_left_out: usize,
}

#[derive(Debug, Serialize)]
struct LeftOutStatus {
    name: String,
    reason: String,
}

impl<'s> Status<'s> {
    pub fn of(snapshot: &'s Snapshot) -> Self {
        let (entries, bytes) = snapshot.catalog.store.size();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            configuration: Configuration { hash: &snapshot.source.hash, loaded: time(snapshot.source.at) },
            cache: Cache { entries, bytes },
            servers: snapshot.servers.iter().map(|server| ServerStatus::of(snapshot, server)).collect(),
        }
    }
}

impl<'s> ServerStatus<'s> {
    fn of(snapshot: &Snapshot, server: &'s Arc<Server>) -> Self {
        let mut kept = server.member.cache.all();
        kept.sort_by_key(|(key, offer)| (key.question.method() as usize, offer.received));
        let lists: Vec<_> = kept.iter().take(SHOWN).map(|(key, offer)| list(snapshot, server, key, offer)).collect();
        Self {
            name: &server.name,
            prefix: &server.prefix,
            exposed: server.is_exposed,
            cache: words(server.member.cache.keeping().server),
            pools: server.pools.iter().map(PoolStatus::of).collect(),
            trouble: snapshot.trouble(server),
            more_lists: kept.len() - lists.len(),
            lists,
        }
    }
}

impl<'s> PoolStatus<'s> {
    fn of(pool: &'s crate::upstream::Pool) -> Self {
        Self { name: &pool.name, endpoints: pool.endpoints().iter().map(|endpoint| endpoint.label()).collect() }
    }
}

fn list(snapshot: &Snapshot, server: &Server, key: &OfferKey, offer: &Offer) -> ListStatus {
    let listed = offer.content.list().map(|listed| &listed.list);
    let merged = listed.map(|list| snapshot.left_out_of(server, list)).unwrap_or_default();
    let own = listed.into_iter().flat_map(|list| list.left_out());
    let all: Vec<&LeftOut> = own.chain(&merged).collect();
    let left = if server.member.cache.is_fresh(offer) {
        offer.expires.saturating_duration_since(Instant::now())
    } else {
        Duration::ZERO
    };
    ListStatus {
        method: key.question.method().label(),
        capabilities: format!("{:08x}", key.variant >> 96),
        kept_for: match key.whose {
            Whose::Everyone => "everyone",
            Whose::Only(None) => "anonymous",
            Whose::Only(Some(_)) => "caller",
        },
        age_seconds: offer.received.elapsed().as_secs(),
        fresh_for_seconds: left.as_secs(),
        items: listed.map_or(0, |list| list.items().len()),
        cut: listed.and_then(|list| list.cut()).map(|cut| cut.to_string()),
        left_out: all.iter().take(SHOWN).map(|item| LeftOutStatus::of(item)).collect(),
        more_left_out: all.len().saturating_sub(SHOWN),
    }
}

impl LeftOutStatus {
    fn of(item: &LeftOut) -> Self {
        Self { name: item.name.clone(), reason: item.omission.to_string() }
    }
}

fn words(keeping: ServerKeeping) -> String {
    match keeping {
        ServerKeeping::On => "on".into(),
        ServerKeeping::Off => "off".into(),
        ServerKeeping::Assume { scope, ttl } => {
            let scope = if scope == Scope::Public { "public" } else { "private" };
            format!("assumed where the server says 0: {scope}, {}", humantime::format_duration(ttl))
        }
    }
}

fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(at).to_string()
}
