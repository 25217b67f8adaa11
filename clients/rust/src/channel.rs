//! The connection to a server: address, transport security, token, and unary calls.

#[cfg(feature = "tls")]
use std::fs;
use std::future::Future;
#[cfg(feature = "tls")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use log::{Level, log};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
#[cfg(feature = "tls")]
use tonic::transport::{Certificate, ClientTlsConfig, Identity};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

use crate::addresses::{Addresses, Tries};
use crate::environment::environment;
use crate::errors::{Error, from_status};

const WORTH_A_WORD: Duration = Duration::from_secs(2); // how long a wait has to be for people to be told of it
pub(crate) const LARGEST_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// A channel that sends the client's token with every call; generated stubs are made of it.
pub type Authenticated = InterceptedService<Channel, Bearer>;

/// Transport security, from PEM files.
///
/// Without a root certificate, the system's are used. A client certificate is given together with its key (mTLS).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tls {
    /// The certificate to trust.
    pub root_certificate: Option<PathBuf>,
    /// The bot's own certificate.
    pub client_certificate: Option<PathBuf>,
    /// The key of the bot's own certificate.
    pub client_key: Option<PathBuf>,
}

with_fields!(Tls {
    one with_root_certificate root_certificate: PathBuf;
    one with_client_certificate client_certificate: PathBuf;
    one with_client_key client_key: PathBuf;
});

impl Tls {
    /// Returns the transport security of the environment; `None`: none.
    pub(crate) fn from_environment() -> Option<Tls> {
        let file = |name| environment(name).map(PathBuf::from);
        let tls = Tls {
            root_certificate: file("ARBITER_ROOT_CERTIFICATE"),
            client_certificate: file("ARBITER_CLIENT_CERTIFICATE"),
            client_key: file("ARBITER_CLIENT_KEY"),
        };
        (tls != Tls::default()).then_some(tls)
    }

    /// Returns an endpoint that speaks TLS.
    #[cfg(feature = "tls")]
    fn secure(&self, endpoint: Endpoint) -> Result<Endpoint, Error> {
        endpoint
            .tls_config(self.config()?)
            .map_err(|error| Error::Credentials(format!("the certificates can't be used: {}", root_of(&error))))
    }

    /// Refuses, because this build has no transport security.
    #[cfg(not(feature = "tls"))]
    fn secure(&self, _: Endpoint) -> Result<Endpoint, Error> {
        let text = "this program was built without transport security: build it with the feature `tls` of its client";
        Err(Error::Credentials(text.to_owned()))
    }

    #[cfg(feature = "tls")]
    fn config(&self) -> Result<ClientTlsConfig, Error> {
        let config = match &self.root_certificate {
            Some(file) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem(file)?)),
            None => ClientTlsConfig::new().with_native_roots(),
        };
        match (&self.client_certificate, &self.client_key) {
            (None, None) => Ok(config),
            (Some(certificate), Some(key)) => Ok(config.identity(Identity::from_pem(pem(certificate)?, pem(key)?))),
            _ => {
                let text = "a client certificate and its key go together: give both, or neither";
                Err(Error::Credentials(text.to_owned()))
            }
        }
    }
}

#[cfg(feature = "tls")]
fn pem(file: &Path) -> Result<Vec<u8>, Error> {
    fs::read(file).map_err(|error| Error::Credentials(format!("can't read {}: {error}", file.display())))
}

/// Puts the token, if there is one, on every call.
#[derive(Clone, Debug, Default)]
pub struct Bearer(Arc<RwLock<Option<MetadataValue<Ascii>>>>);

impl Bearer {
    fn set(&self, token: &str) -> Result<(), Error> {
        let value = match token {
            "" => None,
            _ => Some(format!("Bearer {token}").parse().map_err(|_| {
                let text = "the token has characters that no token has: was it copied whole, and nothing but it?";
                Error::Credentials(text.to_owned())
            })?),
        };
        *self.0.write().expect("nothing panics while it holds the lock") = value;
        Ok(())
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = self.0.read().expect("nothing panics while it holds the lock").clone() {
            request.metadata_mut().insert("authorization", token);
        }
        Ok(request)
    }
}

/// Whether a request is sent again while the server can't be reached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// It may be carried out twice, or carries its id.
    Yes,
    /// It may not.
    No,
}

/// The connection to one arbiter, at one of its addresses at a time, with a token for every call.
///
/// A channel is opened when it is first used.
pub(crate) struct Connection {
    pub(crate) addresses: Arc<Addresses>,
    pub(crate) patience: Duration,
    pub(crate) timeout: Duration,
    endpoints: Vec<Endpoint>,
    bearer: Bearer,
    channel: Mutex<(usize, Channel)>, // and the place of its address
    outages: AtomicU64,
    told_of_waiting: AtomicBool,
    greetings: watch::Sender<u64>, // how many Play streams have begun
}

impl Connection {
    /// Needs a tokio runtime.
    pub(crate) fn new(
        addresses: Vec<String>,
        token: &str,
        tls: Option<&Tls>,
        timeout: Duration,
        patience: Duration,
    ) -> Result<Connection, Error> {
        let endpoints = addresses.iter().map(|address| endpoint(address, tls)).collect::<Result<Vec<_>, _>>()?;
        let channel = Mutex::new((0, endpoints[0].connect_lazy()));
        let addresses = Arc::new(Addresses::new(addresses));
        let (bearer, outages, told_of_waiting, greetings) = Default::default();
        let connection = Connection {
            addresses,
            patience,
            timeout,
            endpoints,
            bearer,
            channel,
            outages,
            told_of_waiting,
            greetings,
        };
        connection.set_token(token)?;
        Ok(connection)
    }

