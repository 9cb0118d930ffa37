//! What is asked of a server, what it answered, and for whom the answer holds.
//!
//! Values only. Must never hold a credential longer than the question that carries it.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;

use super::about::About;
use super::freshness::{Freshness, Hazards};
use super::kind::Kind;
use super::list::List;
use super::rules::{Caller, Tools};
use super::variants::Variant;
use crate::protocol::Scope;
use crate::protocol::{Method, code};

/// What can be asked of every server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    List(Kind),
    /// `server/discover`.
    About,
}

impl Question {
    /// What requests with this method ask.
    pub fn of(method: Method) -> Option<Self> {
        match method {
            Method::Discover => Some(Self::About),
            method => Kind::of(method).map(Self::List),
        }
    }

    pub fn method(self) -> Method {
        match self {
            Self::List(kind) => kind.method(),
            Self::About => Method::Discover,
        }
    }
}

/// Who asks, as one server sees it.
#[derive(Clone, Debug)]
pub struct Ask {
    /// `None` where no credentials go to this server: then all callers are one.
    pub caller: Option<Caller>,
    /// What is sent; what `caller` is a hash of.
    pub credentials: Arc<HeaderMap>,
    pub variant: Variant,
}

/// What a server answered.
#[derive(Clone, Debug)]
pub enum Content {
    List(Arc<Listed>),
    About(Arc<About>),
    /// It has no such method.
    Nothing,
}

/// A list, and for tools what their schemas demand of calls.
#[derive(Debug)]
pub struct Listed {
    pub list: Arc<List>,
    pub tools: Option<Tools>,
}

/// An answer as it was fetched, with what the server claims for it.
#[derive(Clone, Debug)]
pub struct Fetched {
    pub content: Content,
    pub freshness: Freshness,
    pub hazards: Hazards,
}

impl Fetched {
    /// To whom it may be given, whatever it claims.
    pub fn scope(&self) -> Scope {
        self.hazards.narrowed(self.freshness.scope)
    }
}

/// An answer, and until when it holds for whom.
#[derive(Debug)]
pub struct Offer {
    pub content: Content,
    pub received: Instant,
    pub expires: Instant,
    pub scope: Scope,
    /// The server's generation when it was asked; an older one is not fresh.
    pub generation: u64,
    /// It is not kept, and nobody else gets it.
    pub is_hazardous: bool,
}

/// Why a server did not answer. What it displays says nothing of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("the server cannot be reached")]
    Unreachable {
        /// Each endpoint that was tried and why it could not be connected, for an operator's eyes.
        tried: Vec<String>,
    },
    #[error("the server did not answer in time")]
    Silent,
    #[error("{0}")]
    BrokeOff(String),
    /// 401 or 403.
    #[error("the server wants other credentials (HTTP status {status})")]
    Unauthorized { status: u16, challenge: Option<String> },
    #[error("the server answered with the error {code}: {message}")]
    Said { code: i64, message: String },
    #[error("too many kinds of clients ask at once")]
    Overloaded,
}

impl Failure {
    /// The same for an operator, who may see addresses.
    pub fn for_operator(&self) -> String {
        match self {
            Self::Unreachable { tried } if !tried.is_empty() => tried.join("; "),
            other => other.to_string(),
        }
    }

    pub fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Unauthorized { .. })
    }

    /// Whether the server says that it has no such method.
    pub fn is_no_method(&self) -> bool {
        matches!(self, Self::Said { code, .. } if *code == i64::from(code::METHOD_NOT_FOUND))
    }
}

impl Content {
    /// Whether it says the same, so that the older copy can stay.
    pub fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(one), Self::List(other)) => one.list.same_content(&other.list),
            (Self::About(one), Self::About(other)) => one == other,
            (Self::Nothing, Self::Nothing) => true,
            _ => false,
        }
    }

    pub fn is_same_copy(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(one), Self::List(other)) => Arc::ptr_eq(one, other),
            (Self::About(one), Self::About(other)) => Arc::ptr_eq(one, other),
            (Self::Nothing, Self::Nothing) => true,
            _ => false,
        }
    }

    /// Bytes it takes, for the cache's bound.
    pub fn bytes(&self) -> usize {
        match self {
            Self::List(listed) => listed.list.bytes(),
            Self::About(about) => about.bytes(),
            Self::Nothing => 0,
        }
    }

    pub fn list(&self) -> Option<&Listed> {
        match self {
            Self::List(listed) => Some(listed),
            _ => None,
        }
    }
}

impl Offer {
    pub fn is_fresh(&self, generation: u64, now: Instant) -> bool {
        self.generation == generation && self.expires > now
    }

    /// How long it claimed to hold when it was received.
    pub fn ttl(&self) -> Duration {
        self.expires.saturating_duration_since(self.received)
    }
}
