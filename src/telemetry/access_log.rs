//! One line for each request, on stdout.
//!
//! Written by a thread of its own behind a bounded queue (crate tracing-appender): a slow reader of the log costs lines,
//! which are counted, never a request's time.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use serde::Serialize;
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};

/// Lines that may wait.
const QUEUE: usize = 8_192;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    Json,
    Text,
}

/// What a line says. Names that a client chose are shortened and escaped by the writer of the line.
#[derive(Debug, Serialize)]
pub struct Line<'a> {
    pub time: String,
    pub method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<&'a str>,
    pub status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    pub outcome: &'a str,
    /// Not known of a request that was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_in: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_out: Option<usize>,
    /// Microseconds until the request was decided, until the upstream was connected, and in all.
    pub decide_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_us: Option<u64>,
    pub total_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<&'a str>,
}

/// Where lines go.
#[derive(Debug)]
pub struct AccessLog {
    writer: NonBlocking,
    dropped: ErrorCounter,
    format: LogFormat,
}

impl AccessLog {
    /// The guard writes what still waits when it is dropped; keep it to the end of the process.
    pub fn stdout(format: LogFormat) -> (Self, WorkerGuard) {
        let (writer, guard) = NonBlockingBuilder::default()
            .buffered_lines_limit(QUEUE)
            .lossy(true)
            .thread_name("access-log")
            .finish(std::io::stdout());
        (Self { dropped: writer.error_counter(), writer, format }, guard)
    }

    pub fn write(&self, line: &Line<'_>) {
        let text = match self.format {
            LogFormat::Json => serde_json::to_string(line).unwrap_or_default(),
            LogFormat::Text => text(line),
        };
        // One write is one entry of the queue; an error means that it was full, which is counted there.
        let _ = self.writer.clone().write_all(format!("{text}\n").as_bytes());
    }

    /// Lines that found the queue full.
    pub fn dropped(&self) -> usize {
        self.dropped.dropped_lines()
    }
}

fn text(line: &Line<'_>) -> String {
    let mut out = format!("{} {} {} {}", line.time, line.status, line.outcome, line.method);
    let mut add = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            let _ = write!(out, " {name}={value}");
        }
    };
    add("name", line.name.as_deref());
    add("server", line.server);
    add("pool", line.pool);
    add("endpoint", line.endpoint);
    add("reason", line.reason);
    add("code", line.code.map(|code| code.to_string()).as_deref());
    add("trace", line.trace);
    add("in", line.bytes_in.map(|bytes| bytes.to_string()).as_deref());
    add("out", line.bytes_out.map(|bytes| bytes.to_string()).as_deref());
    let _ = write!(out, " decide={}us total={}us", line.decide_us, line.total_us);
    out
}

/// Whole microseconds, for a line.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
