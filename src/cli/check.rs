//! `check` and `schema`: what can be said of a configuration without running it.

use std::sync::Arc;

use super::Status;
use super::arguments;
use super::environment::Environment;
use super::load::load;
use super::out;
use crate::config;
use crate::fleet::Snapshot;
use crate::telemetry::Metrics;

pub fn run(options: &arguments::Check, environment: &Environment) -> Status {
    let (config, source) = match load(&options.file, environment) {
        Ok(loaded) => loaded,
        Err(status) => return status,
    };
    // What `serve` would compile is compiled here too, so that the two never differ.
    let built = Metrics::new().map_err(|error| error.to_string()).and_then(|metrics| {
        Snapshot::build(&config, Arc::new(metrics), &Arc::default(), source).map_err(|error| error.to_string())
    });
    if let Err(error) = built {
        eprintln!("error: {error}");
        return Status::Unusable;
    }
    if options.dump {
        return out::print(&config::dump(&config));
    }
    let servers = config.servers.len();
    out::print(&format!("the configuration holds: {servers} server{}\n", if servers == 1 { "" } else { "s" }))
}

pub fn schema() -> Status {
    match serde_json::to_string_pretty(&config::schema()) {
        Ok(text) => out::print(&format!("{text}\n")),
        Err(error) => {
            eprintln!("error: {error}");
            Status::Failed
        }
    }
}
