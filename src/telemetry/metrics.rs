//! The metrics, registered once, their handles resolved before the first request.

use std::sync::Arc;

use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TextEncoder,
};

use super::catalog::{CatalogMetrics, ServerCatalogMetrics};
use crate::protocol::Method;
use crate::refusal::Reason;
use crate::wire::dial::DialError;

/// Advised by OpenTelemetry's conventions for MCP, in seconds.
const OPERATION_BUCKETS: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// From 50 µs: the gateway's own share is small.
const OVERHEAD_BUCKETS: [f64; 11] = [0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 1.0];
/// The server label of requests that never found one.
const NO_SERVER: &str = "_none";

/// How a request ended, seen from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    /// The gateway said no.
    Refused,
    /// The server answered with a 4xx or 5xx.
    ServerError,
    /// The server could not be reached, was silent or broke off.
    ServerFailed,
    ClientLeft,
    /// The process ended, or failed, before the request did.
    Cut,
}

/// How the upstream leg of a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamOutcome {
    Ok,
    Error,
    Unreachable,
    Silent,
    BrokeOff,
    Aborted,
}

impl Outcome {
    const ALL: [Self; 6] =
        [Self::Ok, Self::Refused, Self::ServerError, Self::ServerFailed, Self::ClientLeft, Self::Cut];

    pub fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::ServerError => "server_error",
            Self::ServerFailed => "server_failed",
            Self::ClientLeft => "client_left",
            Self::Cut => "cut",
        }
    }
}

impl UpstreamOutcome {
    const ALL: [Self; 6] = [Self::Ok, Self::Error, Self::Unreachable, Self::Silent, Self::BrokeOff, Self::Aborted];

    pub fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Unreachable => "unreachable",
            Self::Silent => "silent",
            Self::BrokeOff => "broke_off",
            Self::Aborted => "aborted",
        }
    }
}

/// Everything that is counted.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    rejections: IntCounterVec,
    upstream_requests: IntCounterVec,
    connect_failures: IntCounterVec,
    unproven: IntCounterVec,
    operation: HistogramVec,
    upstream_operation: HistogramVec,
    no_server: Vec<[IntCounter; 6]>,
    pub in_flight: IntGauge,
    pub connections: IntGauge,
    pub buffered_bytes: IntGauge,
    /// Set when the metrics are asked for.
    pub log_lines_dropped: IntGauge,
    pub overhead: Histogram,
    pub catalog: CatalogMetrics,
}

/// One server's handles: what a request needs costs no look-up.
#[derive(Debug)]
pub struct ServerMetrics {
    requests: Vec<[IntCounter; 6]>,
    operation: Vec<Histogram>,
    upstream_operation: Vec<Histogram>,
    /// By pool, in the server's order.
    pools: Vec<([IntCounter; 6], [IntCounter; 5])>,
    pub unproven: IntCounter,
    pub catalog: ServerCatalogMetrics,
}

impl Metrics {
    /// Registers everything. Errors only if two metrics share a name, which a test rules out.
    pub fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        let counter = |name: &str, help: &str, labels: &[&str]| counters(&registry, name, help, labels);
        let requests = counter(
            "signpost_requests_total",
            "Requests by method, server and outcome",
            &["method", "server", "outcome"],
        )?;
        let rejections = counter("signpost_rejections_total", "Requests the gateway refused, by reason", &["reason"])?;
        let upstream_requests = counter(
            "signpost_upstream_requests_total",
            "Requests sent to servers, by pool and outcome",
            &["server", "pool", "outcome"],
        )?;
        let connect_failures = counter(
            "signpost_upstream_connect_failures_total",
            "Connections to servers that could not be made, by reason",
            &["server", "pool", "reason"],
        )?;
        let unproven = counter(
            "signpost_unproven_requests_total",
            "Calls relayed although their tool's rules could not be had",
            &["server"],
        )?;
        let operation = histograms(
            &registry,
            "mcp_server_operation_duration_seconds",
            "Duration of requests as clients see it",
            &["mcp_method_name", "server"],
        )?;
        let upstream_operation = histograms(
            &registry,
            "mcp_client_operation_duration_seconds",
            "Duration of requests to servers",
            &["mcp_method_name", "server"],
        )?;
        let build = IntGaugeVec::new(Opts::new("signpost_build_info", "The version that runs"), &["version"])?;
        registry.register(Box::new(build.clone()))?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        for reason in Reason::ALL {
            let _ = rejections.with_label_values(&[reason.label()]);
        }
        let no_server = by_method(|method| outcomes(&requests, method, NO_SERVER));
        Ok(Self {
            in_flight: gauge(&registry, "signpost_requests_in_flight", "Requests being worked on")?,
            connections: gauge(&registry, "signpost_connections", "Client connections that are open")?,
            buffered_bytes: gauge(
                &registry,
                "signpost_buffered_bytes",
                "Bytes of request bodies waiting to be judged",
            )?,
            log_lines_dropped: gauge(
                &registry,
                "signpost_log_lines_dropped",
                "Access-log lines that found the queue full, since the start",
            )?,
            overhead: overhead(&registry)?,
            requests,
            rejections,
            upstream_requests,
            connect_failures,
            unproven,
            operation,
            upstream_operation,
            no_server,
            catalog: CatalogMetrics::new(&registry)?,
            registry,
        })
    }

    /// The handles for one server and its pools; each series exists from then on.
    pub fn server<'p>(&self, server: &str, pools: impl Iterator<Item = &'p str>) -> Arc<ServerMetrics> {
        let pool = |pool: &str| {
            let outcomes = UpstreamOutcome::ALL
                .map(|outcome| self.upstream_requests.with_label_values(&[server, pool, outcome.label()]));
            let failures = |reason| self.connect_failures.with_label_values(&[server, pool, reason]);
            (outcomes, DialError::LABELS.map(failures))
        };
        Arc::new(ServerMetrics {
            requests: by_method(|method| outcomes(&self.requests, method, server)),
            operation: by_method(|method| self.operation.with_label_values(&[method.label(), server])),
            upstream_operation: by_method(|method| {
                self.upstream_operation.with_label_values(&[method.label(), server])
            }),
            pools: pools.map(pool).collect(),
            unproven: self.unproven.with_label_values(&[server]),
            catalog: self.catalog.server(server),
        })
    }

    /// Counts a request that never found a server.
    pub fn request_without_server(&self, method: Method, outcome: Outcome) {
        if let Some(outcomes) = self.no_server.get(method as usize) {
            outcomes[outcome as usize].inc();
        }
    }

    /// Counts a refusal. Refusals may take a look-up.
    pub fn rejection(&self, reason: Reason) {
        self.rejections.with_label_values(&[reason.label()]).inc();
    }

    /// Everything in Prometheus' text format.
    pub fn text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // Encoding into a vector fails for invalid metrics alone, which registration refused.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut out);
        out
    }
}

