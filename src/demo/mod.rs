//! The embedded example: three real MCP servers in this process, and what a gateway before them needs.
//!
//! Knows how to start the servers, which configuration belongs before them and which commands show something. Must never
//! listen on anything but loopback addresses, and must never be used by the gateway itself.

mod commands;
mod database;
mod host;
pub mod sql;
pub mod weather;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

pub use commands::{Command, commands};
pub use host::Running;
pub use sql::Region;

/// The example servers, each on a port of its own. They end when this is dropped.
#[derive(Debug)]
pub struct Servers {
    pub weather: Running,
    /// The database server in `us-west1`.
    pub us: Running,
    /// The same server in `eu-west1`.
    pub eu: Running,
}

impl Servers {
    /// Starts all three on free ports of 127.0.0.1.
    pub async fn start() -> io::Result<Self> {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Ok(Self {
            weather: weather::start(any).await?,
            us: sql::start(Region::UsWest1, any).await?,
            eu: sql::start(Region::EuWest1, any).await?,
        })
    }

    /// The configuration (TOML) of a gateway on `gateway` before these servers.
    pub fn config(&self, gateway: SocketAddr, admin: SocketAddr) -> String {
        let Self { weather, us, eu } = self;
        format!(
            r#"[gateway]
listen = ["{gateway}"]

[admin]
listen = "{admin}"

[servers.weather]
prefix = "weather"
endpoints = ["{}"]

# One server in two regions: each call goes where its Region parameter says.
[servers.sql]
prefix = "sql"

[[servers.sql.routes]]
name = "us"
when = {{ Region = ["us-*"] }}
endpoints = ["{}"]
lists = true

[[servers.sql.routes]]
name = "eu"
when = {{ Region = ["eu-*"] }}
endpoints = ["{}"]
"#,
            weather.url(),
            us.url(),
            eu.url()
        )
    }
}

#[cfg(test)]
mod tests;
