//! Where the catalog's answers come from: a server's lists and what it says of itself, fetched within bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{SET_COOKIE, VARY};
use http::{HeaderMap, HeaderName};
use serde_json::Value;
use tokio::time::Instant;

use super::server::Server;
use crate::agreement::Plan;
use crate::catalog::about::About;
use crate::catalog::cache::Source;
use crate::catalog::kind::Kind;
use crate::catalog::list::{Cut, List, MAX_BYTES};
use crate::catalog::offer::{Ask, Content, Failure, Fetched, Listed, Question};
use crate::catalog::omission::Omission;
use crate::catalog::page::Page;
use crate::catalog::schemas::{self, SchemaFault, Schemas, Validator};
use crate::catalog::walk::{self, WalkError};
use crate::catalog::{Rule, RuleSet, Tool};
use crate::protocol::Scope;
use crate::protocol::tool::tool_rules;
use crate::upstream::{OwnAnswer, OwnError, OwnRequest, Pool};

impl Source for Server {
    fn fetch(self: Arc<Self>, question: Question, ask: Ask) -> BoxFuture<'static, Result<Fetched, Failure>> {
        Box::pin(async move {
            let fetched = tokio::time::timeout(self.list_time, self.fetch_now(question, &ask)).await;
            let fetched = fetched.unwrap_or(Err(Failure::Silent));
            self.metrics.catalog.fetch(question.method(), fetched.is_ok());
            if fetched.is_err() && question == Question::List(Kind::Tools) {
                self.rules.fail(ask.caller, Instant::now());
            }
            if let Err(failure) = &fetched
                && !failure.is_no_method()
            {
                log::warn!("{} of server {} cannot be had: {failure}", question.method().label(), self.name);
            }
            fetched
        })
    }
}

impl Server {
    async fn fetch_now(self: &Arc<Self>, question: Question, ask: &Ask) -> Result<Fetched, Failure> {
        // A list may be large; who waits here waits within the list's time.
        let _walk = self.walks.acquire().await;
        let caution = Caution::new(&self.credential_headers);
        match question {
            Question::List(kind) => self.fetch_list(kind, ask, &caution).await,
            Question::About => self.fetch_about(ask, &caution).await,
        }
    }

    async fn fetch_about(&self, ask: &Ask, caution: &Caution<'_>) -> Result<Fetched, Failure> {
        let left = AtomicUsize::new(MAX_BYTES);
        let answer = self.page(Question::About, ask, None, &left).await?;
        caution.look(&answer.headers);
        let result: Value =
            serde_json::from_slice(&answer.result).map_err(|error| Failure::BrokeOff(error.to_string()))?;
        let ttl = result.get("ttlMs").and_then(Value::as_u64).map_or(Duration::ZERO, Duration::from_millis);
        let scope = Scope::parse(result.get("cacheScope").and_then(Value::as_str));
        let content = Content::About(Arc::new(About::read(&result)));
        Ok(caution.apply(Fetched { content, received: Instant::now(), ttl, scope, is_hazardous: false }))
    }

    async fn fetch_list(self: &Arc<Self>, kind: Kind, ask: &Ask, caution: &Caution<'_>) -> Result<Fetched, Failure> {
        let left = &AtomicUsize::new(MAX_BYTES);
        let page = |cursor: Option<String>| async move {
            let answer = self.page(Question::List(kind), ask, cursor, left).await?;
            caution.look(&answer.headers);
            Ok::<_, Failure>((answer.result, Instant::now()))
        };
        let walked = walk::walk(kind, page).await.map_err(failure)?;
        let freshness = walked.freshness;
        let listed = self.listed(kind, walked.pages, walked.cut).await?;
        let fetched = Fetched {
            content: Content::List(Arc::new(listed)),
            received: freshness.received,
            ttl: freshness.ttl,
            scope: freshness.scope,
            is_hazardous: false,
        };
        let fetched = caution.apply(fetched);
        self.learn(ask, &fetched);
        Ok(fetched)
    }

    /// The list, and for tools the rules of their calls. Off the threads that serve requests: a list may be large.
    async fn listed(self: &Arc<Self>, kind: Kind, pages: Vec<Page>, cut: Option<Cut>) -> Result<Listed, Failure> {
        let server = Arc::clone(self);
        let built = tokio::task::spawn_blocking(move || server.listed_from(kind, pages, cut)).await;
        let listed = built.map_err(|_| Failure::BrokeOff("the list could not be put together".into()))?;
        if let Some(cut) = listed.list.cut() {
            log::warn!("{} of server {} is cut short: {cut}", kind.method().label(), self.name);
        }
        self.omissions.note(&self.name, kind.method(), listed.list.left_out().iter());
        Ok(listed)
    }

    fn listed_from(&self, kind: Kind, pages: Vec<Page>, cut: Option<Cut>) -> Listed {
        if kind != Kind::Tools {
            return Listed { list: Arc::new(List::build(kind, pages, cut, |_, _| Ok(()))), tools: None };
        }
        let said: Vec<Bytes> = pages.iter().flat_map(|page| page.items.iter().cloned()).collect();
        let mut lawful = Vec::new();
        let list = List::build(kind, pages, cut, |name, tool| {
            lawful.push((name.to_owned(), Rule::Lawful(Arc::new(self.tool(tool)?))));
            Ok(())
        });
        let left_out = list.left_out().iter().map(|item| (item.name.clone(), Rule::LeftOut(item.omission.clone())));
        let tools = self.rules.intern(&said, || left_out.chain(lawful).collect());
        Listed { list: Arc::new(list), tools: Some(tools) }
    }

