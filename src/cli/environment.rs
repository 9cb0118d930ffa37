//! What the environment says: a flag goes before it, it goes before the file, the file before the default.
//!
//! A variable that is set but empty counts as not set; one that says what is not understood is an error for every command.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::ValueEnum;

use super::diagnostics::{Levels, Style};
use crate::telemetry::LogFormat;

pub const CONFIG: &str = "MCP_SIGNPOST_CONFIG";
const LOG: &str = "MCP_SIGNPOST_LOG";
const LOG_STYLE: &str = "MCP_SIGNPOST_LOG_STYLE";
const LOG_FORMAT: &str = "MCP_SIGNPOST_LOG_FORMAT";

/// The variables that are ours.
#[derive(Debug, Default)]
pub struct Environment {
    pub config: Option<PathBuf>,
    pub log_format: Option<LogFormat>,
    pub levels: Levels,
    pub style: Style,
}

impl Environment {
    /// From the process's own variables.
    ///
    /// # Errors
    /// Every variable that is not understood, in words.
    pub fn read() -> Result<Self, String> {
        Self::of(|name| std::env::var_os(name))
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        let mut wrong = String::new();
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mut text = |name: &str, wanted: &str, read: &mut dyn FnMut(&str) -> bool| {
            let Some(value) = set(name) else { return };
            if !value.to_str().is_some_and(read) {
                let said = crate::protocol::quote(&value.to_string_lossy());
                let _ = writeln!(wrong, "error: {name} is {said}; write {wanted}, or leave it empty");
            }
        };
        let mut read = Self { config: set(CONFIG).map(PathBuf::from), ..Self::default() };
        text(LOG, Levels::WANTED, &mut |value| Levels::parse(value).map(|levels| read.levels = levels).is_some());
        text(LOG_STYLE, Style::WANTED, &mut |value| Style::parse(value).map(|style| read.style = style).is_some());
        text(LOG_FORMAT, "json or text", &mut |value| {
            LogFormat::from_str(value, true).map(|format| read.log_format = Some(format)).is_ok()
        });
        if wrong.is_empty() { Ok(read) } else { Err(wrong) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = [CONFIG, LOG, LOG_STYLE, LOG_FORMAT];

    #[test]
    fn what_is_empty_counts_as_not_set() {
        let empty = Environment::of(|_| Some(OsString::new())).unwrap();
        let unset = Environment::of(|_| None).unwrap();
        assert_eq!(format!("{empty:?}"), format!("{unset:?}"));
    }

    #[test]
    fn every_wrong_variable_is_named_with_what_to_write() {
        let wrong = Environment::of(|name| (name != CONFIG).then(|| "ver\nbose".into())).unwrap_err();
        assert_eq!(wrong.lines().count(), 3, "{wrong}");
        for name in &NAMES[1..] {
            assert!(wrong.contains(&format!("{name} is 'ver\\nbose'; write ")), "{wrong}");
        }
        let bytes = std::os::unix::ffi::OsStringExt::from_vec(vec![0xff]);
        let bytes: OsString = bytes;
        assert!(Environment::of(|name| (name == LOG).then(|| bytes.clone())).unwrap_err().contains(LOG));
    }

    #[test]
    fn what_is_understood_is_taken() {
        let value = |name: &str| match name {
            CONFIG => "a.toml",
            LOG => "DEBUG",
            LOG_STYLE => "never",
            _ => "Text",
        };
        let read = Environment::of(|name| Some(value(name).into())).unwrap();
        assert_eq!((read.config, read.log_format), (Some("a.toml".into()), Some(LogFormat::Text)));
    }
}
