//! What an operator sees: metrics and one log line for each request.
//!
//! Must never carry a credential, a body, a parameter's value or a name that a client chose into a label.

mod access_log;
mod catalog;
mod metrics;
mod omissions;

pub(crate) use access_log::micros;
pub use access_log::{AccessLog, Line, LogFormat};
pub use metrics::{Metrics, Outcome, ServerMetrics, UpstreamOutcome};
pub use omissions::Omissions;
