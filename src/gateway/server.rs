//! A configured server at run time: its pools, its rules, its credentials, its metrics.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::snapshot::BuildError;
use crate::agreement::{Declared, Plan};
use crate::catalog::rules::{PageError, ToolRules};
use crate::catalog::walk::{self, WalkError};
use crate::catalog::{Caller, Doubt, Fetch, Index, RuleSet};
use crate::config;
use crate::protocol::code;
use crate::sockets::answer::Patience;
use crate::telemetry::{Metrics, ServerMetrics};
use crate::upstream::{Endpoint, OwnAnswer, OwnClient, OwnError, OwnRequest, Pool, Timeouts};

/// Bytes of all pages of one list, and lists that are walked at once.
const MAX_LIST: usize = 8 * 1024 * 1024;
const MAX_WALKS: usize = 4;
/// Refused tools that are named in the log.
const SAID: usize = 10;

/// One server.
#[derive(Debug)]
pub struct Server {
    /// Its place in the configuration.
    pub index: usize,
    pub name: String,
    pub prefix: String,
    /// Routes in their order, then the default pool if there is one.
    pub pools: Vec<Pool>,
    /// The pool for what has no parameters.
    pub lists_pool: usize,
    pub default_pool: Option<usize>,
    pub has_routes: bool,
    /// Whether it is also served alone.
    pub is_exposed: bool,
    pub forwards_credentials: bool,
    /// What identifies a caller, lower case.
    pub credential_headers: Vec<HeaderName>,
    /// Added to each upstream request: configured headers and the gateway's own credentials.
    pub own_headers: HeaderMap,
    pub rules: Index,
    /// Parameters that the configuration declares for all tools, and the plan where nothing else is known of a tool.
    declared: Vec<Declared>,
    pub declared_plan: Arc<Plan>,
    pub metrics: Arc<ServerMetrics>,
    list_time: Duration,
    /// When it was last said that an endpoint cannot be reached.
    said: Mutex<Option<Instant>>,
    walks: Semaphore,
    client: Arc<OwnClient>,
}

/// What all servers of a configuration share.
#[derive(Debug)]
pub struct Surroundings {
    pub metrics: Arc<Metrics>,
    pub client: Arc<OwnClient>,
    pub body_time: Duration,
}

/// What is known of the parameters of the tool that is called.
#[derive(Debug)]
pub enum Known {
    Plan {
        plan: Arc<Plan>,
        from: Option<Arc<RuleSet>>,
    },
    /// The list has no such tool.
    Unlisted {
        from: Arc<RuleSet>,
    },
    /// The tool's schema breaks the rules for headers; no lawful client lists it.
    Unlawful,
    NotToBeHad,
}

