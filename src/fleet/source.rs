//! Where the catalog's answers come from: a server's lists and what it says of itself, fetched within bounds.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::server::Server;
use crate::catalog::RuleSet;
use crate::catalog::about::About;
use crate::catalog::cache::Source;
use crate::catalog::freshness::Hazards;
use crate::catalog::kind::Kind;
use crate::catalog::list::MAX_BYTES;
use crate::catalog::offer::{Ask, Content, Failure, Fetched, Listed, Question};
use crate::catalog::walk::{self, Arrived, Next, WalkError, Walked};
use crate::upstream::{OwnAnswer, OwnConnection, OwnError, OwnRequest, Way};
use crate::wire::dial::staggered;

impl Source for Server {
    fn fetch(self: Arc<Self>, question: Question, ask: Ask) -> BoxFuture<'static, Result<Fetched, Failure>> {
        Box::pin(async move {
            let fetched = tokio::time::timeout(self.list_time, self.fetch_now(question, &ask)).await;
            let fetched = fetched.unwrap_or(Err(Failure::Silent));
            self.metrics.catalog.fetch(question.method(), fetched.is_ok());
            if question == Question::List(Kind::Tools) {
                self.note_rules(&ask, fetched.as_ref().ok());
            }
            if let Err(failure) = &fetched
                && !failure.is_no_method()
            {
                let why = failure.for_operator();
                log::warn!("{} of server {} cannot be had: {why}", question.method().label(), self.name);
            }
            fetched
        })
    }
}

impl Server {
    async fn fetch_now(self: &Arc<Self>, question: Question, ask: &Ask) -> Result<Fetched, Failure> {
        // A list may be large; who waits here waits within the list's time.
        let _walk = self.walks.acquire().await;
        match question {
            Question::List(kind) => self.fetch_list(kind, ask).await,
            Question::About => self.fetch_about(ask).await,
        }
    }

    async fn fetch_about(self: &Arc<Self>, ask: &Ask) -> Result<Fetched, Failure> {
        let arrived = self.page(Question::About, ask, Next { cursor: None, max_bytes: MAX_BYTES }).await?;
        let (about, freshness) =
            About::read(&arrived.result, arrived.received).map_err(|error| Failure::BrokeOff(error.to_string()))?;
        Ok(Fetched { content: Content::About(Arc::new(about)), freshness, hazards: arrived.hazards })
    }

    async fn fetch_list(self: &Arc<Self>, kind: Kind, ask: &Ask) -> Result<Fetched, Failure> {
        let walked = walk::walk(kind, |next| self.page(Question::List(kind), ask, next)).await.map_err(failure)?;
        let (freshness, hazards) = (walked.freshness, walked.hazards);
        let listed = self.read(kind, walked).await?;
        Ok(Fetched { content: Content::List(Arc::new(listed)), freshness, hazards })
    }

    /// Off the threads that serve requests: a list may be large.
    async fn read(self: &Arc<Self>, kind: Kind, walked: Walked) -> Result<Listed, Failure> {
        let server = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || server.reading.list(kind, walked, &server.rules)).await;
        let listed = read.map_err(|_| Failure::BrokeOff("the list could not be put together".into()))?;
        if let Some(cut) = listed.list.cut() {
            log::warn!("{} of server {} is cut short: {cut}", kind.method().label(), self.name);
        }
        self.omissions.note(&self.name, kind.method(), listed.list.left_out().iter());
        Ok(listed)
    }

    /// What a list says of its tools holds for calls too, whoever asked for it.
    fn note_rules(&self, ask: &Ask, fetched: Option<&Fetched>) {
        let now = Instant::now();
        match fetched.and_then(|fetched| RuleSet::of(fetched, ask.variant.digest())) {
            Some(set) => self.rules.learn(ask.caller, set, now),
            None => self.rules.fail(ask.caller, now),
        }
    }

    /// One page, or the one answer.
    async fn page(self: &Arc<Self>, question: Question, ask: &Ask, next: Next) -> Result<Arrived, Failure> {
        let headers = self.credentials.for_own_request(&ask.credentials);
        let mut params = serde_json::Map::new();
        params.extend(next.cursor.map(|cursor| ("cursor".to_owned(), cursor.into())));
        let (method, capabilities) = (question.method().label(), ask.variant.capabilities());
        let request = OwnRequest { method, params, capabilities, headers: &headers, max_bytes: next.max_bytes };
        let connection = self.connect_for_lists().await?;
        let OwnAnswer { result, headers } = self.client.result(connection, &request).await.map_err(said)?;
        Ok(Arrived { result, received: Instant::now(), hazards: Hazards::of(&headers, self.credentials.names()) })
    }

    /// Connects an endpoint of the pool for lists. Many may wait for this one request: while an endpoint does not take the
    /// connection, the next one is tried beside it (as RFC 8305 does with addresses).
    async fn connect_for_lists(self: &Arc<Self>) -> Result<OwnConnection<'_>, Failure> {
        let mut tried = Vec::new();
        let mut way = Way::default();
        let attempts = || {
            let endpoint = self.next_endpoint(self.lists_pool, &mut way)?;
            let mut attempt = way.pass();
            Some(async move {
                match self.client.connect(endpoint).await {
                    Ok(connection) => {
                        self.endpoint_connected(self.lists_pool, &attempt);
                        Ok(connection)
                    }
                    Err(error) => {
                        self.endpoint_failed(self.lists_pool, &mut attempt, &error);
                        Err(format!("{}: {error}", endpoint.label()))
                    }
                }
            })
        };
        staggered(attempts, |why| tried.push(why)).await.ok_or(Failure::Unreachable { tried })
    }
}

fn failure(error: WalkError<Failure>) -> Failure {
    match error {
        WalkError::Fetch(failure) => failure,
        WalkError::Page(error) => Failure::BrokeOff(error.to_string()),
    }
}

fn said(error: OwnError) -> Failure {
    match error {
        OwnError::Unauthorized { status, challenge } => Failure::Unauthorized { status, challenge },
        OwnError::Refused { code, message } => Failure::Said { code, message },
        other => Failure::BrokeOff(other.to_string()),
    }
}
