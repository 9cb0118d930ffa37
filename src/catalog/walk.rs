//! Walking all pages of a server's list, within bounds.
//!
//! Where a bound strikes, what came before it is kept and marked as cut: nothing is lost silently.

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::kind::Kind;
use super::list::{Cut, MAX_BYTES, MAX_ITEMS};
use super::page::{Page, PageError};
use crate::protocol::Scope;

pub const MAX_PAGES: usize = 1_000;

/// All pages, and how long they hold together.
#[derive(Debug)]
pub struct Walked {
    pub pages: Vec<Page>,
    pub freshness: Freshness,
    pub cut: Option<Cut>,
}

/// How long a walked list holds, for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// When the first page came.
    pub received: Instant,
    /// Until the first of its pages expires, counted from `received`.
    pub ttl: Duration,
    pub scope: Scope,
}

/// Why a list could not be walked at all.
#[derive(Debug, thiserror::Error)]
pub enum WalkError<E> {
    #[error("{0}")]
    Fetch(E),
    #[error("a page cannot be read: {0}")]
    Page(#[from] PageError),
}

/// Walks a list from its first page to its last; `fetch` gets the result of one by its cursor, and when it came.
pub async fn walk<E, F>(kind: Kind, mut fetch: impl FnMut(Option<String>) -> F) -> Result<Walked, WalkError<E>>
where
    F: Future<Output = Result<(Bytes, Instant), E>>,
{
    let (result, received) = fetch(None).await.map_err(WalkError::Fetch)?;
    let mut walk = Walk::begin(Page::read(kind, &result)?, received);
    walk.bytes += result.len();
    while let Some(cursor) = walk.next() {
        let (result, received) = fetch(Some(cursor)).await.map_err(WalkError::Fetch)?;
        walk.bytes += result.len();
        walk.add(Page::read(kind, &result)?, received);
    }
    Ok(walk.walked)
}

/// How far a list was walked.
struct Walk {
    walked: Walked,
    next: Option<String>,
    cursors: HashSet<String>,
    items: usize,
    bytes: usize,
}

impl Walk {
    fn begin(first: Page, received: Instant) -> Self {
        let freshness = Freshness { received, ttl: first.ttl, scope: first.scope };
        let walked = Walked { pages: Vec::new(), freshness, cut: None };
        let mut walk = Self { walked, next: None, cursors: HashSet::new(), items: 0, bytes: 0 };
        walk.add(first, received);
        walk
    }

    fn add(&mut self, mut page: Page, received: Instant) {
        self.walked.freshness.narrow(&page, received);
        self.items += page.items.len();
        self.next = page.next_cursor.take();
        self.walked.pages.push(page);
    }

