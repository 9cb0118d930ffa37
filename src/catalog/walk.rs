//! Walking all pages of a server's list, within bounds.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::index::RuleSet;
use super::rules::{self, PageError, Scope, ToolRules, Tools, Unlawful};
use crate::agreement::Plan;

const MAX_PAGES: usize = 1_000;
const MAX_TOOLS: usize = 100_000;

/// Why a list could not be walked to its end.
#[derive(Debug, thiserror::Error)]
pub enum WalkError<E> {
    #[error("{0}")]
    Fetch(E),
    #[error("a page of the list cannot be read: {0}")]
    Page(#[from] PageError),
    #[error("the list repeats the cursor of an earlier page")]
    Repeats,
    #[error("the list has more than {MAX_PAGES} pages or {MAX_TOOLS} tools")]
    TooLong,
}

/// Walks `tools/list` from its first page to its last; `fetch` gets a page's result by its cursor.
pub async fn tool_rules<E, F>(mut fetch: impl FnMut(Option<String>) -> F) -> Result<RuleSet, WalkError<E>>
where
    F: Future<Output = Result<Value, E>>,
{
    let mut walk = Walk::default();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let result = fetch(cursor.take()).await.map_err(WalkError::Fetch)?;
        match walk.take(&result)? {
            None => return Ok(walk.set()),
            Some(next) if !walk.cursors.insert(next.clone()) => return Err(WalkError::Repeats),
            Some(next) => cursor = Some(next),
        }
        if walk.tools.len() > MAX_TOOLS {
            break;
        }
    }
    Err(WalkError::TooLong)
}

#[derive(Default)]
struct Walk {
    tools: Tools,
    cursors: HashSet<String>,
    /// The shortest that any page claimed.
    ttl: Option<Duration>,
    is_private: bool,
}

impl Walk {
    fn take<E>(&mut self, result: &Value) -> Result<Option<String>, WalkError<E>> {
        let page = rules::page(result)?;
        self.tools.append(page.tools);
        let ttl = Duration::from_millis(page.ttl_ms);
        self.ttl = Some(self.ttl.map_or(ttl, |shortest| shortest.min(ttl)));
        // Without the word `public` nothing is shared.
        self.is_private |= page.scope != Scope::Public;
        Ok(page.next_cursor)
    }

    fn set(self) -> RuleSet {
        RuleSet {
            tools: self.tools.iter().map(|(name, rules)| (name.to_owned(), plan(rules))).collect(),
            list_ttl: self.ttl.unwrap_or_default(),
            is_public: !self.is_private,
            fetched: Instant::now(),
        }
    }
}

fn plan(rules: &Result<ToolRules, Unlawful>) -> Result<Arc<Plan>, Unlawful> {
    rules.as_ref().map(Plan::for_tool).map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    async fn walk(pages: Vec<Value>) -> Result<RuleSet, WalkError<()>> {
        let pages = &pages;
        tool_rules(|cursor| {
            let index = cursor.map_or(0, |cursor| cursor.parse::<usize>().unwrap_or(0));
            async move { pages.get(index).cloned().ok_or(()) }
        })
        .await
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
