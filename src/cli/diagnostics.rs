//! What the process says of itself, on stderr.

use env_logger::{Builder, Env};

/// Levels where `MCP_SIGNPOST_LOG` does not set them. pingora's own errors quote heads and addresses: they stay off unless
/// asked for.
const DEFAULT: &str = "warn,mcp_signpost=info,pingora=off,pingora_core=off,pingora_proxy=off,rmcp=off";

pub fn start() {
    let env = Env::new().filter_or("MCP_SIGNPOST_LOG", DEFAULT).write_style("MCP_SIGNPOST_LOG_STYLE");
    // A second start in one process (tests) keeps the first.
    let _ = Builder::from_env(env).format_target(false).try_init();
}