    /// The cursor of the next page, unless a bound strikes before it.
    fn next(&mut self) -> Option<String> {
        let next = self.next.take()?;
        self.walked.cut = match () {
            () if self.walked.pages.len() >= MAX_PAGES => Some(Cut::Pages),
            () if self.items >= MAX_ITEMS => Some(Cut::Items),
            () if self.bytes >= MAX_BYTES => Some(Cut::Bytes),
            () if !self.cursors.insert(next.clone()) => Some(Cut::Repeats),
            () => None,
        };
        self.walked.cut.is_none().then_some(next)
    }
}

impl Freshness {
    /// "Each page has its own ttlMs": the one that expires first counts, and the narrowest scope.
    fn narrow(&mut self, page: &Page, received: Instant) {
        let left = received.saturating_duration_since(self.received).saturating_add(page.ttl);
        self.ttl = if page.ttl.is_zero() { Duration::ZERO } else { self.ttl.min(left) };
        if page.scope == Scope::Private {
            self.scope = Scope::Private;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Walks pages that lead to each other by their places; each takes a second.
    async fn walked(pages: &[Value]) -> Result<Walked, WalkError<()>> {
        walk(Kind::Tools, |cursor| {
            let place = cursor.map_or(0, |cursor| cursor.parse().unwrap_or(0_usize));
            async move {
                tokio::time::advance(Duration::from_secs(1)).await;
                pages.get(place).map(|page| (Bytes::from(page.to_string()), Instant::now())).ok_or(())
            }
        })
        .await
    }

    fn names(walked: &Walked) -> Vec<String> {
        let items = walked.pages.iter().flat_map(|page| &page.items);
        let name = |item: &Bytes| serde_json::from_slice::<Value>(item).unwrap()["name"].as_str().unwrap().to_owned();
        items.map(name).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn all_pages_are_walked_and_the_first_to_expire_and_the_narrowest_scope_count() {
        let pages = [
            json!({ "tools": [{ "name": "a" }], "nextCursor": "1", "ttlMs": 5000, "cacheScope": "public" }),
            json!({ "tools": [{ "name": "b" }], "nextCursor": "2", "ttlMs": 4500, "cacheScope": "private" }),
            json!({ "tools": [{ "name": "c" }], "ttlMs": 60_000, "cacheScope": "public" }),
        ];
        let walked = walked(&pages).await.unwrap();
        assert_eq!((names(&walked), walked.cut), (vec!["a".into(), "b".into(), "c".into()], None));
        let freshness = walked.freshness;
        // The second page came a second after the first, but the first expires before it.
        assert_eq!((freshness.ttl, freshness.scope), (Duration::from_secs(5), Scope::Private));
        assert_eq!(freshness.received.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn one_page_without_a_lifetime_leaves_none_to_the_list() {
        let pages = [
            json!({ "tools": [], "nextCursor": "1", "ttlMs": 5000, "cacheScope": "public" }),
            json!({ "tools": [], "ttlMs": 0, "cacheScope": "public" }),
        ];
        let freshness = walked(&pages).await.unwrap().freshness;
        assert_eq!((freshness.ttl, freshness.scope), (Duration::ZERO, Scope::Public));
    }

    #[tokio::test(start_paused = true)]
    async fn an_empty_cursor_goes_on_and_a_repeated_one_cuts_the_list() {
        let pages = [json!({ "tools": [{ "name": "a" }], "nextCursor": "" })];
        let cut = walked(&pages).await.unwrap();
        assert_eq!((names(&cut).len(), cut.cut), (2, Some(Cut::Repeats)));
        let pages =
            [json!({ "tools": [{ "name": "a" }], "nextCursor": "1" }), json!({ "tools": [], "nextCursor": "1" })];
        assert_eq!(walked(&pages).await.unwrap().cut, Some(Cut::Repeats));
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_without_end_is_cut_by_pages_items_and_bytes() {
        let page = |place: usize, items: Vec<Value>| json!({ "tools": items, "nextCursor": (place + 1).to_string() });
        let pages: Vec<_> = (0..MAX_PAGES + 10).map(|place| page(place, vec![])).collect();
        let cut = walked(&pages).await.unwrap();
        assert_eq!((cut.pages.len(), cut.cut), (MAX_PAGES, Some(Cut::Pages)));
        let many: Vec<_> = (0..MAX_ITEMS / 2).map(|_| json!({})).collect();
        let pages: Vec<_> = (0..4).map(|place| page(place, many.clone())).collect();
        let cut = walked(&pages).await.unwrap();
        assert_eq!((cut.pages.len(), cut.cut), (2, Some(Cut::Items)));
        let large = json!({ "name": "x".repeat(MAX_BYTES / 2) });
        let pages: Vec<_> = (0..4).map(|place| page(place, vec![large.clone()])).collect();
        let cut = walked(&pages).await.unwrap();
        assert_eq!((cut.pages.len(), cut.cut), (2, Some(Cut::Bytes)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_is_missing_or_unreadable_loses_the_list() {
        let first = json!({ "tools": [], "nextCursor": "1" });
        assert!(matches!(walked(std::slice::from_ref(&first)).await, Err(WalkError::Fetch(()))));
        assert!(matches!(walked(&[first, json!({ "prompts": [] })]).await, Err(WalkError::Page(_))));
    }
}
