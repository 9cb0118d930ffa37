//! Finding and reading the configuration file.

use std::path::{Path, PathBuf};

use super::Status;
use super::arguments::File;
use crate::config::{self, Config};
use crate::gateway::Loaded;

const DEFAULTS: [&str; 2] = ["./signpost.toml", "/etc/mcp-signpost/signpost.toml"];

/// The configuration, or the status to end with after everything that is wrong with it was said on stderr.
pub fn load(file: &File) -> Result<(Config, Loaded), Status> {
    let path = find(file).ok_or_else(|| {
        eprintln!("error: no configuration found at {}; name one with --config FILE", DEFAULTS.join(" or "));
        Status::Unusable
    })?;
    let text = std::fs::read_to_string(&path).map_err(|error| {
        eprintln!("error: {} cannot be read: {error}", path.display());
        Status::Unusable
    })?;
    let config = config::parse(&text, &path.display().to_string(), &config::Machine::beside(&path));
    let config = config.map_err(|complaints| {
        eprintln!("{complaints}");
        Status::Unusable
    })?;
    Ok((config, Loaded::now(&text)))
}

fn find(file: &File) -> Option<PathBuf> {
    match &file.config {
        Some(path) => Some(path.clone()),
        None => DEFAULTS.into_iter().map(Path::new).find(|path| path.exists()).map(Path::to_path_buf),
    }
}