    /// What a tool demands of its calls, or why it must not be called.
    fn tool(&self, tool: &Value) -> Result<Tool, Omission> {
        let rules = tool_rules(tool)?;
        let member =
            |name: &'static str| tool.get(name).filter(|schema| !schema.is_null()).map(|schema| (name, schema));
        if let Some((member, schema)) = member("inputSchema") {
            schemas::check_input(schema).map_err(|fault| no_schema(member, &fault))?;
        }
        let compile = |(member, schema)| Validator::compile(schema).map_err(|fault| no_schema(member, &fault));
        let input = member("inputSchema").filter(|_| self.validation.arguments).map(compile).transpose()?;
        // A result is only looked at: a schema that cannot be compiled is no reason to hide the tool.
        let output = member("outputSchema").filter(|_| self.validation.results).and_then(|found| compile(found).ok());
        let schemas = (input.is_some() || output.is_some()).then(|| Arc::new(Schemas { input, output }));
        Ok(Tool { plan: Plan::for_tool(&rules, &self.declared), rules, schemas })
    }

    /// What a list says of its tools holds for calls too, whoever asked for it.
    fn learn(&self, ask: &Ask, fetched: &Fetched) {
        let Some(tools) = fetched.content.list().and_then(|listed| listed.tools.clone()) else { return };
        let set = RuleSet {
            tools,
            list_ttl: fetched.ttl,
            is_public: fetched.scope == Scope::Public && !fetched.is_hazardous,
            fetched: fetched.received,
            capabilities: ask.variant.digest(),
        };
        self.rules.learn(ask.caller, set, Instant::now());
    }

    /// One page, or the one answer. `left` is what the answers may still take in bytes.
    async fn page(
        &self,
        question: Question,
        ask: &Ask,
        cursor: Option<String>,
        left: &AtomicUsize,
    ) -> Result<OwnAnswer, Failure> {
        let pool = self.pool(self.lists_pool).ok_or(Failure::Unreachable)?;
        let mut headers = self.own_headers.clone();
        headers.extend(HeaderMap::clone(&ask.credentials));
        let mut params = serde_json::Map::new();
        params.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.into())));
        let (method, capabilities) = (question.method().label(), ask.variant.capabilities());
        let max_bytes = left.load(Ordering::Relaxed);
        let request = OwnRequest { method, params, capabilities, headers: &headers, max_bytes };
        let answer = self.ask_in_turn(pool, &request).await.map_err(said)?;
        left.fetch_sub(answer.bytes, Ordering::Relaxed);
        Ok(answer)
    }

    /// Asks the endpoints in turn, each once, until one can be reached.
    async fn ask_in_turn(&self, pool: &Pool, request: &OwnRequest<'_>) -> Result<OwnAnswer, OwnError> {
        let mut tried = 1;
        loop {
            let (_, endpoint) = pool.pick();
            match self.client.result(endpoint, request, self.list_time).await {
                Err(OwnError::Unreachable) if tried < pool.endpoints().len() => tried += 1,
                other => return other,
            }
        }
    }
}

/// What in an answer's head forbids to give it to others, whatever its body says.
struct Caution<'c> {
    credential_headers: &'c [HeaderName],
    sets_cookies: AtomicBool,
    varies: AtomicBool,
}

impl<'c> Caution<'c> {
    fn new(credential_headers: &'c [HeaderName]) -> Self {
        Self { credential_headers, sets_cookies: AtomicBool::default(), varies: AtomicBool::default() }
    }

    fn look(&self, headers: &HeaderMap) {
        let varying =
            headers.get_all(VARY).iter().filter_map(|value| value.to_str().ok()).flat_map(|list| list.split(','));
        if varying.map(str::trim).any(|name| self.identifies(name)) {
            self.varies.store(true, Ordering::Relaxed);
        }
        if headers.contains_key(SET_COOKIE) {
            self.sets_cookies.store(true, Ordering::Relaxed);
        }
    }

    fn identifies(&self, name: &str) -> bool {
        let own = || self.credential_headers.iter().any(|header| header.as_str().eq_ignore_ascii_case(name));
        name == "*" || name.eq_ignore_ascii_case("authorization") || name.eq_ignore_ascii_case("cookie") || own()
    }

    /// An answer that varies with who asks is nobody else's; one that makes a client known is not kept at all.
    fn apply(&self, fetched: Fetched) -> Fetched {
        let scope = if self.varies.load(Ordering::Relaxed) { Scope::Private } else { fetched.scope };
        Fetched { scope, is_hazardous: self.sets_cookies.load(Ordering::Relaxed), ..fetched }
    }
}

fn no_schema(member: &'static str, fault: &SchemaFault) -> Omission {
    Omission::Schema { member, why: fault.to_string() }
}

fn failure(error: WalkError<Failure>) -> Failure {
    match error {
        WalkError::Fetch(failure) => failure,
        WalkError::Page(error) => Failure::BrokeOff(error.to_string()),
    }
}

fn said(error: OwnError) -> Failure {
    match error {
        OwnError::Unreachable => Failure::Unreachable,
        OwnError::Late(_) => Failure::Silent,
        OwnError::Unauthorized { status, challenge } => Failure::Unauthorized { status, challenge },
        OwnError::Refused { code, message } => Failure::Said { code, message },
        other => Failure::BrokeOff(other.to_string()),
    }
}
