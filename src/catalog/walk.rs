//! Walking all pages of a server's list, within bounds.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::index::{Index, RuleSet};
use super::rules::{self, PageError, Scope, ToolRules, Tools, Unlawful};
use crate::agreement::{Declared, Plan};

const MAX_PAGES: usize = 1_000;

/// Why a list could not be walked to its end.
#[derive(Debug, thiserror::Error)]
pub enum WalkError<E> {
    #[error("{0}")]
    Fetch(E),
    #[error("the list repeats the cursor of an earlier page")]
    Repeats,
    #[error("the list has more than {MAX_PAGES} pages")]
    TooLong,
}

/// Walks a list from its first page to its last and gives each page's result; `fetch` gets one by its cursor and bounds
/// the bytes of all.
pub async fn pages<E, F>(mut fetch: impl FnMut(Option<String>) -> F) -> Result<Vec<Value>, WalkError<E>>
where
    F: Future<Output = Result<Value, E>>,
{
    let mut pages = Vec::new();
    let mut cursors = HashSet::new();
    let mut cursor = None;
    while pages.len() < MAX_PAGES {
        let page = fetch(cursor.take()).await.map_err(WalkError::Fetch)?;
        // Any string is a cursor, the empty one included; only its absence ends the list ("server/utilities/pagination").
        let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        pages.push(page);
        match next {
            None => return Ok(pages),
            Some(next) if !cursors.insert(next.clone()) => return Err(WalkError::Repeats),
            Some(next) => cursor = Some(next),
        }
    }
    Err(WalkError::TooLong)
}

/// The rules of all tools on these pages of `tools/list`, and what the configuration declares besides them.
pub fn rules(pages: &[Value], declared: &[Declared], index: &Index) -> Result<RuleSet, PageError> {
    let mut tools = Tools::default();
    let mut ttl = u64::MAX;
    let mut is_public = true;
    for page in pages {
        let page = rules::page(page)?;
        tools.append(page.tools);
        ttl = ttl.min(page.ttl_ms);
        // Without the word `public` nothing is shared.
        is_public &= page.scope == Scope::Public;
    }
    let said: Vec<Option<&Value>> = pages.iter().map(|page| page.get("tools")).collect();
    let plans = || tools.iter().map(|(name, rules)| (name.to_owned(), plan(rules, declared))).collect();
    Ok(RuleSet {
        tools: index.intern(&said, plans),
        list_ttl: Duration::from_millis(ttl),
        is_public,
        fetched: Instant::now(),
    })
}

fn plan(rules: &Result<ToolRules, Unlawful>, declared: &[Declared]) -> Result<Arc<Plan>, Unlawful> {
    rules.as_ref().map(|rules| Plan::for_tool(rules, declared)).map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    async fn walk(pages: Vec<Value>) -> Result<RuleSet, WalkError<()>> {
        let pages = &pages;
        let walked = super::pages(|cursor| {
            let index = cursor.map_or(0, |cursor| cursor.parse::<usize>().unwrap_or(0));
            async move { pages.get(index).cloned().ok_or(()) }
        });
        Ok(rules(&walked.await?, &[], &Index::new(Duration::ZERO)).unwrap())
    }

    fn tool(name: &str) -> Value {
        json!({ "name": name, "inputSchema": { "type": "object" } })
    }

    #[tokio::test]
    async fn all_pages_are_walked_and_the_shortest_lifetime_and_narrowest_scope_count() {
        let set = walk(vec![
            json!({ "tools": [tool("a")], "nextCursor": "1", "ttlMs": 5000, "cacheScope": "public" }),
            json!({ "tools": [tool("b")], "ttlMs": 3000, "cacheScope": "private" }),
        ])
        .await
        .unwrap();
        let mut names: Vec<_> = set.tools.keys().cloned().collect();
        names.sort();
        assert_eq!(names, ["a", "b"]);
        assert_eq!((set.list_ttl, set.is_public), (Duration::from_secs(3), false));
    }

    #[tokio::test]
    async fn an_empty_cursor_goes_on_and_a_repeated_one_ends_in_an_error() {
        let pages = vec![json!({ "tools": [], "nextCursor": "" })];
        assert!(matches!(walk(pages).await, Err(WalkError::Repeats)));
        let pages = vec![json!({ "tools": [], "nextCursor": "1" }), json!({ "tools": [], "nextCursor": "1" })];
        assert!(matches!(walk(pages).await, Err(WalkError::Repeats)));
    }

    #[tokio::test]
    async fn a_name_on_two_pages_is_nobody_s() {
        let set = walk(vec![json!({ "tools": [tool("a")], "nextCursor": "1" }), json!({ "tools": [tool("a")] })]).await;
        assert!(set.unwrap().tools["a"].is_err());
    }

    #[tokio::test]
    async fn a_missing_page_loses_the_list() {
        assert!(matches!(walk(vec![json!({ "tools": [], "nextCursor": "7" })]).await, Err(WalkError::Fetch(()))));
    }
}
