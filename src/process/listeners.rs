//! Listeners: whether they can be opened, and when they are.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::config::Config;

const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("{address} cannot be listened on: {why}")]
    Refused { address: SocketAddr, why: std::io::Error },
    #[error("the listeners did not open")]
    NeverOpened,
}

/// pingora panics where it cannot bind; a person deserves a sentence.
pub fn can_listen(config: &Config) -> Result<(), ListenError> {
    for address in all(config) {
        TcpListener::bind(address).map_err(|why| ListenError::Refused { address, why })?;
    }
    Ok(())
}

/// Waits until every listener takes connections.
pub fn await_open(config: &Config) -> Result<(), ListenError> {
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut waiting: Vec<_> = all(config).collect();
    while Instant::now() < deadline {
        waiting.retain(|address| TcpStream::connect_timeout(&reachable(*address), LOOK).is_err());
        if waiting.is_empty() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(ListenError::NeverOpened)
}

fn all(config: &Config) -> impl Iterator<Item = SocketAddr> + '_ {
    config.gateway.listen.iter().copied().chain(config.admin.as_ref().map(|admin| admin.listen))
}

/// An address that can be connected to: a wildcard stands for this machine.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let loopback: IpAddr = if address.is_ipv4() { [127, 0, 0, 1].into() } else { Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    address
}
