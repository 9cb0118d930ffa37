//! What the process says of itself, on stderr.

use env_logger::{Builder, WriteStyle};

/// What libraries say: their warnings. pingora's own errors quote heads and addresses: they stay off unless asked for.
const LIBRARIES: &str = "warn,pingora=off,pingora_core=off,pingora_proxy=off,pingora_pool=off,rmcp=off";
const OURS: &str = "mcp_signpost";
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Which messages are written.
#[derive(Clone, Debug)]
pub struct Levels(String);

impl Default for Levels {
    fn default() -> Self {
        Self(format!("{LIBRARIES},{OURS}=info"))
    }
}

impl Levels {
    pub const WANTED: &str = "off, error, warn, info, debug or trace (of a library too: debug,pingora_core=warn)";

    /// A level is that of the gateway's own messages, not of its libraries'; `library=level` is said besides.
    pub fn parse(text: &str) -> Option<Self> {
        let mut levels = Self::default().0;
        for directive in text.split(',').map(str::trim) {
            let (target, level) = directive.split_once('=').unwrap_or((OURS, directive));
            let is_target = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
            let level = LEVELS.into_iter().find(|known| known.eq_ignore_ascii_case(level.trim()))?;
            let target = target.trim();
            if target.is_empty() || !target.bytes().all(is_target) {
                return None;
            }
            levels = format!("{levels},{target}={level}");
        }
        Some(Self(levels))
    }
}

/// Whether messages are coloured.
#[derive(Clone, Copy, Debug, Default)]
pub enum Style {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    Always,
    Never,
}

impl Style {
    pub const WANTED: &str = "auto, always or never";

    pub fn parse(text: &str) -> Option<Self> {
        let styles = [("auto", Self::Auto), ("always", Self::Always), ("never", Self::Never)];
        styles.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, style)| style)
    }
}

pub fn start(levels: &Levels, style: Style) {
    let style = match style {
        Style::Auto => WriteStyle::Auto,
        Style::Always => WriteStyle::Always,
        Style::Never => WriteStyle::Never,
    };
    // A second start in one process (tests) keeps the first.
    let _ = Builder::new().parse_filters(&levels.0).write_style(style).format_target(false).try_init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_the_gateways_own_and_libraries_stay_as_quiet_as_they_are() {
        for (text, end) in [
            ("debug", ",mcp_signpost=debug"),
            ("TRACE", ",mcp_signpost=trace"),
            ("off", ",mcp_signpost=off"),
            ("warn, pingora_core=debug", ",mcp_signpost=warn,pingora_core=debug"),
        ] {
            let levels = Levels::parse(text).unwrap().0;
            assert!(levels.starts_with(LIBRARIES) && levels.ends_with(end), "{levels}");
        }
        for wrong in ["verbose", "trce", "5", "", " ", "debug,", "=debug", "a b=debug", "mcp_signpost", "x=loud"] {
            assert!(Levels::parse(wrong).is_none(), "{wrong:?}");
        }
    }
}