/// Why a server's list cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error("not done within {0:?}")]
    Late(Duration),
    #[error("no pool takes it")]
    NoPool,
    #[error(transparent)]
    Walk(#[from] WalkError<OwnError>),
    #[error("a page cannot be read: {0}")]
    Page(#[from] PageError),
}

impl ListError {
    /// Whether the server says that it has no such list.
    pub fn is_no_method(&self) -> bool {
        let said = match self {
            Self::Walk(WalkError::Fetch(OwnError::Refused { code, .. })) => *code,
            _ => return false,
        };
        said == i64::from(code::METHOD_NOT_FOUND)
    }
}

impl Server {
    pub fn build(index: usize, config: &config::Server, surroundings: &Surroundings) -> Result<Self, BuildError> {
        let fail = |what| BuildError::Server { server: config.name.clone(), what };
        let patience =
            Patience { response: config.timeouts.response, idle: config.timeouts.idle, body: surroundings.body_time };
        let timeouts = Timeouts { connect: config.timeouts.connect, patience };
        let pool = |name: &str, urls: &[config::Endpoint]| {
            let endpoints = urls.iter().map(|url| Endpoint::new(url, timeouts, index as u64));
            let endpoints =
                endpoints.collect::<Option<Vec<_>>>().ok_or_else(|| fail("an endpoint's host cannot be sent"))?;
            Pool::new(name.to_owned(), endpoints).ok_or_else(|| fail("a pool is empty"))
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
        let own_headers = own_headers(config).ok_or_else(|| fail("a configured header cannot be sent"))?;
        Ok(Self {
            index,
            name: config.name.clone(),
            prefix: config.prefix.clone(),
            lists_pool: lists.or(default_pool).ok_or_else(|| fail("no pool takes its lists"))?,
            default_pool,
            has_routes: !config.routes.is_empty(),
            is_exposed: config.expose,
            forwards_credentials: matches!(config.authorization, config::Authorization::Forward),
            credential_headers: config.credential_headers.clone(),
            own_headers,
            rules: Index::new(config.rules_ttl),
            declared_plan: Plan::for_tool(&ToolRules::default(), &declared),
            declared,
            metrics: surroundings.metrics.server(&config.name, pools.iter().map(|pool| pool.name.as_str())),
            list_time: config.timeouts.list,
            said: Mutex::default(),
            walks: Semaphore::new(MAX_WALKS),
            pools,
            client: Arc::clone(&surroundings.client),
        })
    }

    pub fn pool(&self, index: usize) -> Option<&Pool> {
        self.pools.get(index)
    }

    /// The credentials of `headers` that go to this server: none, unless they are forwarded.
    pub fn forwarded_credentials(&self, headers: &HeaderMap) -> HeaderMap {
        let mut forwarded = HeaderMap::new();
        if self.forwards_credentials {
            for name in &self.credential_headers {
                for value in headers.get_all(name) {
                    forwarded.append(name.clone(), value.clone());
                }
            }
        }
        forwarded
    }

    /// What is known of a tool's parameters; fetches the server's list when it must.
    pub async fn know(self: &Arc<Self>, tool: &str, credentials: &HeaderMap, caller: Option<Caller>) -> Known {
        let refresh = || {
            let (server, credentials) = (Arc::clone(self), credentials.clone());
            tokio::spawn(async move { server.rules.refresh(caller, server.fetch(&credentials)).await });
        };
        match self.rules.rules(caller, || self.fetch(credentials), refresh).await {
            None if !self.declared.is_empty() => Known::Plan { plan: Arc::clone(&self.declared_plan), from: None },
            None => Known::NotToBeHad,
            Some(set) => known(set, tool),
        }
    }

    /// Looks again, with rules younger than those that gave rise to doubt; `None` where there are none.
    pub async fn know_better(
        self: &Arc<Self>,
        (seen, doubt): (&RuleSet, Doubt),
        tool: &str,
        credentials: &HeaderMap,
        caller: Option<Caller>,
    ) -> Option<Known> {
        let newer = self.rules.refetch(caller, seen, doubt, || self.fetch(credentials)).await?;
        Some(known(newer, tool))
    }

    /// The server says (-32020) that its tools changed: our rules are fetched again, in the background.
    pub fn revalidate(self: &Arc<Self>, credentials: HeaderMap, caller: Option<Caller>) {
        if self.rules.should_revalidate(caller) {
            let server = Arc::clone(self);
            tokio::spawn(async move { server.rules.revalidate(caller, server.fetch(&credentials)).await });
        }
    }

    /// The rules of all tools, fetched now, with no caller's credentials.
    pub async fn list_rules(&self) -> Option<RuleSet> {
        self.fetch(&HeaderMap::new()).await
    }

    fn fetch<'f>(&'f self, credentials: &'f HeaderMap) -> Fetch<'f> {
        Box::pin(self.fetch_rules(credentials))
    }

    async fn fetch_rules(&self, credentials: &HeaderMap) -> Option<RuleSet> {
        match self.walk(credentials).await {
            Ok(set) => {
                self.metrics.rules_fetched.inc();
                self.say_unlawful(&set);
                Some(set)
            }
            Err(error) => {
                self.metrics.rules_failed.inc();
                log::warn!("the tool list of server {} cannot be had: {error}", self.name);
                None
            }
        }
    }

    async fn walk(&self, credentials: &HeaderMap) -> Result<RuleSet, ListError> {
        let pages = self.list("tools/list", credentials).await?;
        Ok(walk::rules(&pages, &self.declared, &self.rules)?)
    }

    /// All pages of one of this server's lists, within its time and a bound on bytes.
    pub async fn list(&self, method: &str, credentials: &HeaderMap) -> Result<Vec<Value>, ListError> {
        let walking = tokio::time::timeout(self.list_time, self.pages(method, credentials)).await;
        walking.unwrap_or(Err(ListError::Late(self.list_time)))
    }

    async fn pages(&self, method: &str, credentials: &HeaderMap) -> Result<Vec<Value>, ListError> {
        // A list may be large; who waits here waits within the list's time.
        let _walk = self.walks.acquire().await;
        let pool = self.pool(self.lists_pool).ok_or(ListError::NoPool)?;
        let mut headers = self.own_headers.clone();
        headers.extend(credentials.clone());
        let (headers, left) = (&headers, &AtomicUsize::new(MAX_LIST));
        let page = |cursor: Option<String>| async move {
            let mut params = serde_json::Map::new();
            params.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.into())));
            let request = OwnRequest { method, params, headers, max_bytes: left.load(Ordering::Relaxed) };
            let answer = self.ask(pool, &request).await?;
            left.fetch_sub(answer.bytes, Ordering::Relaxed);
            Ok::<_, OwnError>(answer.result)
        };
        Ok(walk::pages(page).await?)
    }

    /// Asks the endpoints in turn, each once, until one can be reached.
    async fn ask(&self, pool: &Pool, request: &OwnRequest<'_>) -> Result<OwnAnswer, OwnError> {
        let mut tried = 1;
        loop {
            let (_, endpoint) = pool.pick();
            match self.client.result(endpoint, request, self.list_time).await {
                Err(OwnError::Unreachable) if tried < pool.endpoints().len() => tried += 1,
                other => return other,
            }
        }
    }

    /// Counts an endpoint that cannot be connected, and says why on stderr, at most once a second.
    pub fn say_unreachable(&self, pool: usize, endpoint: &str, why: &dyn std::fmt::Display) {
        self.metrics.connect_failure(pool);
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_none_or(|at: Instant| at.elapsed() >= Duration::from_secs(1)) {
            *said = Some(Instant::now());
            log::warn!("server {}: {endpoint} cannot be reached: {why}", self.name);
        }
    }

    /// "Clients SHOULD log a warning when rejecting a tool definition": the first few by name, the others by number.
    fn say_unlawful(&self, set: &RuleSet) {
        let unlawful = || set.tools.iter().filter_map(|(tool, plan)| Some((tool, plan.as_ref().err()?)));
        for (tool, reason) in unlawful().take(SAID) {
            log::warn!("server {}: tool {} is refused: {reason}", self.name, crate::agreement::quote(tool));
        }
        let others = unlawful().count().saturating_sub(SAID);
        if others > 0 {
            log::warn!("server {}: {others} more tools are refused", self.name);
        }
    }
}

fn known(set: Arc<RuleSet>, tool: &str) -> Known {
    match set.tools.get(tool) {
        None => Known::Unlisted { from: set },
        Some(Err(_)) => Known::Unlawful,
        Some(Ok(plan)) => Known::Plan { plan: Arc::clone(plan), from: Some(set) },
    }
}

fn declared(param: &config::Parameter) -> Declared {
    Declared { header: param.header.clone(), path: param.path.clone() }
}

fn own_headers(config: &config::Server) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for added in &config.headers {
        headers.append(added.name.clone(), secret_value(&added.value)?);
    }
    if let config::Authorization::Bearer { token, .. } = &config.authorization {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.reveal())).ok()?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Some(headers)
}

fn secret_value(value: &config::Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value.reveal()).ok()?;
    value.set_sensitive(true);
    Some(value)
}
