//! The process: what runs, from its configuration to its last connection.
//!
//! ```text
//! build (snapshot, metrics, log) → listeners → run ─┬─ SIGTERM: drain, then cut what is left
//!                                                   └─ SIGINT: cut
//! ```
//!
//! Must never end a request without a trace of it.

mod end;
mod lifecycle;
mod listeners;
mod signals;

use std::sync::Arc;
use std::sync::mpsc;

use arc_swap::ArcSwap;
use pingora::apps::HttpServerOptions;
use pingora::connectors::ConnectorOptions;
use pingora::proxy::{HttpProxy, ProxyServiceBuilder};
use pingora::server::configuration::ServerConf;
use pingora::server::{RunArgs, Server};
use pingora::services::listening::Service;
use tracing_appender::non_blocking::WorkerGuard;

use crate::admin::Admin;
use crate::config::Config;
use crate::fleet::{Budget, BuildError, Loaded, Snapshot};
use crate::gateway::{self, Connections, Gateway};
use crate::telemetry::{AccessLog, LogFormat, Metrics};
use crate::wire::{Dials, Upstreams};

use end::End;
use lifecycle::Lifecycle;
use signals::Signals;

/// Idle upstream connections, per thread.
const UPSTREAM_POOL: usize = 256;

/// Seconds for which pingora goes on past our own grace.
const PINGORA_WAITS: u64 = 60;

/// Why the process cannot run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("the metrics cannot be set up: {0}")]
    Metrics(#[from] prometheus::Error),
    #[error(transparent)]
    Listen(#[from] listeners::ListenError),
    #[error("no thread for the server: {0}")]
    Thread(std::io::Error),
}

/// Everything that runs.
pub struct Process {
    metrics: Arc<Metrics>,
    dials: Arc<Dials>,
    lifecycle: Lifecycle,
    connections: Connections,
    end: End,
    log: Arc<AccessLog>,
    /// Writes what still waits when it is dropped.
    log_writer: WorkerGuard,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").finish_non_exhaustive()
    }
}

impl Process {
    pub fn build(config: &Config, source: Loaded, log_format: LogFormat) -> Result<Self, StartError> {
        let metrics = Arc::new(Metrics::new()?);
        let dials = Arc::new(Dials::default());
        let snapshot = Snapshot::build(config, Arc::clone(&metrics), &dials, source)?;
        let snapshot = Arc::new(ArcSwap::from_pointee(snapshot));
        let (log, log_writer) = AccessLog::stdout(log_format);
        let budget = Budget::new(config.gateway.max_connections, metrics.connections.clone());
        let (connections, cut) = Connections::new(budget, snapshot);
        let end = End::new(cut, connections.clone(), config.gateway.shutdown_grace);
        Ok(Self { metrics, dials, lifecycle: Lifecycle::default(), connections, end, log: Arc::new(log), log_writer })
    }

    /// Runs until a signal ends it; `started` is called once the listeners are bound.
    pub fn run(self, config: &Config, started: impl FnOnce()) -> Result<(), StartError> {
        listeners::can_listen(config)?;
        let server = self.server(config);
        let (ended, end) = mpsc::channel();
        let signals = Signals { lifecycle: self.lifecycle.clone(), end: self.end.clone(), ended: ended.clone() };
        let run = move || {
            server.run(RunArgs { shutdown_signal: Box::new(signals) });
            let _ = ended.send(());
        };
        std::thread::Builder::new().name("server".into()).spawn(run).map_err(StartError::Thread)?;
        listeners::await_open(config)?;
        self.lifecycle.listens();
        let addresses: Vec<String> = config.gateway.listen.iter().map(ToString::to_string).collect();
        log::info!("listening on {}", addresses.join(", "));
        started();
        // Either pingora is done, or the last connection has ended while it still sleeps through its grace.
        let _ = end.recv();
        drop(self.log_writer);
        log::info!("stopped");
        Ok(())
    }

    fn server(&self, config: &Config) -> Server {
        let mut server = Server::new_with_opt_and_conf(None, conf(config));
        server.bootstrap();
        let mut proxy = self.proxy(config, &Arc::new(conf(config)));
        for address in &config.gateway.listen {
            proxy.add_tcp(&address.to_string());
        }
        server.add_service(proxy);
        if let Some(admin) = &config.admin {
            let app = Admin {
                state: self.lifecycle.teller(),
                metrics: Arc::clone(&self.metrics),
                snapshot: Arc::clone(&self.connections.snapshot),
                log: Arc::clone(&self.log),
            };
            let mut service = Service::new("admin".to_owned(), app);
            service.threads = Some(1);
            service.add_tcp(&admin.listen.to_string());
            server.add_service(service);
        }
        server
    }

    fn proxy(&self, config: &Config, conf: &Arc<ServerConf>) -> Service<HttpProxy<Gateway, Upstreams>> {
        let pool = ConnectorOptions::new(UPSTREAM_POOL * conf.threads.max(1));
        let mut options = HttpServerOptions::default();
        // Streams come to our own loop (wire::connection).
        options.force_custom = true;
        let gateway = Gateway { snapshot: Arc::clone(&self.connections.snapshot), log: Arc::clone(&self.log) };
        let mut service = ProxyServiceBuilder::new(conf, gateway)
            .name("gateway")
            .server_options(options)
            .client_options(pool)
            .custom(Upstreams::new(Arc::clone(&self.dials)), gateway::service(self.connections.clone()))
            .build();
        service.threads = Some(threads(config));
        service
    }
}

fn threads(config: &Config) -> usize {
    match config.gateway.threads {
        0 => std::thread::available_parallelism().map_or(1, Into::into),
        threads => threads,
    }
}

fn conf(config: &Config) -> ServerConf {
    ServerConf {
        threads: threads(config),
        work_stealing: true,
        // The end is ours to decide; pingora must not take its runtimes down before.
        grace_period_seconds: Some(config.gateway.shutdown_grace.as_secs() + PINGORA_WAITS),
        graceful_shutdown_timeout_seconds: Some(0),
        // Retries are ours to allow, one for each endpoint.
        max_retries: largest_pool(config),
        ..ServerConf::default()
    }
}

fn largest_pool(config: &Config) -> usize {
    let routes = config.servers.iter().flat_map(|server| &server.routes).map(|route| route.endpoints.len());
    let defaults = config.servers.iter().map(|server| server.endpoints.len());
    routes.chain(defaults).max().unwrap_or(1)
}
