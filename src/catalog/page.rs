//! One page of a list, as its server wrote it.
//!
//! Items stay raw bytes of the answer: nothing is copied, nothing is parsed twice. Must never take a page for whole that
//! could be read in two ways.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::freshness::Freshness;
use super::kind::Kind;

/// The result of one list request.
#[derive(Debug)]
pub struct Page {
    /// Each item's JSON text.
    pub items: Vec<Bytes>,
    /// Any string, the empty one included; only its absence ends the list.
    pub next_cursor: Option<String>,
    pub freshness: Freshness,
    /// The result's own `_meta`, as it was written.
    pub meta: Option<Bytes>,
}

/// Why a result is no page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error("the result is no list: {0}")]
    Unreadable(String),
    #[error("the result has no array \"{0}\"")]
    NoItems(&'static str),
    #[error("the result is not complete but {0}")]
    Incomplete(String),
    #[error("the nextCursor is no string")]
    Cursor,
}

/// A member that stands twice is an error here.
#[derive(Deserialize)]
struct Raw<'r> {
    #[serde(borrow)]
    tools: Option<Vec<&'r RawValue>>,
    #[serde(borrow)]
    prompts: Option<Vec<&'r RawValue>>,
    #[serde(borrow)]
    resources: Option<Vec<&'r RawValue>>,
    #[serde(borrow, rename = "resourceTemplates")]
    templates: Option<Vec<&'r RawValue>>,
    #[serde(borrow, rename = "nextCursor")]
    next_cursor: Option<&'r RawValue>,
    #[serde(borrow, rename = "ttlMs")]
    ttl_ms: Option<&'r RawValue>,
    #[serde(borrow, rename = "cacheScope")]
    scope: Option<&'r RawValue>,
    #[serde(borrow, rename = "resultType")]
    result_type: Option<&'r RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'r RawValue>,
}

impl Page {
    /// Reads the `result` of one response.
    pub fn read(kind: Kind, result: &Bytes, received: Instant) -> Result<Self, PageError> {
        let raw: Raw<'_> = serde_json::from_slice(result).map_err(|error| PageError::Unreadable(error.to_string()))?;
        if let Some(other) = raw.result_type.and_then(text).filter(|kind| kind != "complete") {
            return Err(PageError::Incomplete(crate::protocol::quote(&other)));
        }
        let items = match kind {
            Kind::Tools => raw.tools,
            Kind::Prompts => raw.prompts,
            Kind::Resources => raw.resources,
            Kind::Templates => raw.templates,
        };
        let slice = |raw: &RawValue| result.slice_ref(raw.get().as_bytes());
        let next_cursor = match raw.next_cursor {
            None => None,
            Some(cursor) if cursor.get() == "null" => None,
            Some(cursor) => Some(text(cursor).ok_or(PageError::Cursor)?),
        };
        Ok(Self {
            items: items.ok_or(PageError::NoItems(kind.member()))?.into_iter().map(slice).collect(),
            next_cursor,
            freshness: Freshness::claimed(received, raw.ttl_ms, raw.scope),
            meta: raw.meta.filter(|meta| meta.get().starts_with('{') && is_object(meta.get())).map(slice),
        })
    }
}

fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// An object of which nothing is kept.
#[derive(Deserialize)]
struct Members {}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<Members>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Scope;
    use std::time::Duration;

    fn read(text: &str) -> Result<Page, PageError> {
        Page::read(Kind::Tools, &Bytes::copy_from_slice(text.as_bytes()), Instant::now())
    }

    #[test]
    fn items_are_the_servers_own_bytes() {
        let page = read(r#"{"tools": [ {"b":1.0, "name":"x"} ,{}], "_meta" : {"a" : 1}, "nextCursor":""}"#).unwrap();
        assert_eq!(page.items, [&br#"{"b":1.0, "name":"x"}"#[..], b"{}"]);
        assert_eq!(page.meta.unwrap(), &br#"{"a" : 1}"#[..]);
        assert_eq!(page.next_cursor.as_deref(), Some(""));
        assert_eq!((page.freshness.ttl, page.freshness.scope), (Duration::ZERO, Scope::Private));
    }

    #[test]
    fn times_and_scopes_that_are_not_lawful_count_as_none() {
        for (ttl, expected) in [
            ("5000", 5000),
            ("0", 0),
            ("-1", 0),
            ("1.5", 0),
            ("1e3", 0),
            ("\"7\"", 0),
            ("null", 0),
            ("99999999999999999999999", u64::MAX),
        ] {
            let page = read(&format!(r#"{{"tools":[],"ttlMs":{ttl},"cacheScope":"public"}}"#)).unwrap();
            assert_eq!(page.freshness.ttl, Duration::from_millis(expected), "{ttl}");
            assert_eq!(page.freshness.scope, Scope::Public);
        }
        for scope in ["\"Public\"", "\"private\"", "true", "null", "[\"public\"]"] {
            let page = read(&format!(r#"{{"tools":[],"cacheScope":{scope}}}"#)).unwrap();
            assert_eq!(page.freshness.scope, Scope::Private, "{scope}");
        }
    }

    #[test]
    fn what_is_no_page_is_an_error() {
        assert!(matches!(read(r#"{"prompts":[]}"#), Err(PageError::NoItems("tools"))));
        assert!(matches!(read(r#"{"tools":{}}"#), Err(PageError::Unreadable(_))));
        assert!(matches!(read(r#"{"tools":[],"tools":[]}"#), Err(PageError::Unreadable(_))));
        assert!(matches!(read(r#"{"tools":[],"nextCursor":1}"#), Err(PageError::Cursor)));
        assert!(matches!(read(r#"{"tools":[],"resultType":"input_required"}"#), Err(PageError::Incomplete(_))));
        assert!(read(r#"{"tools":[],"resultType":"complete","nextCursor":null}"#).is_ok());
    }
}
