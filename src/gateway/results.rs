//! A tool's results, checked against its output schema: logged and counted, never withheld.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use pingora::http::ResponseHeader;
use serde::Deserialize;
use serde_json::Value;

use super::exchange::Exchange;
use crate::catalog::schemas::Schemas;
use crate::fleet::Server;
use crate::protocol::quote;
use crate::protocol::sse::LastResponse;

/// Collects a result while it passes, as far as it may be looked at.
#[derive(Debug)]
pub struct ResultWatch {
    server: Arc<Server>,
    schemas: Arc<Schemas>,
    tool: String,
    reader: Reader,
    left: usize,
}

#[derive(Debug)]
enum Reader {
    Object(Vec<u8>),
    Events(Box<LastResponse>),
    /// It is too large, or cannot be read.
    GivenUp,
}

#[derive(Deserialize)]
struct Response {
    result: CallResult,
}

#[derive(Deserialize)]
struct CallResult {
    #[serde(rename = "structuredContent")]
    structured: Option<Value>,
    #[serde(rename = "isError", default)]
    is_error: bool,
}

impl ResultWatch {
    /// A watch on the answer with this head, where its tool's results are checked.
    pub fn of(head: &ResponseHeader, is_stream: bool, exchange: &Exchange) -> Option<Self> {
        let target = exchange.target.as_ref()?;
        let schemas = target.schemas.clone().filter(|schemas| schemas.output.is_some())?;
        if !head.status.is_success() || head.headers.contains_key(CONTENT_ENCODING) {
            return None;
        }
        let left = target.server.reading.validation.max_bytes;
        let reader = if is_stream { Reader::Events(Box::new(LastResponse::new(left))) } else { Reader::Object(vec![]) };
        let tool = exchange.head.as_ref()?.name()?.to_owned();
        Some(Self { server: Arc::clone(&target.server), schemas, tool, reader, left })
    }

    pub fn see(&mut self, chunk: Option<&Bytes>, is_end: bool) {
        if let Some(chunk) = chunk {
            self.take(chunk);
        }
        if is_end {
            self.check();
        }
    }

    fn take(&mut self, chunk: &Bytes) {
        let is_read = self.left >= chunk.len()
            && match &mut self.reader {
                Reader::Object(body) => {
                    body.extend_from_slice(chunk);
                    true
                }
                Reader::Events(events) => events.feed(chunk).is_ok(),
                Reader::GivenUp => false,
            };
        self.left = self.left.saturating_sub(chunk.len());
        if !is_read {
            self.reader = Reader::GivenUp;
        }
    }

    /// Off the request's way: the client has its answer.
    fn check(&mut self) {
        let body = match std::mem::replace(&mut self.reader, Reader::GivenUp) {
            Reader::Object(body) => body,
            Reader::Events(events) => events.finish().unwrap_or_default(),
            Reader::GivenUp => return,
        };
        let (server, schemas, tool) =
            (Arc::clone(&self.server), Arc::clone(&self.schemas), std::mem::take(&mut self.tool));
        tokio::task::spawn_blocking(move || {
            let Ok(Response { result }) = serde_json::from_slice(&body) else { return };
            // "Output Schema": what must conform is the structured result of a call that succeeded.
            let (Some(schema), Some(structured), false) = (&schemas.output, &result.structured, result.is_error) else {
                return;
            };
            if let Err(complaint) = schema.check(structured) {
                server.metrics.catalog.invalid_results.inc();
                log::warn!(
                    "server {}: a result of {} does not hold to its outputSchema at {}",
                    server.name,
                    quote(&tool),
                    complaint.places()
                );
            }
        });
    }
}
