//! Transport security, with certificates made for the occasion.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use arbiter_client::{Client, Error, Tls};
use tempfile::TempDir;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::arbiter::speaking;
use crate::peer::Peer;

/// A folder with a root, and a server's and a client's certificate that it signed.
pub struct Papers(TempDir);

impl Papers {
    pub fn make() -> Papers {
        let papers = Papers(tempfile::tempdir().expect("a folder"));
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        papers.openssl(&format!("req -x509 {key} -keyout root.key -out root.pem -subj /CN=root -days 2"));
        fs::write(papers.file("names"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n").expect("written");
        for name in ["server", "client"] {
            papers.openssl(&format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"));
            let signed = "-CA root.pem -CAkey root.key -CAcreateserial -days 1 -extfile names";
            papers.openssl(&format!("x509 -req -in {name}.csr -out {name}.pem {signed}"));
        }
        papers
    }

    fn openssl(&self, arguments: &str) {
        let made = Command::new("openssl").args(arguments.split(' ')).current_dir(self.0.path()).output();
        let made = made.expect("openssl makes the certificates");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn trusting(&self) -> Tls {
        Tls::default().with_root_certificate(self.file("root.pem"))
    }

    pub fn mutual(&self) -> Tls {
        let (certificate, key) = (self.file("client.pem"), self.file("client.key"));
        self.trusting().with_client_certificate(certificate).with_client_key(key)
    }

    async fn peer(&self, mutual: bool) -> Peer {
        let read = |file: &Path| fs::read(file).expect("read");
        let identity = Identity::from_pem(read(&self.file("server.pem")), read(&self.file("server.key")));
        let tls = ServerTlsConfig::new().identity(identity);
        let root = Certificate::from_pem(read(&self.file("root.pem")));
        Peer::start_secure(if mutual { tls.client_ca_root(root) } else { tls }).await
    }
}

fn client(peer: &Peer, tls: Option<Tls>) -> Client {
    Client::new(&speaking(peer.options().with_patience(Duration::ZERO), tls)).expect("the papers can be read")
}

#[tokio::test]
async fn a_client_trusts_the_root_and_shows_its_certificate() {
    let papers = Papers::make();
    for (mutual, tls) in [(false, papers.trusting()), (true, papers.mutual())] {
        let peer = papers.peer(mutual).await;
        let info = client(&peer, Some(tls)).server_info().await.expect("the papers are good");
        assert_eq!(info.software, "arbiter");
    }
}

#[tokio::test]
async fn a_client_without_the_right_papers_is_told() {
    let papers = Papers::make();
    for (mutual, tls) in [(false, None), (false, Some(Tls::default())), (true, None), (true, Some(papers.trusting()))] {
        let peer = papers.peer(mutual).await;
        let error = client(&peer, tls).server_info().await.expect_err("the papers are not good");
        assert!(matches!(error, Error::ConnectionFailed(..)), "{error:?}");
        assert!(error.to_string().contains("does it speak TLS or not as you do?"), "{error}");
    }
}
