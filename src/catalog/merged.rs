//! The answers of several servers as one, kept so that the next caller costs one copy.
//!
//! Knows when parts make a whole, for whom it holds and until when. Must never be given to anyone but those for whom
//! all of its parts hold.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::about;
use super::cache::{Cache, Got, How, Source};
use super::cursor::Cursor;
use super::offer::{Ask, Content, Failure, Offer, Question};
use super::omission::LeftOut;
use super::rules::Caller;
use super::store::{MergedKey, Store, Whose};
use super::variants::{Admission, Variant, Variants};
use super::view::{self, Names, Naming, Part, Shown, Uris, View};
use crate::protocol::Scope;

/// A merge of more bytes than this is worth a thread of its own, and a queue.
const LARGE: usize = 1024 * 1024;
const LARGE_AT_ONCE: usize = 2;

/// A server, as the catalog knows it.
#[derive(Debug)]
pub struct Member {
    pub name: Arc<str>,
    /// Its place in the configuration.
    pub position: usize,
    pub cache: Arc<Cache>,
    pub shown: Shown,
    pub uris: Uris,
    /// Without it there is no answer.
    pub is_required: bool,
}

/// A server that is asked, by whom and how.
#[derive(Debug)]
pub struct Party<S> {
    pub member: Arc<Member>,
    pub names: Names,
    pub ask: Ask,
    pub source: Arc<S>,
}

/// What is wanted, at which door, by whom.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The server whose own endpoint it is; `None` for the merged one.
    pub door: Option<usize>,
    pub question: Question,
    pub variant: Variant,
    /// Of all credentials that go to any server behind the door.
    pub caller: Option<Caller>,
    pub after: Option<Cursor>,
}

/// An answer, ready but for the caller's id.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The result, up to where the digits of `ttlMs` go.
    pub result: Bytes,
    pub ttl_ms: u64,
    pub how: How,
    pub merged: Arc<Merged>,
}

/// Why there is no answer at all.
#[derive(Clone, Debug)]
pub enum NoListing {
    /// Too many kinds of clients.
    Overloaded,
    /// No server has such a method.
    NoMethod,
    /// A required server, or every server: the first, and why.
    Failed { server: Arc<str>, failure: Arc<Failure>, all_unauthorized: bool },
}

/// A merged answer, and until when it holds.
#[derive(Debug)]
pub struct Merged {
    rendered: Arc<Rendered>,
    expires: Instant,
    epoch: u64,
    whose: Whose,
}

/// What was put together.
#[derive(Debug)]
pub struct Rendered {
    contents: Vec<Content>,
    scope: Scope,
    /// Servers that did not answer.
    pub unavailable: Vec<Arc<str>>,
    /// `None` for `server/discover`.
    pub view: Option<View>,
    first: Bytes,
}

/// All that is kept, and how it is put together.
#[derive(Debug)]
pub struct Catalog {
    pub store: Arc<Store>,
    pub variants: Variants,
    pub naming: Arc<Naming>,
    pub page_size: Option<NonZeroUsize>,
    pub partial_ttl: Duration,
    large: Semaphore,
}

impl Member {
    /// Whether the configuration shows this tool.
    pub fn shows(&self, tool: &str) -> bool {
        self.shown.shows(tool)
    }
}

impl Catalog {
    pub fn new(store: Arc<Store>, naming: Naming, page_size: Option<NonZeroUsize>, partial_ttl: Duration) -> Self {
        let (variants, naming) = (Variants::new(store.clock()), Arc::new(naming));
        Self { store, variants, naming, page_size, partial_ttl, large: Semaphore::new(LARGE_AT_ONCE) }
    }

    /// The answer to `wanted`; `parties` says who is asked if it is not at hand.
    pub async fn listing<S: Source>(
        &self,
        wanted: &Wanted,
        parties: impl FnOnce() -> Vec<Party<S>>,
    ) -> Result<Listing, NoListing> {
        let admission = match self.variants.admit(&wanted.variant) {
            Admission::Refused => return Err(NoListing::Overloaded),
            admission => admission,
        };
        if admission == Admission::Kept
            && let Some(merged) = self.fresh(wanted)
        {
            return Ok(self.listing_of(merged, wanted, How::Hit));
        }
        let epoch = self.store.epoch();
        let parties = parties();
        let asked =
            parties.iter().map(|party| party.member.cache.get(wanted.question, &party.ask, admission, &party.source));
        let gots = futures::future::join_all(asked).await;
        let parts = Parts::new(&parties, gots)?;
        let how = parts.how();
        let is_kept = admission == Admission::Kept && parts.may_be_kept();
        let merged = Arc::new(self.merge(wanted, parts, epoch).await);
        if is_kept {
            self.store.merged.insert(merged_key(wanted, merged.whose), Arc::clone(&merged));
        }
        Ok(self.listing_of(merged, wanted, how))
    }

