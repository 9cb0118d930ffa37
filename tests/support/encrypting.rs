//! A server behind TLS, with an authority of its own: what is decrypted goes to a plain one.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

/// Somebody who issues certificates.
pub struct Authority {
    certificate: rcgen::Certificate,
    key: KeyPair,
    directory: TempDir,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("file", &self.file()).finish_non_exhaustive()
    }
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.self_signed(&key).unwrap();
        let directory = TempDir::new().unwrap();
        std::fs::write(directory.path().join("ca.pem"), certificate.pem()).unwrap();
        Self { certificate, key, directory }
    }

    /// The file with its certificate.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    fn issue(&self, name: &str, is_expired: bool) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if is_expired {
            params.not_after = rcgen::date_time_ymd(2020, 2, 3);
        }
        let certificate = params.signed_by(&key, &self.certificate, &self.key).unwrap();
        (certificate.der().clone(), PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())))
    }

    /// Listens, decrypts for `name`, and passes on to `behind`; the address. It ends with the test's process.
    pub fn encrypt(&self, name: &str, behind: SocketAddr) -> SocketAddr {
        begin(self.issue(name, false), behind)
    }

    /// The same with a certificate that has expired.
    pub fn encrypt_expired(&self, name: &str, behind: SocketAddr) -> SocketAddr {
        begin(self.issue(name, true), behind)
    }
}

fn begin((certificate, key): (CertificateDer<'static>, PrivateKeyDer<'static>), behind: SocketAddr) -> SocketAddr {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            std::thread::spawn(move || pass(StreamOwned::new(connection, stream), behind));
        }
    });
    address
}

/// Both directions in turns, until either side goes.
fn pass(mut client: StreamOwned<ServerConnection, TcpStream>, behind: SocketAddr) -> Option<()> {
    let mut server = TcpStream::connect(behind).ok()?;
    client.sock.set_read_timeout(Some(Duration::from_millis(2))).ok()?;
    server.set_read_timeout(Some(Duration::from_millis(2))).ok()?;
    let mut block = [0; 16 * 1024];
    let is_over =
        |error: &std::io::Error| !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut);
    loop {
        match client.read(&mut block) {
            Ok(0) => break,
            Ok(read) => server.write_all(&block[..read]).ok()?,
            Err(error) if is_over(&error) => break,
            Err(_) => {}
        }
        match server.read(&mut block) {
            Ok(0) => break,
            Ok(read) => client.write_all(&block[..read]).ok()?,
            Err(error) if is_over(&error) => break,
            Err(_) => {}
        }
    }
    server.shutdown(Shutdown::Both).ok()
}
