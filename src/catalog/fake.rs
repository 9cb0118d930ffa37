//! A server for tests: what it says is a function, what it was asked is remembered.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::cache::Source;
use super::freshness::{Freshness, Hazards};
use super::kind::Kind;
use super::list::List;
use super::offer::{Ask, Content, Failure, Fetched, Listed, Question};
use super::page::Page;
use super::rules::Caller;
use super::variants::Variant;
use crate::protocol::Scope;

/// What a server says of its tools.
#[derive(Clone, Debug)]
pub struct Said {
    pub names: Vec<String>,
    pub ttl: Duration,
    pub scope: Scope,
    pub is_hazardous: bool,
    pub after: Duration,
}

impl Said {
    pub fn new(names: &[&str], ttl: u64, scope: Scope) -> Self {
        Self {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            ttl: Duration::from_secs(ttl),
            scope,
            is_hazardous: false,
            after: Duration::from_millis(10),
        }
    }

    pub fn public(names: &[&str], ttl: u64) -> Self {
        Self::new(names, ttl, Scope::Public)
    }

    pub fn private(names: &[&str], ttl: u64) -> Self {
        Self::new(names, ttl, Scope::Private)
    }

    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    fn fetched(&self) -> Fetched {
        let freshness = Freshness { received: Instant::now(), ttl: self.ttl, scope: self.scope };
        let mut headers = HeaderMap::new();
        if self.is_hazardous {
            headers.insert(SET_COOKIE, HeaderValue::from_static("a=b"));
        }
        Fetched { content: tools(&self.names), freshness, hazards: Hazards::of(&headers, &[]) }
    }
}

type Script = dyn Fn(&Ask) -> Result<Said, Failure> + Send;

pub struct Fake {
    script: Mutex<Box<Script>>,
    asked: Mutex<Vec<Option<Caller>>>,
}

impl fmt::Debug for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fake").finish_non_exhaustive()
    }
}

impl Fake {
    pub fn new(script: impl Fn(&Ask) -> Result<Said, Failure> + Send + 'static) -> Arc<Self> {
        Arc::new(Self { script: Mutex::new(Box::new(script)), asked: Mutex::default() })
    }

    pub fn says(said: Said) -> Arc<Self> {
        Self::new(move |_| Ok(said.clone()))
    }

    pub fn now(&self, script: impl Fn(&Ask) -> Result<Said, Failure> + Send + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }

    pub fn fetches(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// For whom it was asked, in order.
    pub fn asked(&self) -> Vec<Option<Caller>> {
        self.asked.lock().unwrap().clone()
    }
}

impl Source for Fake {
    fn fetch(self: Arc<Self>, _question: Question, ask: Ask) -> BoxFuture<'static, Result<Fetched, Failure>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(ask.caller);
            // What a server says is decided when it is asked, however long it takes to say it.
            let said = (self.script.lock().unwrap())(&ask);
            tokio::time::sleep(said.as_ref().map_or(Duration::from_millis(10), |said| said.after)).await;
            said.map(|said| said.fetched())
        })
    }
}

/// A list of tools with these names.
pub fn tools(names: &[impl AsRef<str>]) -> Content {
    let items: Vec<Value> = names.iter().map(|name| json!({ "name": name.as_ref() })).collect();
    Content::List(Arc::new(Listed { list: Arc::new(list(Kind::Tools, &items)), tools: None }))
}

/// A list of these items, all lawful.
pub fn list(kind: Kind, items: &[Value]) -> List {
    let page = Bytes::from(json!({ kind.member(): items }).to_string());
    List::build(kind, vec![Page::read(kind, &page, Instant::now()).unwrap()], None, |_, _| Ok(()))
}

pub fn ask(caller: Option<Caller>) -> Ask {
    Ask { caller, credentials: Arc::default(), variant: Variant::own() }
}
