//! `route`: where a request would go, and why.

use super::Status;
use super::arguments;
use super::environment::Environment;
use super::load::load;
use super::out;
use crate::config::Config;
use crate::routing::{Asked, Door, Table};

pub fn run(options: &arguments::Route, environment: &Environment) -> Status {
    let (config, _) = match load(&options.file, environment) {
        Ok(config) => config,
        Err(status) => return status,
    };
    let asked = door(&config, options).and_then(|door| Ok((door, params(options)?)));
    let (door, params) = match asked {
        Ok(asked) => asked,
        Err(why) => {
            eprintln!("error: {why}");
            return Status::Unusable;
        }
    };
    let asked = Asked { door, method: &options.method, name: &options.name, params: &params };
    let explanation = Table::new(&config).explain(&config, &asked);
    if !options.json {
        let note = "Parameters choose a route only if the tool declares them; the servers were not asked.";
        let note = if options.params.is_empty() { String::new() } else { format!("{note}\n") };
        return out::print(&format!("{explanation}\n{note}"));
    }
    match serde_json::to_string_pretty(&explanation) {
        Ok(text) => out::print(&format!("{text}\n")),
        Err(error) => {
            eprintln!("error: {error}");
            Status::Failed
        }
    }
}

fn door(config: &Config, options: &arguments::Route) -> Result<Door, String> {
    let Some(name) = &options.server else { return Ok(Door::Merged) };
    let index = config.servers.iter().position(|server| server.name == *name && server.expose);
    index.map(Door::Server).ok_or_else(|| format!("no server {name} has an endpoint of its own"))
}

fn params(options: &arguments::Route) -> Result<Vec<(String, String)>, String> {
    let pair = |text: &String| text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let read = |text| pair(text).ok_or_else(|| format!("--param {text} has no value; write --param Region=us-west1"));
    options.params.iter().map(read).collect()
}
