//! `tools`: ask the servers, print what clients can call, what was left out and why.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;

use super::Status;
use super::arguments;
use super::environment::Environment;
use super::load::load;
use super::out;
use crate::catalog::kind::Kind;
use crate::catalog::offer::Question;
use crate::catalog::omission;
use crate::catalog::{Call, Settled};
use crate::config::Config;
use crate::fleet::{Loaded, Server, Snapshot};
use crate::refusal::Refusal;
use crate::telemetry::Metrics;

/// Everything that the servers said.
#[derive(Debug, Default, Serialize)]
struct View {
    tools: Vec<Tool>,
    left_out: Vec<LeftOut>,
    unavailable: Vec<Unavailable>,
    /// Servers whose list was cut short by a bound.
    cut: Vec<String>,
    /// Why there is no list at all.
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Tool {
    /// As clients call it at the merged endpoint.
    name: String,
    server: String,
    /// The headers that its parameters are mirrored in.
    params: Vec<String>,
}

/// A server that did not give its list.
#[derive(Debug, Serialize)]
struct Unavailable {
    server: String,
    why: String,
}

#[derive(Debug, Serialize)]
struct LeftOut {
    tool: String,
    server: String,
    reason: String,
}

pub fn run(options: &arguments::Tools, environment: &Environment) -> Status {
    let (config, source) = match load(&options.file, environment) {
        Ok(loaded) => loaded,
        Err(status) => return status,
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.to_string()),
    };
    match runtime.block_on(view(&config, source)) {
        Ok(view) => show(&view, options.json),
        Err(error) => failed(&error),
    }
}

async fn view(config: &Config, source: Loaded) -> Result<View, String> {
    let metrics = Arc::new(Metrics::new().map_err(|error| error.to_string())?);
    let snapshot = Snapshot::build(config, metrics, &Arc::default(), source).map_err(|error| error.to_string())?;
    let rendered = match snapshot.merged_tools().await {
        Ok(rendered) => rendered,
        Err(none) => {
            let refusal = Refusal::of_listing(Question::List(Kind::Tools), none);
            let unavailable = unavailable(&snapshot);
            return Ok(View { unavailable, error: Some(refusal.answer().message), ..View::default() });
        }
    };
    let mut view = View { unavailable: unavailable(&snapshot), ..View::default() };
    let Some(merged) = &rendered.view else { return Ok(view) };
    for (server, public, own) in merged.items() {
        let params = params(&snapshot, server, own).await;
        view.tools.push(Tool { name: public.to_owned(), server: server.to_owned(), params });
    }
    view.cut = merged.cut().map(ToString::to_string).collect();
    view.left_out = merged.all_left_out().map(LeftOut::of).collect();
    Ok(view)
}

fn unavailable(snapshot: &Snapshot) -> Vec<Unavailable> {
    let why = |server: &Server| Some(Unavailable { server: server.name.clone(), why: snapshot.trouble(server)? });
    snapshot.servers.iter().filter_map(|server| why(server)).collect()
}

/// The headers that a tool's parameters are mirrored in; its rules came with the list.
async fn params(snapshot: &Snapshot, server: &str, tool: &str) -> Vec<String> {
    let Some(server) = snapshot.servers.iter().find(|known| known.name == server) else { return Vec::new() };
    match server.plan_for(&Call { tool, caller: None }, &http::HeaderMap::new()).await {
        Settled::Plan(judging) => judging.plan.headers().map(str::to_owned).collect(),
        Settled::NoSuchTool | Settled::NotToBeHad => Vec::new(),
    }
}

impl LeftOut {
    fn of((server, item): (&str, &omission::LeftOut)) -> Self {
        Self { tool: item.name.clone(), server: server.to_owned(), reason: item.omission.to_string() }
    }
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
        let tool = crate::protocol::quote(&left_out.tool);
        let _ = writeln!(text, "left out: {tool} of {}: {}", left_out.server, left_out.reason);
    }
    for server in &view.cut {
        let _ = writeln!(text, "cut short: the list of {server} is longer than what is read of it");
    }
    if let Some(error) = &view.error {
        let _ = writeln!(text, "no list: {error}");
    }
    for Unavailable { server, why } in &view.unavailable {
        let _ = writeln!(text, "unavailable: {server} did not give its list: {why}");
    }
    text
}

fn failed(error: &str) -> Status {
    eprintln!("error: {error}");
    Status::Failed
}
