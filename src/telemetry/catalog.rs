//! What is counted of lists: how they were come by, what was fetched for them, what they lack.

use prometheus::{IntCounter, IntCounterVec, IntGauge, Registry};

use super::metrics::{by_method, counters, gauge};
use crate::catalog::cache::How;
use crate::protocol::Method;

#[derive(Debug)]
pub struct CatalogMetrics {
    fetches: IntCounterVec,
    left_out: IntCounterVec,
    partial: IntCounterVec,
    requests: Vec<[IntCounter; 5]>,
    invalid_arguments: IntCounterVec,
    invalid_results: IntCounterVec,
    entries: IntGauge,
    bytes: IntGauge,
}

/// One server's handles.
#[derive(Debug)]
pub struct ServerCatalogMetrics {
    pub invalid_arguments: IntCounter,
    pub invalid_results: IntCounter,
    /// By method; fetched and failed.
    fetches: Vec<(Method, [IntCounter; 2])>,
}

impl CatalogMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        let counter = |name: &str, help: &str, labels: &[&str]| counters(registry, name, help, labels);
        let requests = counter(
            "signpost_cache_requests_total",
            "Requests for lists, by how the dearest part of the answer was come by",
            &["method", "result"],
        )?;
        let of = |method: Method, how: How| requests.with_label_values(&[method.label(), how.label()]);
        Ok(Self {
            fetches: counter(
                "signpost_list_fetches_total",
                "Fetches of a server's list, all its pages, or of what it says of itself",
                &["method", "server", "result"],
            )?,
            left_out: counter(
                "signpost_list_items_left_out_total",
                "Items that are in no list of ours, by reason; each counts once",
                &["method", "server", "reason"],
            )?,
            partial: counter(
                "signpost_partial_lists_total",
                "Merged answers that lack a server, or a part of its list",
                &["method", "reason"],
            )?,
            requests: by_method(|method| How::ALL.map(|how| of(method, how))),
            invalid_arguments: counter(
                "signpost_invalid_arguments_total",
                "Calls that were not sent because their arguments do not hold",
                &["server"],
            )?,
            invalid_results: counter(
                "signpost_invalid_results_total",
                "Results that their tool's output schema does not allow",
                &["server"],
            )?,
            entries: gauge(registry, "signpost_cache_entries", "Answers that are kept, about")?,
            bytes: gauge(registry, "signpost_cache_bytes", "Bytes of the answers that are kept, about")?,
        })
    }

    pub(super) fn server(&self, server: &str) -> ServerCatalogMetrics {
        let fetches = |method: Method| {
            ["ok", "failed"].map(|result| self.fetches.with_label_values(&[method.label(), server, result]))
        };
        let kept = Method::ALL.into_iter().filter(|method| method.is_kept());
        ServerCatalogMetrics {
            invalid_arguments: self.invalid_arguments.with_label_values(&[server]),
            invalid_results: self.invalid_results.with_label_values(&[server]),
            fetches: kept.map(|method| (method, fetches(method))).collect(),
        }
    }

    /// Counts an answer.
    pub fn answer(&self, method: Method, how: How, lacks_servers: bool, is_cut: bool) {
        if let Some(results) = self.requests.get(method as usize) {
            results[how as usize].inc();
        }
        for (is_so, reason) in [(lacks_servers, "unavailable"), (is_cut, "cut"), (how == How::Stale, "stale")] {
            if is_so {
                self.partial.with_label_values(&[method.label(), reason]).inc();
            }
        }
    }

    /// Counts an item that is in no list of ours.
    pub fn left_out(&self, server: &str, method: Method, reason: &str) {
        self.left_out.with_label_values(&[method.label(), server, reason]).inc();
    }

    /// Notes what is kept now.
    pub fn kept(&self, entries: u64, bytes: u64) {
        self.entries.set(i64::try_from(entries).unwrap_or(i64::MAX));
        self.bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}

impl ServerCatalogMetrics {
    pub fn fetch(&self, method: Method, succeeded: bool) {
        if let Some((_, [ok, failed])) = self.fetches.iter().find(|(known, _)| *known == method) {
            if succeeded { ok } else { failed }.inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_come_by_an_answer_indexes_its_counter() {
        for (index, how) in How::ALL.into_iter().enumerate() {
            assert_eq!(how as usize, index);
        }
        let registry = Registry::new();
        let metrics = CatalogMetrics::new(&registry).unwrap();
        metrics.answer(Method::ToolsList, How::Stale, true, false);
        metrics.server("a").fetch(Method::ToolsList, false);
        metrics.server("a").fetch(Method::ToolsCall, false);
        metrics.left_out("a", Method::PromptsList, "doubled");
        metrics.kept(3, 5);
        let text = prometheus::TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        for line in [
            "signpost_cache_requests_total{method=\"tools/list\",result=\"stale\"} 1",
            "signpost_cache_requests_total{method=\"tools/list\",result=\"hit\"} 0",
            "signpost_partial_lists_total{method=\"tools/list\",reason=\"unavailable\"} 1",
            "signpost_partial_lists_total{method=\"tools/list\",reason=\"stale\"} 1",
            "signpost_list_fetches_total{method=\"tools/list\",result=\"failed\",server=\"a\"} 1",
            "signpost_list_fetches_total{method=\"prompts/list\",result=\"ok\",server=\"a\"} 0",
            "signpost_list_items_left_out_total{method=\"prompts/list\",reason=\"doubled\",server=\"a\"} 1",
            "signpost_cache_entries 3",
            "signpost_cache_bytes 5",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }
}
