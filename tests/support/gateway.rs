//! The real binary, started with a configuration of its own.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::raw::Client;
use super::request::Request;

/// How long the binary may take to be ready.
const START: Duration = Duration::from_secs(20);
/// Another process may take the chosen ports before the binary does.
const ATTEMPTS: usize = 4;

/// A running gateway; it is ended when dropped.
#[derive(Debug)]
pub struct Gateway {
    pub address: SocketAddr,
    pub admin: SocketAddr,
    child: Child,
    output: Arc<Mutex<String>>,
    _directory: TempDir,
}

/// What a configuration says besides the two listeners.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Variables of its environment.
    pub variables: Vec<(String, String)>,
    /// Lines of the table `[gateway]`.
    pub gateway: String,
    /// Whole tables.
    pub tables: String,
}

impl Setup {
    pub fn gateway(mut self, lines: &str) -> Self {
        self.gateway.push_str(lines);
        self.gateway.push('\n');
        self
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// The table `[cache]`.
    pub fn cache(mut self, lines: &str) -> Self {
        let table = format!("[cache]\n{lines}\n");
        self.tables.push_str(&table);
        self
    }

    /// A server with one endpoint and further lines.
    pub fn server(mut self, name: &str, endpoint: SocketAddr, lines: &str) -> Self {
        let table = format!("[servers.{name}]\nendpoints = [\"http://{endpoint}/mcp\"]\n{lines}\n");
        self.tables.push_str(&table);
        self
    }

    pub fn start(&self) -> Gateway {
        for _ in 1..ATTEMPTS {
            if let Ok(gateway) = Gateway::start(self) {
                return gateway;
            }
        }
        Gateway::start(self).unwrap_or_else(|why| panic!("the gateway does not start: {why}"))
    }
}

/// Cargo names the binary of the crate under test; elsewhere an environment variable does.
fn binary() -> String {
    option_env!("CARGO_BIN_EXE_mcp-signpost")
        .map(str::to_owned)
        .or_else(|| std::env::var("MCP_SIGNPOST_BIN").ok())
        .expect("MCP_SIGNPOST_BIN names no binary to test")
}

/// A free port below those that the system gives to outgoing connections, which could take it before the binary does.
fn free_port() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    const RANGE: std::ops::Range<u16> = 12_000..32_000;
    let spread = u16::try_from(std::process::id() * 61 % u32::from(RANGE.end - RANGE.start)).unwrap();
    loop {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = RANGE.start + (spread + step) % (RANGE.end - RANGE.start);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

impl Gateway {
    fn start(setup: &Setup) -> Result<Self, String> {
        let (address, admin) = (free_port(), free_port());
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("signpost.toml");
        let (gateway, tables) = (&setup.gateway, &setup.tables);
        let text = format!("[gateway]\nlisten = [\"{address}\"]\n{gateway}\n[admin]\nlisten = \"{admin}\"\n\n{tables}");
        fs::write(&file, &text).unwrap();
        let mut child = Command::new(binary())
            .args(["serve", "--config"])
            .arg(&file)
            .envs(setup.variables.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = Arc::new(Mutex::new(String::new()));
        collect(child.stdout.take().unwrap(), &output);
        collect(child.stderr.take().unwrap(), &output);
        let mut gateway = Self { address, admin, child, output, _directory: directory };
        if gateway.becomes_ready() { Ok(gateway) } else { Err(format!("{text}\n{}", gateway.output())) }
    }

    fn becomes_ready(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < START && self.child.try_wait().unwrap().is_none() {
            if self.admin_status("/readyz") == Some(200) {
                return true;
            }
            // Often, so that what answers too early is caught.
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    /// The status of a path of the admin port, if it answers.
    pub fn admin_status(&self, path: &str) -> Option<u16> {
        self.admin_get(path).map(|(status, _)| status)
    }

    /// Status and body of a path of the admin port.
    pub fn admin_get(&self, path: &str) -> Option<(u16, String)> {
        let request = Request::post("").by("GET").to(path).with("Connection", "close");
        let response = Client::try_connect(self.admin).ok()?.exchange(&request).ok()?;
        Some((response.status, String::from_utf8_lossy(&response.body).into_owned()))
    }

    /// What it wrote so far to stdout and stderr.
    pub fn output(&self) -> String {
        self.output.lock().unwrap().clone()
    }

    /// Open file descriptors of the process.
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).map_or(0, Iterator::count)
    }

    /// Resident memory in bytes: now.
    pub fn resident(&self) -> usize {
        self.status_field("VmRSS:")
    }

    /// Resident memory in bytes: the most there ever was.
    pub fn peak(&self) -> usize {
        self.status_field("VmHWM:")
    }

    fn status_field(&self, name: &str) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    }

    /// Sends a signal by its short name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let line = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success(), "{line}");
    }

    /// Waits for the end of the process.
    pub fn exit_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        let mut status = None;
        super::eventually(limit, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let output = self.output();
            let tail: Vec<_> = output.lines().rev().take(15).collect();
            eprintln!("the gateway's last lines, newest first:\n{}", tail.join("\n"));
        }
        if self.child.try_wait().is_ok_and(|status| status.is_some()) {
            return;
        }
        self.signal("TERM");
        if self.exit_within(Duration::from_millis(500)).is_none() {
            // It may have ended since.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn collect(mut from: impl Read + Send + 'static, into: &Arc<Mutex<String>>) {
    let into = Arc::clone(into);
    std::thread::spawn(move || {
        let mut block = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut block) {
            into.lock().unwrap().push_str(&String::from_utf8_lossy(&block[..read]));
        }
    });
}
