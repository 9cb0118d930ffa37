use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;

struct Authority {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Self { certificate: params.self_signed(&key).unwrap(), key }
    }

    fn trusted(&self) -> Tls {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone()).unwrap();
        Tls::trusting(roots).unwrap()
    }

    fn server(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.certificate, &self.key).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// A handshake with a server at the other end of a socket.
async fn handshake<F>(
    tls: &Tls,
    host: &str,
    serve: impl FnOnce(tokio::net::TcpStream) -> F,
) -> Result<Encrypted, TlsError>
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stream, accepted) = tokio::join!(tokio::net::TcpStream::connect(address), listener.accept());
    tokio::spawn(serve(accepted.unwrap().0));
    tls.handshake(host, Plain::from(stream.unwrap())).await
}

async fn with(tls: &Tls, host: &str, acceptor: TlsAcceptor) -> Result<Encrypted, TlsError> {
    handshake(tls, host, |stream| async move {
        if let Ok(mut stream) = acceptor.accept(stream).await {
            let _ = stream.write_all(b"hello").await;
            let _ = stream.shutdown().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_server_that_proves_who_it_is_is_heard() {
    let authority = Authority::new("Ours");
    for (host, names) in [("server.example", ["server.example"]), ("127.0.0.1", ["127.0.0.1"])] {
        let mut stream = with(&authority.trusted(), host, authority.server(&names, |_| ())).await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "hello");
    }
}

#[tokio::test]
async fn why_a_handshake_failed_is_said_in_words() {
    let (ours, other) = (Authority::new("Ours"), Authority::new("Somebody\u{1b}[31m Else"));
    let tls = ours.trusted();
    let host = "server.example";
    let fault = |result: Result<Encrypted, TlsError>| result.unwrap_err().to_string();

    let said = fault(with(&tls, host, other.server(&[host], |_| ())).await);
    assert!(said.contains("issued by CN=Somebody\\u{1b}[31m Else, which is not trusted here"), "{said}");
    let said = fault(with(&tls, host, ours.server(&["a.example", "b.example"], |_| ())).await);
    assert!(said.contains("is for") && said.contains("a.example") && said.contains("not for server.example"), "{said}");
    let said =
        fault(with(&tls, host, ours.server(&[host], |params| params.not_after = date_time_ymd(2020, 2, 3))).await);
    assert_eq!(said, "its certificate expired at 2020-02-03T00:00:00Z");
    let said =
        fault(with(&tls, host, ours.server(&[host], |params| params.not_before = date_time_ymd(2999, 1, 1))).await);
    assert_eq!(said, "its certificate is not valid before 2999-01-01T00:00:00Z");
    let plain = handshake(&tls, host, |mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        let _ = stream.read(&mut [0; 1024]).await;
    });
    assert_eq!(fault(plain.await), TlsError::Plain.to_string());
    let closing = handshake(&tls, host, |stream| async move { drop(stream) });
    assert_eq!(fault(closing.await), TlsError::Closed.to_string());
    assert!(matches!(with(&tls, "no name", ours.server(&[host], |_| ())).await, Err(TlsError::Other(_))));
}

#[test]
fn a_file_of_authorities_must_be_there_and_hold_one() {
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("ca.pem");
    assert!(matches!(can_be_read(FILE, &file), Err(RootsError::Unreadable { .. })));
    std::fs::write(&file, "nothing").unwrap();
    assert!(matches!(can_be_read(FILE, &file), Err(RootsError::Empty { .. })));
    std::fs::write(&file, Authority::new("Ours").certificate.pem()).unwrap();
    assert!(can_be_read(FILE, &file).is_ok());
    assert!(can_be_read(DIRECTORY, directory.path()).is_ok());
    assert!(can_be_read(DIRECTORY, &file).unwrap_err().to_string().starts_with("SSL_CERT_DIR names "));
}
