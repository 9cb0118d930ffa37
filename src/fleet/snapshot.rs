//! One configuration, compiled: immutable, shared by every request that began under it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::budget::Budget;
use super::server::{Server, Surroundings};
use crate::catalog::merged::Catalog;
use crate::catalog::store::Store;
use crate::catalog::view::Naming;
use crate::config::{self, Config};
use crate::policy::{Bearer, Callers, Policy};
use crate::routing::Table;
use crate::telemetry::{Metrics, Omissions};
use crate::upstream::{OwnClient, Wiring};
use crate::wire::Dials;
use crate::wire::tls::{RootsError, Tls};

/// Everything that a request needs to know.
#[derive(Debug)]
pub struct Snapshot {
    /// Where it was read from.
    pub source: Loaded,
    pub policy: Policy,
    pub table: Arc<Table>,
    pub servers: Vec<Arc<Server>>,
    /// What the servers offer, as far as it is kept.
    pub catalog: Catalog,
    pub omissions: Arc<Omissions>,
    pub limits: Limits,
    /// The document at `/.well-known/oauth-protected-resource`, ready to be sent.
    pub protected_resource: Option<String>,
    pub in_flight: Arc<Budget>,
    pub buffered: Arc<Budget>,
    pub metrics: Arc<Metrics>,
    pub callers: Callers,
}

/// The file that a configuration was read from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// SHA-256 of its text, in hexadecimal.
    pub hash: String,
    pub at: SystemTime,
}

impl Loaded {
    pub fn now(text: &str) -> Self {
        Self { hash: data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes())), at: SystemTime::now() }
    }
}

/// Times and sizes of the client side.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub max_body_bytes: u64,
    pub max_head_bytes: usize,
    pub head_time: Duration,
    pub body_time: Duration,
    pub keepalive: Duration,
    pub write_time: Duration,
}

/// Why a checked configuration cannot be run after all.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("server {server}: {what}")]
    Server { server: String, what: &'static str },
    #[error(transparent)]
    Roots(#[from] RootsError),
}

impl Snapshot {
    /// `dials` are those of the process; `metrics` too.
    pub fn build(
        config: &Config,
        metrics: Arc<Metrics>,
        dials: &Arc<Dials>,
        source: Loaded,
    ) -> Result<Self, BuildError> {
        let gateway = &config.gateway;
        let table = Arc::new(Table::new(config));
        let naming = Naming { max_name_length: gateway.max_name_length, table: Arc::clone(&table) };
        let page_size = NonZeroUsize::new(gateway.list_page_size);
        let store = Store::new(config.cache.max_bytes, tokio::time::Instant::now);
        let omissions = Arc::new(Omissions::new(Arc::clone(&metrics)));
        let surroundings = Surroundings {
            metrics: Arc::clone(&metrics),
            client: Arc::new(OwnClient::new(Arc::clone(dials))),
            wiring: Wiring { dials: Arc::clone(dials), tls: tls(config)? },
            body_time: gateway.timeouts.body,
            store: Arc::clone(&store),
            cache: config.cache.clone(),
            omissions: Arc::clone(&omissions),
        };
        let servers = config.servers.iter().enumerate();
        let servers = servers.map(|(index, server)| Server::build(index, server, &surroundings).map(Arc::new));
        Ok(Self {
            policy: policy(gateway),
            table,
            source,
            servers: servers.collect::<Result<_, _>>()?,
            catalog: Catalog::new(store, naming, page_size, config.cache.partial_ttl),
            omissions,
            limits: limits(gateway),
            protected_resource: gateway.protected_resource.as_ref().map(metadata),
            in_flight: Budget::new(gateway.max_in_flight, metrics.in_flight.clone()),
            buffered: Budget::new(
                usize::try_from(gateway.max_buffered_bytes).unwrap_or(usize::MAX),
                metrics.buffered_bytes.clone(),
            ),
            metrics,
            callers: Callers::default(),
        })
    }
}

/// The metadata of RFC 9728, section 2.
fn metadata(about: &config::ProtectedResource) -> String {
    let mut document = serde_json::json!({
        "resource": about.resource,
        "authorization_servers": about.authorization_servers,
        "bearer_methods_supported": ["header"],
    });
    if let (false, Some(members)) = (about.scopes_supported.is_empty(), document.as_object_mut()) {
        members.insert("scopes_supported".into(), about.scopes_supported.clone().into());
    }
    document.to_string()
}

/// What encrypts towards servers, if any does.
fn tls(config: &Config) -> Result<Option<Tls>, RootsError> {
    let routes = config.servers.iter().flat_map(|server| &server.routes).flat_map(|route| &route.endpoints);
    let mut all = config.servers.iter().flat_map(|server| &server.endpoints).chain(routes);
    all.any(|endpoint| endpoint.scheme == config::Scheme::Https).then(Tls::system).transpose()
}

fn policy(gateway: &config::Gateway) -> Policy {
    Policy {
        max_body_bytes: gateway.max_body_bytes,
        max_head_bytes: gateway.max_head_bytes,
        loopback_listeners: gateway.loopback_listeners().collect(),
        allowed_origins: gateway.allowed_origins.clone(),
        allowed_hosts: gateway.allowed_hosts.clone(),
        trusted_proxies: gateway.trusted_proxies.clone(),
        bearer: gateway.bearer.as_ref().map(|bearer| Bearer::new(bearer.token.clone())),
    }
}

fn limits(gateway: &config::Gateway) -> Limits {
    Limits {
        max_body_bytes: gateway.max_body_bytes,
        max_head_bytes: gateway.max_head_bytes,
        head_time: gateway.timeouts.head,
        body_time: gateway.timeouts.body,
        keepalive: gateway.timeouts.keepalive,
        write_time: gateway.timeouts.write,
    }
}
