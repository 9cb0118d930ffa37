//! `demo`: the embedded default. Three example servers, a gateway before them, three commands to try.

use std::fmt::Write as _;

use super::Status;
use super::arguments;
use super::environment::Environment;
use super::out;
use super::serve::serve;
use crate::config::{self, Config};
use crate::demo::{Servers, commands};
use crate::fleet::Loaded;
use crate::telemetry::LogFormat;

pub fn run(options: &arguments::Demo, environment: &Environment) -> Status {
    // The servers live on a runtime of their own, as they would in processes of their own.
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let servers = match runtime.block_on(Servers::start()) {
        Ok(servers) => servers,
        Err(error) => return failed(&error),
    };
    let text = servers.config(options.listen, options.admin);
    let config = match configuration(&text) {
        Ok(config) => config,
        Err(error) => return failed(&error),
    };
    let url = format!("http://{}{}", options.listen, config.gateway.path);
    let log_format = options.log_format.or(environment.log_format).unwrap_or(LogFormat::Text);
    let status = serve(&config, Loaded::now(&text), log_format, || welcome(&url, options));
    drop(servers);
    runtime.shutdown_background();
    status
}

fn configuration(text: &str) -> Result<Config, config::Complaints> {
    config::parse(text, "the demo's configuration", &config::Machine::beside(std::path::Path::new("")))
}

fn welcome(url: &str, options: &arguments::Demo) {
    let mut text = format!(
        "A gateway before three example servers runs at {url}\n\
         (metrics at http://{}/metrics). Paste these into another terminal; Ctrl-C ends it.\n",
        options.admin
    );
    for command in commands(url) {
        let _ = write!(text, "\n# {}\n{}\n", command.title, command.curl);
    }
    text.push('\n');
    out::print(&text);
}

fn failed(error: &impl std::fmt::Display) -> Status {
    eprintln!("error: {error}");
    Status::Failed
}
