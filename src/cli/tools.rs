//! `tools`: ask the servers, print what clients can call, what was left out and why.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;

use super::Status;
use super::arguments;
use super::load::load;
use super::out;
use crate::config::Config;
use crate::gateway::Snapshot;
use crate::routing::prefixed_name;
use crate::telemetry::Metrics;

/// Everything that the servers said.
#[derive(Debug, Default, Serialize)]
struct View {
    tools: Vec<Tool>,
    left_out: Vec<LeftOut>,
    unavailable: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Tool {
    /// As clients call it at the merged endpoint.
    name: String,
    server: String,
    /// The headers that its parameters are mirrored in.
    params: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LeftOut {
    tool: String,
    server: String,
    reason: String,
}

pub fn run(options: &arguments::Tools) -> Status {
    let config = match load(&options.file) {
        Ok(config) => config,
        Err(status) => return status,
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.to_string()),
    };
    match runtime.block_on(view(&config)) {
        Ok(view) => show(&view, options.json),
        Err(error) => failed(&error),
    }
}

async fn view(config: &Config) -> Result<View, String> {
    let metrics = Arc::new(Metrics::new().map_err(|error| error.to_string())?);
    let snapshot = Snapshot::build(config, metrics).map_err(|error| error.to_string())?;
    let asked = snapshot.servers.iter().map(|server| server.list_rules());
    let answers = futures::future::join_all(asked).await;
    let mut view = View::default();
    for ((server, prefix), rules) in snapshot.servers.iter().zip(config.servers.iter().map(|s| &s.prefix)).zip(answers)
    {
        let Some(rules) = rules else {
            view.unavailable.push(server.name.clone());
            continue;
        };
        for (tool, plan) in rules.tools.iter() {
            let full = prefixed_name(prefix, tool);
            match plan {
                Ok(plan) => view.tools.push(Tool {
                    name: full,
                    server: server.name.clone(),
                    params: plan.headers().map(str::to_owned).collect(),
                }),
                Err(reason) => {
                    view.left_out.push(LeftOut {
                        tool: tool.clone(),
                        server: server.name.clone(),
                        reason: reason.to_string(),
                    });
                }
            }
        }
    }
    view.tools.sort_by(|a, b| a.name.cmp(&b.name));
    view.left_out.sort_by(|a, b| (&a.server, &a.tool).cmp(&(&b.server, &b.tool)));
    Ok(view)
}

fn show(view: &View, as_json: bool) -> Status {
    let printed = if as_json {
        match serde_json::to_string_pretty(view) {
            Ok(text) => out::print(&format!("{text}\n")),
            Err(error) => return failed(&error.to_string()),
        }
    } else {
        out::print(&words(view))
    };
    // What could not be asked was said; it is a failure all the same.
    if view.unavailable.is_empty() { printed } else { Status::Failed }
}

fn words(view: &View) -> String {
    let mut text = String::new();
    for tool in &view.tools {
        let params = tool.params.join(", ");
        let params = if params.is_empty() { String::new() } else { format!("  [{params}]") };
        let _ = writeln!(text, "{}  ({}){params}", tool.name, tool.server);
    }
    for left_out in &view.left_out {
        let tool = crate::agreement::quote(&left_out.tool);
        let _ = writeln!(text, "left out: {tool} of {}: {}", left_out.server, left_out.reason);
    }
    for server in &view.unavailable {
        let _ = writeln!(text, "unavailable: {server} did not give its list");
    }
    text
}

fn failed(error: &str) -> Status {
    eprintln!("error: {error}");
    Status::Failed
}