    /// Returns the address in use.
    pub(crate) fn address(&self) -> &str {
        self.addresses.at(self.addresses.place())
    }

    /// Returns the schedule of attempts for one caller: at which address and when to try again.
    pub(crate) fn tries(&self) -> Tries {
        Tries::new(self.addresses.clone())
    }

    pub(crate) fn set_token(&self, token: &str) -> Result<(), Error> {
        self.bearer.set(token)
    }

    pub(crate) fn channel(&self) -> Authenticated {
        let mut kept = self.channel.lock().expect("nothing panics while it holds the lock");
        let place = self.addresses.place();
        if kept.0 != place {
            *kept = (place, self.endpoints[place].connect_lazy());
        }
        InterceptedService::new(kept.1.clone(), self.bearer.clone())
    }

    /// Uses a new connection from now on, since the old one may be dead unnoticed. Calls under way end on the old one.
    pub(crate) fn renew(&self) {
        let place = self.addresses.place();
        let fresh = (place, self.endpoints[place].connect_lazy());
        *self.channel.lock().expect("nothing panics while it holds the lock") = fresh;
    }

    /// Returns the error behind the status of a failed call to the address in use.
    pub(crate) fn error(&self, status: &Status) -> Error {
        self.error_at(self.addresses.place(), status)
    }

    /// Returns the error behind the status of a failed call to the address at a place.
    pub(crate) fn error_at(&self, place: usize, status: &Status) -> Error {
        let error = from_status(status, self.addresses.at(place));
        if error.away() {
            self.outages.fetch_add(1, Ordering::Relaxed);
        }
        error
    }

    /// Returns how many calls have failed so far because the arbiter was away or busy.
    pub(crate) fn outages(&self) -> u64 {
        self.outages.load(Ordering::Relaxed)
    }

    /// Logs once that the client waits for a server that was never reached, and for how long.
    pub(crate) fn say_waiting(&self, error: &Error) {
        let told = self.told_of_waiting.swap(true, Ordering::Relaxed);
        let level = if told { Level::Debug } else { Level::Warn };
        log!(level, "{error}; trying for {:?}", self.patience);
    }

    /// Notes that a Play stream has begun: whoever waits for the arbiter waits no longer. From now on calls do not log
    /// that they wait: the stream logs that it is lost.
    pub(crate) fn greet(&self) {
        self.told_of_waiting.store(true, Ordering::Relaxed);
        self.greetings.send_modify(|count| *count += 1);
    }

    /// Returns what sees the next beginning of a Play stream.
    pub(crate) fn greeting(&self) -> watch::Receiver<u64> {
        self.greetings.subscribe()
    }

    /// Pauses after an error, but no longer than until a Play stream begins, since a clock may run from then on; it
    /// pauses longer where the arbiter is there, and asks for the pause. `greeting` is that of before the attempt that
    /// failed.
    pub(crate) async fn rest(&self, pause: Duration, mut greeting: watch::Receiver<u64>, error: &Error) {
        if error.refusal().is_some_and(|refusal| refusal.code != Code::Unavailable) {
            return sleep(pause).await;
        }
        tokio::select! {
            () = sleep(pause) => {}
            _ = greeting.changed() => {}
        }
    }

    /// Returns the answer to a request; with `Again::Yes`, sends it again for as long as the connection's patience, and
    /// to each address at least once.
    pub(crate) async fn ask<Q: Clone, A, F: Future<Output = Result<A, Status>>>(
        &self,
        request: Q,
        again: Again,
        call: impl Fn(Request<Q>) -> F,
    ) -> Result<A, Error> {
        let give_up = Instant::now() + self.patience;
        let mut tries = self.tries();
        loop {
            let (place, greeting) = (self.addresses.place(), self.greeting());
            let error = match timeout(self.timeout, call(Request::new(request.clone()))).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(status)) => self.error_at(place, &status),
                Err(_) => self.error_at(place, &Status::deadline_exceeded(format!("after {:?}", self.timeout))),
            };
            let pause = tries.failed(place, &error);
            if again == Again::No || !error.temporary() {
                return Err(error);
            }
            if pause.is_zero() {
                continue;
            }
            if Instant::now() + pause > give_up {
                return Err(tries.all_failed(error));
            }
            if matches!(error, Error::ConnectionFailed(..)) && self.patience >= WORTH_A_WORD {
                self.say_waiting(&error);
            }
            self.rest(pause, greeting, &error).await;
        }
    }
}

fn endpoint(address: &str, tls: Option<&Tls>) -> Result<Endpoint, Error> {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))
        .map_err(|_| Error::ConnectionFailed(format!("{address:?} is no address: write HOST:PORT"), None))?
        .connect_timeout(Duration::from_secs(10))
        .tcp_nodelay(true)
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10));
    match tls {
        None => Ok(endpoint),
        Some(tls) => tls.secure(endpoint),
    }
}

#[cfg(feature = "tls")]
fn root_of(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "tls")]
    #[tokio::test]
    async fn half_a_pair_of_certificate_and_key_is_named_and_so_is_a_file_that_is_not_there() {
        let half = Tls { client_key: Some("key.pem".into()), ..Tls::default() };
        let error = endpoint("localhost:1", Some(&half)).expect_err("half a pair").to_string();
        assert!(error.contains("go together"), "{error}");
        let absent = Tls { root_certificate: Some("nowhere/root.pem".into()), ..Tls::default() };
        let error = endpoint("localhost:1", Some(&absent)).expect_err("no file").to_string();
        assert!(error.starts_with("can't read nowhere/root.pem"), "{error}");
    }

    #[test]
    fn a_token_with_a_line_feed_is_named() {
        let error = Bearer::default().set("abc\n").expect_err("no token").to_string();
        assert!(error.contains("was it copied whole"), "{error}");
    }
}
