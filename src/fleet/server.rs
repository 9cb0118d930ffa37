//! A configured server at run time: its pools, its rules, its credentials, its metrics.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::snapshot::BuildError;
use crate::agreement::{Declared, Plan};
use crate::catalog::cache::{Cache, Keeping, ServerKeeping};
use crate::catalog::merged::Member;
use crate::catalog::reading::Reading;
use crate::catalog::store::Store;
use crate::catalog::{Demands, Rules};
use crate::config;
use crate::policy::Credentials;
use crate::protocol::{Scope, ToolRules};
use crate::telemetry::{Metrics, Omissions, ServerMetrics};
use crate::upstream::{Endpoint, OwnClient, Pool, Timeouts, Wiring};
use crate::wire::patience::Patience;

/// Lists that are walked at once.
const MAX_WALKS: usize = 8;

/// One server.
#[derive(Debug)]
pub struct Server {
    /// Its place in the configuration.
    pub index: usize,
    pub name: String,
    pub prefix: Arc<str>,
    /// What the catalog knows of it.
    pub member: Arc<Member>,
    /// Routes in their order, then the default pool if there is one.
    pub pools: Vec<Pool>,
    /// The pool for what has no parameters.
    pub lists_pool: usize,
    pub default_pool: Option<usize>,
    pub has_routes: bool,
    /// Whether it is also served alone.
    pub is_exposed: bool,
    pub credentials: Credentials,
    pub rules: Rules,
    /// How its lists are read.
    pub reading: Reading,
    pub metrics: Arc<ServerMetrics>,
    pub omissions: Arc<Omissions>,
    pub list_time: Duration,
    pub walks: Semaphore,
    pub client: Arc<OwnClient>,
}

/// What all servers of a configuration share.
#[derive(Debug)]
pub struct Surroundings {
    pub metrics: Arc<Metrics>,
    pub client: Arc<OwnClient>,
    pub wiring: Wiring,
    pub body_time: Duration,
    pub store: Arc<Store>,
    pub cache: config::Cache,
    pub omissions: Arc<Omissions>,
}

impl Server {
    pub fn build(index: usize, config: &config::Server, surroundings: &Surroundings) -> Result<Self, BuildError> {
        let fail = |what| BuildError::Server { server: config.name.clone(), what };
        let patience =
            Patience { response: config.timeouts.response, idle: config.timeouts.idle, body: surroundings.body_time };
        let timeouts = Timeouts { connect: config.timeouts.connect, patience };
        let pool = |name: &str, urls: &[config::Endpoint]| {
            let endpoints = urls.iter().map(|url| Endpoint::new(url, timeouts, &surroundings.wiring).map(Arc::new));
            let endpoints =
                endpoints.collect::<Option<Vec<_>>>().ok_or_else(|| fail("an endpoint's host cannot be sent"))?;
            Pool::new(name.to_owned(), endpoints, timeouts.connect).ok_or_else(|| fail("a pool is empty"))
        };
        let mut pools =
            config.routes.iter().map(|route| pool(&route.name, &route.endpoints)).collect::<Result<Vec<_>, _>>()?;
        let mut default_pool = None;
        if !config.endpoints.is_empty() {
            default_pool = Some(pools.len());
            pools.push(pool("default", &config.endpoints)?);
        }
        let lists = config.routes.iter().position(|route| route.lists);
        let declared: Vec<_> = config.params.iter().map(declared).collect();
        let credentials = Credentials::of(config).ok_or_else(|| fail("a configured header cannot be sent"))?;
        Ok(Self {
            index,
            name: config.name.clone(),
            prefix: config.prefix.as_str().into(),
            member: Arc::new(member(index, config, surroundings)),
            lists_pool: lists.or(default_pool).ok_or_else(|| fail("no pool takes its lists"))?,
            default_pool,
            has_routes: !config.routes.is_empty(),
            is_exposed: config.expose,
            credentials,
            rules: Rules::new(Demands {
                ttl: config.rules_ttl,
                declared: (!declared.is_empty()).then(|| Plan::for_tool(&ToolRules::default(), &declared)),
                is_routed: !config.routes.is_empty(),
                is_validated: config.validation.arguments,
            }),
            reading: Reading { declared, validation: config.validation },
            omissions: Arc::clone(&surroundings.omissions),
            metrics: surroundings.metrics.server(&config.name, pools.iter().map(|pool| pool.name.as_str())),
            list_time: config.timeouts.list,
            walks: Semaphore::new(MAX_WALKS),
            pools,
            client: Arc::clone(&surroundings.client),
        })
    }

    pub fn pool(&self, index: usize) -> Option<&Pool> {
        self.pools.get(index)
    }
}

fn member(index: usize, config: &config::Server, surroundings: &Surroundings) -> Member {
    let cache = &surroundings.cache;
    let keeping = Keeping {
        max_ttl: cache.max_ttl,
        stale_if_error: cache.stale_if_error,
        partial_ttl: cache.partial_ttl,
        server: match config.cache {
            config::ServerCache::On => ServerKeeping::On,
            config::ServerCache::Off => ServerKeeping::Off,
            config::ServerCache::Assume { scope, ttl } => ServerKeeping::Assume { scope: assumed(scope), ttl },
        },
    };
    Member {
        name: config.name.as_str().into(),
        position: index,
        cache: Cache::new(&surroundings.store, keeping),
        shown: config.tools.clone().into(),
        uris: config.uris.clone().into(),
        is_required: config.required,
    }
}

fn assumed(scope: config::CacheScope) -> Scope {
    match scope {
        config::CacheScope::Public => Scope::Public,
        config::CacheScope::Private => Scope::Private,
    }
}

fn declared(param: &config::Parameter) -> Declared {
    Declared { header: param.header.clone(), path: param.path.clone() }
}
