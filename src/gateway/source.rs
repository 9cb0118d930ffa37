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
use crate::upstream::{OwnAnswer, OwnError, OwnRequest, Pool};

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
        match question {
            Question::List(kind) => self.fetch_list(kind, ask).await,
            Question::About => self.fetch_about(ask).await,
        }
    }

    async fn fetch_about(&self, ask: &Ask) -> Result<Fetched, Failure> {
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
    async fn page(&self, question: Question, ask: &Ask, next: Next) -> Result<Arrived, Failure> {
        let pool = self.pool(self.lists_pool).ok_or(Failure::Unreachable)?;
        let headers = self.credentials.for_own_request(&ask.credentials);
        let mut params = serde_json::Map::new();
        params.extend(next.cursor.map(|cursor| ("cursor".to_owned(), cursor.into())));
        let (method, capabilities) = (question.method().label(), ask.variant.capabilities());
        let request = OwnRequest { method, params, capabilities, headers: &headers, max_bytes: next.max_bytes };
        let OwnAnswer { result, headers } = self.ask_in_turn(pool, &request).await.map_err(said)?;
        Ok(Arrived { result, received: Instant::now(), hazards: Hazards::of(&headers, self.credentials.names()) })
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
