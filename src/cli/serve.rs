//! `serve`: the process, from its configuration to its last connection.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use pingora::apps::HttpServerOptions;
use pingora::connectors::ConnectorOptions;
use pingora::proxy::ProxyServiceBuilder;
use pingora::server::configuration::ServerConf;
use pingora::server::{RunArgs, Server, ShutdownSignal, ShutdownSignalWatch};
use pingora::services::listening::Service;
use tokio::signal::unix::{SignalKind, signal};

use super::Status;
use super::arguments;
use super::environment::Environment;
use super::load::load;
use crate::admin::{Admin, Lifecycle};
use crate::config::Config;
use crate::gateway::{self, Connections, Gateway, Loaded, Snapshot};
use crate::telemetry::{AccessLog, LogFormat, Metrics};
use crate::wire::{Dials, Upstreams};

/// Idle upstream connections, per thread.
const UPSTREAM_POOL: usize = 256;
/// How often a draining process looks whether its last connection has ended.
const DRAIN_LOOK: Duration = Duration::from_millis(20);

pub fn run(options: &arguments::Serve, environment: &Environment) -> Status {
    match load(&options.file, environment) {
        Ok((config, source)) => {
            let log_format = options.log_format.or(environment.log_format).unwrap_or(LogFormat::Json);
            serve(&config, source, log_format, || ())
        }
        Err(status) => status,
    }
}

/// Serves until a signal ends it; `started` is called once the listeners are bound.
pub fn serve(config: &Config, source: Loaded, log_format: LogFormat, started: impl FnOnce()) -> Status {
    let process = match Process::build(config, source, log_format) {
        Ok(process) => process,
        Err(error) => {
            eprintln!("error: {error}");
            return Status::Unusable;
        }
    };
    if let Err(error) = Process::can_listen(config) {
        eprintln!("error: {error}");
        return Status::Failed;
    }
    process.run(config, started)
}

/// Everything that runs.
struct Process {
    metrics: Arc<Metrics>,
    dials: Arc<Dials>,
    lifecycle: Lifecycle,
    connections: Connections,
    log: Arc<AccessLog>,
    _log_writer: tracing_appender::non_blocking::WorkerGuard,
}

impl Process {
    fn build(config: &Config, source: Loaded, log_format: LogFormat) -> Result<Self, Box<dyn std::error::Error>> {
        let metrics = Arc::new(Metrics::new()?);
        let dials = Arc::new(Dials::default());
        let snapshot = Snapshot::build(config, Arc::clone(&metrics), &dials, source)?;
        let snapshot = Arc::new(ArcSwap::from_pointee(snapshot));
        let (log, writer) = AccessLog::stdout(log_format);
        let budget = gateway::Budget::new(config.gateway.max_connections, metrics.connections.clone());
        Ok(Self {
            metrics,
            dials,
            lifecycle: Lifecycle::default(),
            connections: Connections { budget, snapshot },
            log: Arc::new(log),
            _log_writer: writer,
        })
    }

    /// pingora panics where it cannot bind; a person deserves a sentence.
    fn can_listen(config: &Config) -> Result<(), String> {
        let admin = config.admin.as_ref().map(|admin| admin.listen);
        for address in config.gateway.listen.iter().copied().chain(admin) {
            std::net::TcpListener::bind(address)
                .map_err(|error| format!("{address} cannot be listened on: {error}"))?;
        }
        Ok(())
    }

    fn run(self, config: &Config, started: impl FnOnce()) -> Status {
        let server = self.server(config);
        let (ended, end) = mpsc::channel();
        let drained = Signals {
            lifecycle: self.lifecycle.clone(),
            drained: ended.clone(),
            budget: self.connections.clone(),
            grace: config.gateway.shutdown_grace,
        };
        let runner = std::thread::Builder::new().name("server".into()).spawn(move || {
            server.run(RunArgs { shutdown_signal: Box::new(drained) });
            let _ = ended.send(());
        });
        if let Err(error) = runner {
            eprintln!("error: no thread for the server: {error}");
            return Status::Failed;
        }
        if !await_listeners(config) {
            eprintln!("error: the listeners did not open");
            return Status::Failed;
        }
        self.lifecycle.listens();
        log::info!(
            "listening on {}",
            config.gateway.listen.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        );
        started();
        // Either pingora is done, or the last connection has ended while it still sleeps through its grace.
        let _ = end.recv();
        Status::Well
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
                lifecycle: self.lifecycle.clone(),
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

    fn proxy(&self, config: &Config, conf: &Arc<ServerConf>) -> Service<pingora::proxy::HttpProxy<Gateway, Upstreams>> {
        let pool = ConnectorOptions::new(UPSTREAM_POOL * conf.threads.max(1));
        let mut options = HttpServerOptions::default();
        // Streams come to our own loop (gateway::connection).
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
        grace_period_seconds: Some(config.gateway.shutdown_grace.as_secs()),
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

/// Waits until every listener takes connections.
fn await_listeners(config: &Config) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    let admin = config.admin.as_ref().map(|admin| admin.listen);
    let mut waiting: Vec<_> = config.gateway.listen.iter().copied().chain(admin).collect();
    while Instant::now() < deadline {
        waiting.retain(|address| std::net::TcpStream::connect_timeout(&reachable(*address), DRAIN_LOOK).is_err());
        if waiting.is_empty() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// An address that can be connected to: a wildcard stands for this machine.
fn reachable(mut address: std::net::SocketAddr) -> std::net::SocketAddr {
    if address.ip().is_unspecified() {
        let loopback: std::net::IpAddr =
            if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    address
}

/// `SIGTERM` drains, `SIGINT` ends, `SIGHUP` changes nothing.
struct Signals {
    lifecycle: Lifecycle,
    drained: mpsc::Sender<()>,
    budget: Connections,
    grace: Duration,
}

#[async_trait]
impl ShutdownSignalWatch for Signals {
    async fn recv(&self) -> ShutdownSignal {
        let watched = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        let [Ok(mut term), Ok(mut int), Ok(mut hup)] = watched else {
            log::error!("signals cannot be watched; ending");
            return ShutdownSignal::FastShutdown;
        };
        loop {
            tokio::select! {
                _ = int.recv() => {
                    let _ = self.drained.send(());
                    return ShutdownSignal::FastShutdown;
                }
                _ = term.recv() => {
                    self.lifecycle.drains();
                    self.watch_drain();
                    let drained = self.drained.clone();
                    tokio::spawn(async move {
                        int.recv().await;
                        let _ = drained.send(());
                    });
                    return ShutdownSignal::GracefulTerminate;
                }
                // Its default would end the process, which nobody who sends it means.
                _ = hup.recv() => log::warn!("SIGHUP: the configuration is read at the start alone; restart to change it"),
            }
        }
    }
}

impl Signals {
    /// pingora sleeps its whole grace; the process may end with its last connection.
    fn watch_drain(&self) {
        let (drained, connections, grace) = (self.drained.clone(), self.budget.clone(), self.grace);
        log::info!("draining, for at most {grace:?}");
        std::thread::spawn(move || {
            let deadline = Instant::now() + grace;
            // A moment for what was accepted but not yet counted.
            std::thread::sleep(DRAIN_LOOK * 5);
            while connections.budget.used() > 0 && Instant::now() < deadline {
                std::thread::sleep(DRAIN_LOOK);
            }
            let _ = drained.send(());
        });
    }
}
