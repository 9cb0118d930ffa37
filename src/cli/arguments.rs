//! The flags, with an example for each command.

#![allow(
    clippy::doc_markdown,
    reason = "these comments are what --help prints, where backticks would stand as they are"
)]

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::telemetry::LogFormat;

/// A stateless gateway for the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "mcp-signpost", version, about, propagate_version = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the gateway
    #[command(after_help = "Example:\n  mcp-signpost serve --config signpost.toml")]
    Serve(Serve),
    /// Say whether a configuration would run, with every problem at once
    #[command(after_help = "Example:\n  mcp-signpost check --config signpost.toml --dump")]
    Check(Check),
    /// Say where a request would go, and why, without sending anything
    #[command(after_help = "Example:\n  mcp-signpost route --name sql__execute_sql --param Region=us-west1")]
    Route(Route),
    /// Ask the servers and print their tools as clients see them
    #[command(after_help = "Example:\n  mcp-signpost tools --config signpost.toml --json")]
    Tools(Tools),
    /// Run three example servers and a gateway before them
    #[cfg(feature = "demo")]
    #[command(after_help = "Example:\n  mcp-signpost demo")]
    Demo(Demo),
    /// Print the JSON Schema of the configuration file
    #[command(after_help = "Example:\n  mcp-signpost schema > signpost.schema.json")]
    Schema,
}

/// Which configuration is meant.
#[derive(Debug, Args)]
pub struct File {
    /// The configuration file [env: MCP_SIGNPOST_CONFIG] [default: ./signpost.toml, then /etc/mcp-signpost/signpost.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    pub file: File,
    /// How each request's line is written [env: MCP_SIGNPOST_LOG_FORMAT] [default: json]
    #[arg(long, value_enum)]
    pub log_format: Option<LogFormat>,
}

#[derive(Debug, Args)]
pub struct Check {
    #[command(flatten)]
    pub file: File,
    /// Print the effective configuration, secrets masked
    #[arg(long)]
    pub dump: bool,
}

#[derive(Debug, Args)]
pub struct Route {
    #[command(flatten)]
    pub file: File,
    /// What Mcp-Name would say; left out for methods that have none
    #[arg(long, value_name = "NAME", default_value = "")]
    pub name: String,
    /// What Mcp-Method would say
    #[arg(long, value_name = "METHOD", default_value = "tools/call")]
    pub method: String,
    /// What a Mcp-Param header would say; may be given more than once
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<String>,
    /// The server whose own endpoint is asked, instead of the merged one
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Tools {
    #[command(flatten)]
    pub file: File,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[cfg(feature = "demo")]
#[derive(Debug, Args)]
pub struct Demo {
    /// Where the gateway listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub listen: std::net::SocketAddr,
    /// Where its admin port listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9090")]
    pub admin: std::net::SocketAddr,
    /// How each request's line is written [env: MCP_SIGNPOST_LOG_FORMAT] [default: text]
    #[arg(long, value_enum)]
    pub log_format: Option<LogFormat>,
}
