//! The addresses of one arbiter: which one is in use, and which one to try next if a call fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tonic::{Code, Status};

use crate::backoff::Backoff;
use crate::errors::Error;

/// The default address of `arbiter serve`.
pub const DEFAULT_SERVER: &str = "127.0.0.1:7400";

/// Returns the addresses of a list with commas, each HOST:PORT.
pub(crate) fn checked_addresses(text: &str) -> Result<Vec<String>, Error> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let mut found: Vec<String> = Vec::new();
    for (place, address) in parts.iter().enumerate() {
        if !is_address(address) {
            let which = match parts.len() {
                1 => String::new(),
                many => format!(" (number {} of {many})", place + 1),
            };
            let how = format!("write HOST:PORT, such as {DEFAULT_SERVER} or [::1]:7400, and commas between several");
            return Err(Error::ConnectionFailed(format!("{address:?}{which} is no address: {how}"), None));
        }
        if !found.iter().any(|known| known == address) {
            found.push((*address).to_owned());
        }
    }
    Ok(found)
}

fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let bare = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    !host.is_empty() && !bare && !text.contains(' ') && digits && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// The addresses of one arbiter, all equivalent; a place is the index of one. All calls of a client use the current
/// one.
pub(crate) struct Addresses {
    pub(crate) listed: Vec<String>,
    current: AtomicUsize,
}

impl Addresses {
    pub(crate) fn new(listed: Vec<String>) -> Addresses {
        Addresses { listed, current: AtomicUsize::new(0) }
    }

    pub(crate) fn place(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    pub(crate) fn at(&self, place: usize) -> &str {
        &self.listed[place]
    }
}

/// The attempts of one caller: at the next address at once, and after a pause once all addresses have failed.
pub(crate) struct Tries {
    addresses: Arc<Addresses>,
    backoff: Backoff,
    failed: BTreeMap<usize, (String, Duration)>, // since the last pause, by place: the reason, and the pause
}

impl Tries {
    pub(crate) fn new(addresses: Arc<Addresses>) -> Tries {
        Tries { addresses, backoff: Backoff::default(), failed: BTreeMap::new() }
    }

    /// Returns the pause after an attempt at a place: zero if another one is to be tried first. The next one is chosen
    /// if no arbiter answers at this one, or if it refuses every call for now.
    pub(crate) fn failed(&mut self, place: usize, error: &Error) -> Duration {
        if !leaves(error) {
            return self.backoff.next(error.retry_after());
        }
        let many = self.addresses.listed.len();
        if self.failed.len() == many {
            self.failed.clear();
        }
        self.failed.insert(place, (why(error), error.retry_after()));
        let untried = (1..many).map(|step| (place + step) % many).find(|other| !self.failed.contains_key(other));
        if self.failed.contains_key(&self.addresses.place()) {
            self.addresses.current.store(untried.unwrap_or((place + 1) % many), Ordering::Relaxed);
        }
        match untried {
            Some(_) => Duration::ZERO,
            None => self.backoff.next(self.failed.values().map(|(_, asked)| *asked).min().unwrap_or_default()),
        }
    }

    /// Returns the error to report after the last attempt: its error, or one that names all addresses.
    pub(crate) fn all_failed(&self, last: Error) -> Error {
        if self.failed.len() < self.addresses.listed.len().max(2) {
            return last;
        }
        let named = |(place, (why, _)): (&usize, &(String, Duration))| format!("{} ({why})", self.addresses.at(*place));
        let each: Vec<String> = self.failed.iter().map(named).collect();
        let hint = "is one running there, are hosts and ports right, and does it speak TLS or not as you do?";
        let text = format!("no arbiter answers at {}: {hint}", each.join(", nor at "));
        let status = match last {
            Error::ConnectionFailed(_, status) => status,
            Error::Arbiter(refusal) => Some(Box::new(Status::unavailable(refusal.message))),
            _ => None,
        };
        Error::ConnectionFailed(text, status)
    }

    /// Starts again from the first pause, after a success.
    pub(crate) fn reset(&mut self) {
        self.failed.clear();
        self.backoff.reset();
    }
}

fn leaves(error: &Error) -> bool {
    match error {
        Error::ConnectionFailed(..) => true,
        Error::Arbiter(refusal) => refusal.code == Code::Unavailable,
        _ => false,
    }
}

/// Returns the description of a failure by gRPC or by the arbiter.
fn why(error: &Error) -> String {
    match error {
        Error::ConnectionFailed(_, Some(status)) => crate::errors::details(status),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::{ArbiterError, Reason};

    #[test]
    fn an_address_is_host_and_port_and_several_stand_between_commas() {
        for good in ["127.0.0.1:7400", "localhost:1", "[::1]:65535"] {
            assert_eq!(checked_addresses(good).expect("it is an address"), [good]);
        }
        assert_eq!(checked_addresses(" a:1 , [::1]:2,a:1").expect("addresses"), ["a:1", "[::1]:2"]);
        let single = ["", "localhost", ":7400", "localhost:", "localhost:0", "localhost:65536", "localhost:+1"];
        for bad in single.into_iter().chain(["http://x", "::1:7400", "a:1 b:2"]) {
            let error = checked_addresses(bad).expect_err("it is no address").to_string();
            let said =
                "is no address: write HOST:PORT, such as 127.0.0.1:7400 or [::1]:7400, and commas between several";
            assert!(error.contains(said), "{error}");
        }
        for (bad, said) in
            [("a:1,b", "\"b\" (number 2 of 2)"), ("a:1,", "\"\" (number 2 of 2)"), ("a,b:1", "\"a\" (number 1 of 2)")]
        {
            let error = checked_addresses(bad).expect_err("it is no address").to_string();
            assert!(error.starts_with(&format!("{said} is no address")), "{error}");
        }
    }

    #[test]
    fn all_addresses_are_tried_before_there_is_a_pause() {
        let refusal = |reason, code| {
            let facts = [("retry_after_ms".to_owned(), "9000".to_owned())].into();
            Error::Arbiter(ArbiterError { reason, message: String::new(), code, facts, status: None })
        };
        let listed = ["a:1", "b:1", "c:1"].map(str::to_owned).to_vec();
        let addresses = Arc::new(Addresses::new(listed));
        let mut tries = Tries::new(addresses.clone());
        let gone = || Error::ConnectionFailed("gone".to_owned(), None);
        let limited = refusal(Reason::RateLimited, Code::ResourceExhausted);
        assert!(tries.failed(0, &limited) >= Duration::from_secs(9));
        assert_eq!(addresses.place(), 0, "what is refused to one caller is no reason to leave");
        tries.reset();
        assert_eq!(tries.failed(0, &gone()), Duration::ZERO);
        assert_eq!(tries.failed(1, &refusal(Reason::Draining, Code::Unavailable)), Duration::ZERO);
        assert_eq!(addresses.place(), 2);
        let pause = tries.failed(2, &gone());
        assert!(
            pause > Duration::ZERO && pause <= Duration::from_millis(100),
            "the least that is asked for: {pause:?}"
        );
        assert_eq!(addresses.place(), 0);
        let text = tries.all_failed(gone()).to_string();
        assert!(
            text.starts_with("no arbiter answers at a:1 (gone), nor at b:1 (), nor at c:1 (gone): is one"),
            "{text}"
        );
    }
}