    fn fresh(&self, wanted: &Wanted) -> Option<Arc<Merged>> {
        let (epoch, now) = (self.store.epoch(), self.now());
        let get = |whose| self.store.merged.get(&merged_key(wanted, whose));
        let is_fresh = |merged: &Arc<Merged>| merged.epoch == epoch && merged.expires > now;
        get(Whose::Only(wanted.caller)).filter(is_fresh).or_else(|| get(Whose::Everyone).filter(is_fresh))
    }

    async fn merge(&self, wanted: &Wanted, parts: Parts, epoch: u64) -> Merged {
        let expires = parts.expires(self.now(), self.partial_ttl);
        let whose = if parts.scope == Scope::Public { Whose::Everyone } else { Whose::Only(wanted.caller) };
        let rendered = match self.same(wanted, whose, &parts) {
            Some(rendered) => rendered,
            None if parts.bytes() > LARGE => self.render_large(wanted, whose, parts).await,
            None => Arc::new(self.plan(wanted).render(parts)),
        };
        Merged { rendered, expires, epoch, whose }
    }

    /// What was put together before, if it was of the same parts.
    fn same(&self, wanted: &Wanted, whose: Whose, parts: &Parts) -> Option<Arc<Rendered>> {
        let before = self.store.merged.get(&merged_key(wanted, whose))?;
        before.rendered.is_of(parts).then(|| Arc::clone(&before.rendered))
    }

    async fn render_large(&self, wanted: &Wanted, whose: Whose, parts: Parts) -> Arc<Rendered> {
        // The semaphore is never closed.
        let _turn = self.large.acquire().await;
        if let Some(rendered) = self.same(wanted, whose, &parts) {
            return rendered;
        }
        let (plan, copy) = (self.plan(wanted), parts.clone());
        match tokio::task::spawn_blocking(move || plan.render(copy)).await {
            Ok(rendered) => Arc::new(rendered),
            Err(_) => Arc::new(self.plan(wanted).render(parts)),
        }
    }

    fn now(&self) -> Instant {
        self.store.clock()()
    }

    fn plan(&self, wanted: &Wanted) -> Plan {
        Plan { question: wanted.question, naming: Arc::clone(&self.naming), page_size: self.page_size }
    }

    fn listing_of(&self, merged: Arc<Merged>, wanted: &Wanted, how: How) -> Listing {
        let result = match (&wanted.after, &merged.rendered.view) {
            (Some(after), Some(view)) => merged.rendered.page(view, Some(after), self.page_size).into(),
            _ => merged.rendered.first.clone(),
        };
        let left = merged.expires.saturating_duration_since(self.now());
        Listing { result, ttl_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX), how, merged }
    }
}

fn merged_key(wanted: &Wanted, whose: Whose) -> MergedKey {
    MergedKey { door: wanted.door, question: wanted.question, variant: wanted.variant.digest(), whose }
}

/// How parts are put together.
#[derive(Debug)]
struct Plan {
    question: Question,
    naming: Arc<Naming>,
    page_size: Option<NonZeroUsize>,
}

impl Plan {
    fn render(&self, parts: Parts) -> Rendered {
        let contents = parts.contents();
        let Parts { pieces, unavailable, scope } = parts;
        let mut rendered = Rendered { contents, scope, unavailable, view: None, first: Bytes::new() };
        rendered.first = match self.question {
            Question::About => rendered.about(&pieces).into(),
            Question::List(kind) => {
                let listed = pieces.into_iter().filter_map(|Piece { member, names, offer, .. }| {
                    let list = Arc::clone(&offer.content.list()?.list);
                    let (server, shown, uris) = (Arc::clone(&member.name), member.shown.clone(), member.uris.clone());
                    Some(Part { server, position: member.position, names, list, shown, uris })
                });
                let view = View::merge(kind, listed.collect(), &self.naming);
                let first = rendered.page(&view, None, self.page_size).into();
                rendered.view = Some(view);
                first
            }
        };
        rendered
    }
}

impl Rendered {
    fn is_of(&self, parts: &Parts) -> bool {
        let pairs = || self.contents.iter().zip(&parts.pieces);
        self.scope == parts.scope
            && self.unavailable == parts.unavailable
            && self.contents.len() == parts.pieces.len()
            && pairs().all(|(content, piece)| content.is_same_copy(&piece.offer.content))
    }

