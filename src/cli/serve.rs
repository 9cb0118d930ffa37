//! `serve`: runs the gateway.

use super::Status;
use super::arguments;
use super::environment::Environment;
use super::load::load;
use crate::config::Config;
use crate::fleet::Loaded;
use crate::process::{Process, StartError};
use crate::telemetry::LogFormat;

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
    let ran = Process::build(config, source, log_format).and_then(|process| process.run(config, started));
    match ran {
        Ok(()) => Status::Well,
        Err(error) => {
            eprintln!("error: {error}");
            if matches!(error, StartError::Build(_)) { Status::Unusable } else { Status::Failed }
        }
    }
}
