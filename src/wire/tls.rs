//! TLS towards servers: whom we trust, and why a handshake failed, in words.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pingora::protocols::l4::stream::Stream as Plain;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, InvalidMessage, OtherError, RootCertStore,
    SignatureScheme,
};
use tokio_rustls::TlsConnector;

use super::encrypted::Encrypted;
use crate::protocol::escaped;

/// The variables by which a private authority is named; they take the place of the system's roots.
const FILE: &str = "SSL_CERT_FILE";
const DIRECTORY: &str = "SSL_CERT_DIR";

/// Encrypts connections, and proves who the server is.
#[derive(Clone)]
pub struct Tls(TlsConnector);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

/// Why nobody can be trusted.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    #[error("{variable} names {}, which cannot be read: {why}", path.display())]
    Unreadable { variable: &'static str, path: PathBuf, why: io::Error },
    #[error("{variable} names {}, which holds no certificate in PEM", path.display())]
    Empty { variable: &'static str, path: PathBuf },
    #[error("no trusted authorities were found on this system: {0}; install ca-certificates, or set SSL_CERT_FILE")]
    None(String),
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
}

/// Why a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    #[error(
        "its certificate was issued by {issuer}, which is not trusted here; name that authority's file in SSL_CERT_FILE"
    )]
    Issuer { issuer: String },
    #[error("its certificate is for {names}, not for {host}")]
    Name { host: String, names: String },
    #[error("its certificate expired at {0}")]
    Expired(String),
    #[error("its certificate is not valid before {0}")]
    NotYet(String),
    #[error("its certificate does not hold: {0}")]
    Certificate(String),
    #[error("it answers without TLS; write http:// for it, or let it speak TLS")]
    Plain,
    #[error("it closed the connection during the TLS handshake")]
    Closed,
    #[error("it took the connection, but did not finish the TLS handshake within {0:?}; does it speak TLS?")]
    Silent(Duration),
    #[error("the TLS handshake failed: {0}")]
    Other(String),
}

impl Tls {
    /// Trusts what this system trusts, or what the environment names.
    pub fn system() -> Result<Self, RootsError> {
        for variable in [FILE, DIRECTORY] {
            if let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
                can_be_read(variable, Path::new(&path))?;
            }
        }
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            let why: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
            return Err(RootsError::None(why.join(", ")));
        }
        Self::trusting(roots)
    }

    pub fn trusting(roots: RootCertStore) -> Result<Self, RootsError> {
        let setup = |error: &dyn std::fmt::Display| RootsError::Setup(error.to_string());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let verifier = Explaining { inner: inner.build().map_err(|error| setup(&error))? };
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config =
            config.map_err(|error| setup(&error))?.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = config.with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// `host` is what the server must prove to be.
    pub(super) async fn handshake(&self, host: &str, stream: Plain) -> Result<Encrypted, TlsError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| TlsError::Other(error.to_string()))?;
        self.0.connect(name, stream).await.map(Encrypted::new).map_err(|error| fault(&error))
    }
}

fn can_be_read(variable: &'static str, path: &Path) -> Result<(), RootsError> {
    let unreadable = |why| RootsError::Unreadable { variable, path: path.to_owned(), why };
    if variable == DIRECTORY {
        return std::fs::read_dir(path).map(drop).map_err(unreadable);
    }
    let text = std::fs::read(path).map_err(unreadable)?;
    let mut certificates = rustls::pki_types::pem::PemObject::pem_slice_iter(&text);
    match certificates.next() {
        Some(Ok::<CertificateDer<'_>, _>(_)) => Ok(()),
        _ => Err(RootsError::Empty { variable, path: path.to_owned() }),
    }
}

fn fault(error: &io::Error) -> TlsError {
    let Some(cause) = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>()) else {
        let is_end = error.kind() == io::ErrorKind::UnexpectedEof || error.kind() == io::ErrorKind::ConnectionReset;
        return if is_end { TlsError::Closed } else { TlsError::Other(error.to_string()) };
    };
    match cause {
        Error::InvalidCertificate(CertificateError::Other(OtherError(explained))) => explained
            .downcast_ref::<TlsError>()
            .cloned()
            .unwrap_or_else(|| TlsError::Certificate(explained.to_string())),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => TlsError::Plain,
        other => TlsError::Other(other.to_string()),
    }
}

/// The usual verifier, whose refusals say what an operator needs to know.
#[derive(Debug)]
struct Explaining {
    inner: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for Explaining {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.inner.verify_server_cert(end_entity, intermediates, name, ocsp, now).map_err(|error| match error {
            Error::InvalidCertificate(why) => {
                let fault = explain(why, end_entity, name);
                Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(fault))))
            }
            other => other,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

fn explain(why: CertificateError, end_entity: &CertificateDer<'_>, name: &ServerName<'_>) -> TlsError {
    match why {
        CertificateError::UnknownIssuer => TlsError::Issuer { issuer: issuer(end_entity) },
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names = if presented.is_empty() { "no name".into() } else { escaped(&presented.join(", ")) };
            TlsError::Name { host: name.to_str().into_owned(), names }
        }
        CertificateError::ExpiredContext { not_after, .. } => TlsError::Expired(time(not_after)),
        CertificateError::NotValidYetContext { not_before, .. } => TlsError::NotYet(time(not_before)),
        other => TlsError::Certificate(other.to_string()),
    }
}

fn issuer(certificate: &CertificateDer<'_>) -> String {
    let parsed = x509_parser::parse_x509_certificate(certificate).map(|(_, parsed)| parsed.issuer().to_string());
    parsed.map_or_else(|_| "an unreadable name".into(), |issuer| escaped(&issuer))
}

fn time(at: UnixTime) -> String {
    let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(at.as_secs()));
    at.map_or_else(|| "an unreadable time".into(), |at| humantime::format_rfc3339_seconds(at).to_string())
}

#[cfg(test)]
mod tests;