    fn page(&self, view: &View, after: Option<&Cursor>, size: Option<NonZeroUsize>) -> Vec<u8> {
        let slice = view.page(after, size);
        view.render(&slice, &view::About { scope: self.scope, unavailable: &self.unavailable })
    }

    fn about(&self, pieces: &[Piece]) -> Vec<u8> {
        let all = pieces.iter().filter_map(|piece| match &piece.offer.content {
            Content::About(about) => Some((&*piece.member.name, &**about)),
            _ => None,
        });
        let unavailable: Vec<&str> = self.unavailable.iter().map(|name| &**name).collect();
        about::merged(&all.collect::<Vec<_>>(), &unavailable, self.scope.label())
    }
}

impl Rendered {
    /// What the view leaves out besides what the lists do, by server.
    pub fn left_out(&self) -> &[(Arc<str>, Vec<LeftOut>)] {
        self.view.as_ref().map(View::left_out).unwrap_or_default()
    }

    /// Whether a server's list was cut short.
    pub fn is_cut(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.cut().next().is_some())
    }
}

impl Merged {
    /// Bytes it takes, besides those of its parts.
    pub fn bytes(&self) -> usize {
        self.rendered.first.len() + self.rendered.view.as_ref().map_or(0, View::bytes)
    }

    pub fn rendered(&self) -> &Arc<Rendered> {
        &self.rendered
    }
}

/// One server's answer, as a part of a merged one.
#[derive(Clone, Debug)]
struct Piece {
    member: Arc<Member>,
    names: Names,
    offer: Arc<Offer>,
    how: How,
}

/// What the servers answered, if it makes an answer at all.
#[derive(Clone, Debug)]
struct Parts {
    pieces: Vec<Piece>,
    unavailable: Vec<Arc<str>>,
    /// Private as soon as one part is, or is missing: what these credentials lack, others may have.
    scope: Scope,
}

impl Parts {
    fn new<S>(parties: &[Party<S>], gots: Vec<Got>) -> Result<Self, NoListing> {
        let mut parts = Self { pieces: vec![], unavailable: vec![], scope: Scope::Public };
        let mut failures = Vec::new();
        for (party, got) in parties.iter().zip(gots) {
            match got {
                Got::Offer(offer, how) => parts.add(party, offer, how),
                Got::Failed(failure) => failures.push((&party.member, failure)),
            }
        }
        let has_something = parts.pieces.iter().any(|piece| !matches!(piece.offer.content, Content::Nothing));
        let required = failures.iter().find(|(member, _)| member.is_required);
        if let Some((member, failure)) = required.or_else(|| failures.first().filter(|_| !has_something)) {
            let all_unauthorized = failures.iter().all(|(_, failure)| failure.is_unauthorized());
            let (server, failure) = (Arc::clone(&member.name), Arc::clone(failure));
            return Err(NoListing::Failed { server, failure, all_unauthorized });
        }
        if !has_something {
            return Err(NoListing::NoMethod);
        }
        if !failures.is_empty() {
            parts.scope = Scope::Private;
            parts.unavailable = failures.into_iter().map(|(member, _)| Arc::clone(&member.name)).collect();
        }
        Ok(parts)
    }

    fn add<S>(&mut self, party: &Party<S>, offer: Arc<Offer>, how: How) {
        if offer.scope == Scope::Private {
            self.scope = Scope::Private;
        }
        let (member, names) = (Arc::clone(&party.member), party.names.clone());
        self.pieces.push(Piece { member, names, offer, how });
    }

    /// How the dearest part was come by.
    fn how(&self) -> How {
        self.pieces.iter().map(|piece| piece.how).max().unwrap_or(How::Hit)
    }

    fn may_be_kept(&self) -> bool {
        self.pieces.iter().all(|piece| piece.member.cache.keeps(&piece.offer))
    }

    fn contents(&self) -> Vec<Content> {
        self.pieces.iter().map(|piece| piece.offer.content.clone()).collect()
    }

    fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.offer.content.bytes()).sum()
    }

    /// When the first of the parts expires; soon, if one is stale or missing.
    fn expires(&self, now: Instant, partial_ttl: Duration) -> Instant {
        let whole = self.pieces.iter().filter(|piece| piece.how != How::Stale);
        let soon = now + partial_ttl;
        let first = whole.clone().map(|piece| piece.offer.expires).min().unwrap_or(soon);
        let is_partial = whole.count() < self.pieces.len() || !self.unavailable.is_empty();
        if is_partial { first.min(soon) } else { first }
    }
}

#[cfg(test)]
mod tests;
