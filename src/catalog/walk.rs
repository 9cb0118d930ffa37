//! Walking all pages of a server's list, within bounds.
//!
//! Where a bound strikes, what came before it is kept and marked as cut: nothing is lost silently.

use std::collections::HashSet;
use std::future::Future;

use bytes::Bytes;
use tokio::time::Instant;

use super::freshness::{Freshness, Hazards};
use super::kind::Kind;
use super::list::{Cut, MAX_BYTES, MAX_ITEMS};
use super::page::{Page, PageError};

pub const MAX_PAGES: usize = 1_000;

/// All pages, and how long they hold together.
#[derive(Debug)]
pub struct Walked {
    pub pages: Vec<Page>,
    pub freshness: Freshness,
    pub hazards: Hazards,
    pub cut: Option<Cut>,
}

/// What is asked for next.
#[derive(Debug)]
pub struct Next {
    /// `None`: the first page.
    pub cursor: Option<String>,
    /// Bytes that the page may have.
    pub max_bytes: usize,
}

/// A page that came.
#[derive(Debug)]
pub struct Arrived {
    pub result: Bytes,
    pub received: Instant,
    pub hazards: Hazards,
}

/// Why a list could not be walked at all.
#[derive(Debug, thiserror::Error)]
pub enum WalkError<E> {
    #[error("{0}")]
    Fetch(E),
    #[error("a page cannot be read: {0}")]
    Page(#[from] PageError),
}

/// Walks a list from its first page to its last; `fetch` gets one.
pub async fn walk<E, F>(kind: Kind, mut fetch: impl FnMut(Next) -> F) -> Result<Walked, WalkError<E>>
where
    F: Future<Output = Result<Arrived, E>>,
{
    let first = Next { cursor: None, max_bytes: MAX_BYTES };
    let mut walk = Walk::begin(kind, &fetch(first).await.map_err(WalkError::Fetch)?)?;
    while let Some(next) = walk.next() {
        walk.add(&fetch(next).await.map_err(WalkError::Fetch)?)?;
    }
    Ok(walk.walked)
}

/// How far a list was walked.
struct Walk {
    kind: Kind,
    walked: Walked,
    cursor: Option<String>,
    cursors: HashSet<String>,
    items: usize,
    bytes: usize,
}

impl Walk {
    fn begin(kind: Kind, first: &Arrived) -> Result<Self, PageError> {
        let bytes = first.result.len();
        let mut page = Page::read(kind, &first.result, first.received)?;
        let (items, cursor) = (page.items.len(), page.next_cursor.take());
        let walked = Walked { freshness: page.freshness, hazards: first.hazards, pages: vec![page], cut: None };
        Ok(Self { kind, walked, cursor, cursors: HashSet::new(), items, bytes })
    }

    fn add(&mut self, arrived: &Arrived) -> Result<(), PageError> {
        let mut page = Page::read(self.kind, &arrived.result, arrived.received)?;
        self.bytes += arrived.result.len();
        self.items += page.items.len();
        self.cursor = page.next_cursor.take();
        self.walked.freshness.narrow(&page.freshness);
        self.walked.hazards.add(arrived.hazards);
        self.walked.pages.push(page);
        Ok(())
    }

    /// The next page, unless there is none or a bound strikes before it.
    fn next(&mut self) -> Option<Next> {
        let cursor = self.cursor.take()?;
        self.walked.cut = match () {
            () if self.walked.pages.len() >= MAX_PAGES => Some(Cut::Pages),
            () if self.items >= MAX_ITEMS => Some(Cut::Items),
            () if self.bytes >= MAX_BYTES => Some(Cut::Bytes),
            () if !self.cursors.insert(cursor.clone()) => Some(Cut::Repeats),
            () => None,
        };
        let max_bytes = MAX_BYTES.saturating_sub(self.bytes);
        self.walked.cut.is_none().then_some(Next { cursor: Some(cursor), max_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Scope;
    use serde_json::{Value, json};
    use std::time::Duration;

    /// Walks pages that lead to each other by their places; each takes a second.
    async fn walked(pages: &[Value]) -> Result<Walked, WalkError<()>> {
        walk(Kind::Tools, |next| {
            let place = next.cursor.map_or(0, |cursor| cursor.parse().unwrap_or(0_usize));
            async move {
                tokio::time::advance(Duration::from_secs(1)).await;
                let page = pages.get(place).ok_or(())?;
                let (result, received) = (Bytes::from(page.to_string()), Instant::now());
                Ok(Arrived { result, received, hazards: Hazards::default() })
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
