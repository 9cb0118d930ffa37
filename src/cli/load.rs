//! Finding and reading the configuration file.

use std::path::{Path, PathBuf};

use super::Status;
use super::arguments::File;
use super::environment::Environment;
use crate::config::{self, Config};
use crate::fleet::Loaded;

const DEFAULTS: [&str; 2] = ["./signpost.toml", "/etc/mcp-signpost/signpost.toml"];

/// The configuration, or the status to end with after everything that is wrong with it was said on stderr.
pub fn load(file: &File, environment: &Environment) -> Result<(Config, Loaded), Status> {
    let (path, named_by) = find(file, environment).ok_or_else(|| {
        eprintln!("error: no configuration found at {}; name one with --config FILE", DEFAULTS.join(" or "));
        Status::Unusable
    })?;
    let text = std::fs::read_to_string(&path).map_err(|error| {
        eprintln!("error: {} ({named_by}) cannot be read: {error}", path.display());
        Status::Unusable
    })?;
    let config = config::parse(&text, &path.display().to_string(), &config::Machine::beside(&path));
    let config = config.map_err(|complaints| {
        eprintln!("{complaints}");
        Status::Unusable
    })?;
    Ok((config, Loaded::now(&text)))
}

/// The file, and what named it.
fn find(file: &File, environment: &Environment) -> Option<(PathBuf, &'static str)> {
    let by_flag = file.config.clone().map(|path| (path, "named by --config"));
    let by_environment = || environment.config.clone().map(|path| (path, "named by MCP_SIGNPOST_CONFIG"));
    let by_default = || DEFAULTS.into_iter().map(Path::new).find(|path| path.exists());
    let by_default = || by_default().map(|path| (path.to_path_buf(), "found by default"));
    by_flag.or_else(by_environment).or_else(by_default)
}