impl ServerMetrics {
    pub fn request(&self, method: Method, outcome: Outcome, seconds: f64) {
        if let Some(outcomes) = self.requests.get(method as usize) {
            outcomes[outcome as usize].inc();
        }
        if let Some(histogram) = self.operation.get(method as usize) {
            histogram.observe(seconds);
        }
    }

    pub fn upstream(&self, method: Method, pool: usize, outcome: UpstreamOutcome, seconds: f64) {
        if let Some((outcomes, _)) = self.pools.get(pool) {
            outcomes[outcome as usize].inc();
        }
        if let Some(histogram) = self.upstream_operation.get(method as usize) {
            histogram.observe(seconds);
        }
    }

    /// `reason` is one of [`DialError::LABELS`].
    pub fn connect_failure(&self, pool: usize, reason: &str) {
        let labels = DialError::LABELS.iter().position(|label| *label == reason);
        if let Some((index, (_, failures))) = labels.zip(self.pools.get(pool)) {
            failures[index].inc();
        }
    }
}

pub(super) fn by_method<T>(of: impl Fn(Method) -> T) -> Vec<T> {
    Method::ALL.into_iter().map(of).collect()
}

fn outcomes(requests: &IntCounterVec, method: Method, server: &str) -> [IntCounter; 6] {
    Outcome::ALL.map(|outcome| requests.with_label_values(&[method.label(), server, outcome.label()]))
}

pub(super) fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> prometheus::Result<IntCounterVec> {
    let vec = IntCounterVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(vec.clone()))?;
    Ok(vec)
}

fn histograms(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<HistogramVec> {
    let vec = HistogramVec::new(HistogramOpts::new(name, help).buckets(OPERATION_BUCKETS.to_vec()), labels)?;
    registry.register(Box::new(vec.clone()))?;
    Ok(vec)
}

pub(super) fn gauge(registry: &Registry, name: &str, help: &str) -> prometheus::Result<IntGauge> {
    let gauge = IntGauge::new(name, help)?;
    registry.register(Box::new(gauge.clone()))?;
    Ok(gauge)
}

fn overhead(registry: &Registry) -> prometheus::Result<Histogram> {
    let opts =
        HistogramOpts::new("signpost_overhead_seconds", "The gateway's own share of a request, until it is sent on")
            .buckets(OVERHEAD_BUCKETS.to_vec());
    let histogram = Histogram::with_opts(opts)?;
    registry.register(Box::new(histogram.clone()))?;
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_series_are_there_from_the_start_and_enums_index_their_arrays() {
        let metrics = Metrics::new().unwrap();
        let server = metrics.server("alpha", ["default", "eu"].into_iter());
        for (index, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome as usize, index);
        }
        for (index, method) in Method::ALL.into_iter().enumerate() {
            assert_eq!(method as usize, index);
        }
        server.request(Method::ToolsCall, Outcome::Ok, 0.1);
        server.upstream(Method::ToolsCall, 1, UpstreamOutcome::Silent, 0.1);
        server.connect_failure(1, "tls");
        metrics.request_without_server(Method::Other, Outcome::Refused);
        metrics.rejection(Reason::Host);
        let text = String::from_utf8(metrics.text()).unwrap();
        for line in [
            "signpost_requests_total{method=\"tools/call\",outcome=\"ok\",server=\"alpha\"} 1",
            "signpost_requests_total{method=\"tools/list\",outcome=\"refused\",server=\"alpha\"} 0",
            "signpost_requests_total{method=\"_OTHER\",outcome=\"refused\",server=\"_none\"} 1",
            "signpost_upstream_requests_total{outcome=\"silent\",pool=\"eu\",server=\"alpha\"} 1",
            "signpost_upstream_connect_failures_total{pool=\"eu\",reason=\"tls\",server=\"alpha\"} 1",
            "signpost_rejections_total{reason=\"host\"} 1",
            "signpost_rejections_total{reason=\"origin\"} 0",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }
}
