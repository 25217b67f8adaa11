//! Errors: refusals of the arbiter, failures to reach it, and failures of the bot.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use prost::Message;
use tonic::{Code, Status};

use crate::proto;
pub use crate::proto::RefusalReason as Reason;

const MOST_DIGITS: usize = 15; // of a pause in milliseconds; an honest server does not ask for a longer one

/// What a bot's own code may fail with: any error at all.
pub type BotError = Box<dyn StdError + Send + Sync>;

/// The error of this crate. Its text is a sentence for people.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A refusal of the arbiter.
    Arbiter(ArbiterError),
    /// No arbiter answers; the text says where, why, and what to do. The same request may succeed later. The
    /// transport's error, where there was one, is its [`source`](StdError::source).
    ConnectionFailed(String, Option<Box<Status>>),
    /// A token, certificate or credentials file can't be used; the text says which, and what to do.
    Credentials(String),
    /// The bot failed: an error, or a panic, that it was not to survive (`OnError::Raise`).
    BotFailed {
        /// Where: the bot, the match and the ply, or the callback.
        place: String,
        /// What the bot failed with.
        source: BotError,
    },
}

impl Error {
    /// Returns the arbiter's refusal, if it is one.
    pub fn refusal(&self) -> Option<&ArbiterError> {
        match self {
            Error::Arbiter(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Returns the reason of the arbiter's refusal, if it is one.
    pub fn reason(&self) -> Option<Reason> {
        self.refusal().map(|refusal| refusal.reason)
    }

    /// Returns whether the same request may succeed later.
    pub fn temporary(&self) -> bool {
        match self {
            Error::Arbiter(refusal) => refusal.temporary(),
            Error::ConnectionFailed(..) => true,
            _ => false,
        }
    }

    /// Returns whether the arbiter was away or busy.
    pub(crate) fn away(&self) -> bool {
        matches!(self, Error::ConnectionFailed(..)) || self.refusal().is_some_and(ArbiterError::away)
    }

    /// Returns the pause that the arbiter asks for before the same request again; zero if it asks for none.
    pub fn retry_after(&self) -> Duration {
        self.refusal().map_or(Duration::ZERO, ArbiterError::retry_after)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Arbiter(refusal) => refusal.fmt(out),
            Error::ConnectionFailed(text, _) | Error::Credentials(text) => out.write_str(text),
            Error::BotFailed { place, source } => write!(out, "{place}: {source}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Error::BotFailed { source, .. } => Some(source.as_ref()),
            Error::Arbiter(refusal) => refusal.source(),
            Error::ConnectionFailed(_, Some(status)) => Some(status.as_ref()),
            _ => None,
        }
    }
}

impl From<ArbiterError> for Error {
    fn from(refusal: ArbiterError) -> Error {
        Error::Arbiter(refusal)
    }
}

/// A refusal of the arbiter: a reason, a sentence for people, and facts for programs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ArbiterError {
    /// Why; `Reason::Unspecified` where it is newer than this client, or not from the arbiter: decide by the code.
    pub reason: Reason,
    /// For people.
    pub message: String,
    /// The status code, which says what to do next where the reason is not known.
    pub code: Code,
    /// For programs: the facts that the protocol (refusal.proto) lists at each reason.
    pub facts: BTreeMap<String, String>,
    pub(crate) status: Option<Box<Status>>,
}

impl PartialEq for ArbiterError {
    /// Returns whether the arbiter's refusals are the same, however they arrived.
    fn eq(&self, other: &ArbiterError) -> bool {
        let said = |error: &ArbiterError| (error.reason, error.code, error.message.clone(), error.facts.clone());
        said(self) == said(other)
    }
}

impl ArbiterError {
    /// Returns the arbiter's refusal of something that the program gave: what and where it is, and what is allowed.
    pub(crate) fn invalid(what: &str, place: &str, allowed: &str, message: String) -> ArbiterError {
        let facts = [("what", what), ("where", place), ("allowed", allowed)];
        ArbiterError {
            reason: Reason::ParameterInvalid,
            message,
            code: Code::InvalidArgument,
            facts: BTreeMap::from(facts.map(|(fact, value)| (fact.to_owned(), value.to_owned()))),
            status: None,
        }
    }

    /// Returns whether the same request may succeed later.
    pub fn temporary(&self) -> bool {
        matches!(self.code, Code::Unavailable | Code::ResourceExhausted)
    }

    /// Returns whether the arbiter was away or busy. A temporary status without a reason counts as well: an arbiter
    /// names one.
    pub(crate) fn away(&self) -> bool {
        self.temporary() || (self.reason == Reason::Unspecified && self.passing())
    }

    /// Returns whether another stream, or another attempt, may succeed.
    pub(crate) fn passing(&self) -> bool {
        matches!(
            self.code,
            Code::Unavailable
                | Code::ResourceExhausted
                | Code::Aborted
                | Code::Internal
                | Code::Unknown
                | Code::Cancelled
                | Code::DeadlineExceeded
        )
    }

    /// Returns the pause that the arbiter asks for before the same request again; zero if it asks for none.
    pub fn retry_after(&self) -> Duration {
        let honest = |text: &&String| text.len() <= MOST_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
        let told = self.facts.get("retry_after_ms").filter(honest);
        Duration::from_millis(told.and_then(|text| text.parse().ok()).unwrap_or(0))
    }
}

impl fmt::Display for ArbiterError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl StdError for ArbiterError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.status.as_deref().map(|status| status as &(dyn StdError + 'static))
    }
}

/// Returns whether an error, or one behind it, shows that the arbiter was away or busy.
pub(crate) fn comes_of_an_outage(error: &(dyn StdError + 'static)) -> bool {
    let mut found = Some(error);
    while let Some(each) = found {
        let own = each.downcast_ref::<Error>().is_some_and(Error::away);
        let refused = each.downcast_ref::<ArbiterError>().is_some_and(ArbiterError::away);
        if own || refused || each.downcast_ref::<Status>().is_some_and(|status| status.code() == Code::Unavailable) {
            return true;
        }
        found = each.source();
    }
    false
}

impl From<proto::Refusal> for ArbiterError {
    fn from(refusal: proto::Refusal) -> ArbiterError {
        ArbiterError {
            reason: refusal.reason(),
            code: match Code::from_i32(refusal.code) {
                Code::Ok => Code::Unknown, // no code of an error
                code => code,
            },
            message: refusal.message,
            facts: refusal.facts.into_iter().collect(),
            status: None,
        }
    }
}

/// Returns the error behind a failed call to the server at an address.
pub(crate) fn from_status(status: &Status, address: &str) -> Error {
    let behind = Some(Box::new(status.clone()));
    if let Some(refusal) = refusal_in(status.details()) {
        return Error::Arbiter(ArbiterError { status: behind, ..refusal.into() });
    }
    let details = details(status);
    // A status with a cause was not sent by the server: it was made here, when the connection failed.
    if status.code() == Code::Unavailable || status.source().is_some() {
        let hint = "is it running there, are host and port right, and does it speak TLS or not as you do?";
        return Error::ConnectionFailed(format!("no arbiter answers at {address}: {hint} ({details})"), behind);
    }
    if status.code() == Code::DeadlineExceeded {
        let text = format!("the arbiter at {address} did not answer in time: try again ({details})");
        return Error::ConnectionFailed(text, behind);
    }
    let message = match status.code() {
        Code::Unimplemented => format!(
            "what answers at {address} is no arbiter, or one of another version: is the port right? ({details})"
        ),
        _ => details,
    };
    let (reason, code, facts) = (Reason::Unspecified, status.code(), BTreeMap::new());
    Error::Arbiter(ArbiterError { reason, message, code, facts, status: behind })
}

/// Returns the message of a status, for people.
pub(crate) fn details(status: &Status) -> String {
    match innermost(status) {
        Some(cause) => format!("{}: {cause}", status.message()),
        None if status.message().is_empty() => "no further word".to_owned(),
        None => status.message().to_owned(),
    }
}

fn innermost(status: &Status) -> Option<&dyn StdError> {
    let mut found = status.source()?;
    while let Some(deeper) = found.source() {
        found = deeper;
    }
    Some(found)
}

/// What is read of a `google.rpc.Status`.
#[derive(Clone, PartialEq, prost::Message)]
struct StatusDetails {
    #[prost(message, repeated, tag = "3")]
    details: Vec<AnyMessage>,
}

/// A `google.protobuf.Any`.
#[derive(Clone, PartialEq, prost::Message)]
struct AnyMessage {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// Returns the refusal in the details of a status: the bytes of a `google.rpc.Status`.
pub(crate) fn refusal_in(details: &[u8]) -> Option<proto::Refusal> {
    let status = StatusDetails::decode(details).ok()?;
    let any = status.details.iter().find(|any| any.type_url.ends_with("/arbiter.v1.Refusal"))?;
    proto::Refusal::decode(any.value.as_slice()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_that_no_clock_can_count_is_none() {
        for (text, pause) in [("250", 250), (&"9".repeat(15), 999_999_999_999_999), (&"9".repeat(16), 0), ("-1", 0)] {
            let refusal = ArbiterError {
                reason: Reason::Draining,
                message: String::new(),
                code: Code::Unavailable,
                facts: [("retry_after_ms".to_owned(), text.to_owned())].into(),
                status: None,
            };
            assert_eq!(refusal.retry_after(), Duration::from_millis(pause));
        }
    }

    #[derive(Debug)]
    struct Own(BotError);

    impl fmt::Display for Own {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("an error of the bot's own")
        }
    }

    impl StdError for Own {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(self.0.as_ref())
        }
    }

    #[test]
    fn an_outage_is_found_behind_whatever_wraps_it_and_so_is_the_transports_error() {
        let lost = || from_status(&Status::unavailable("gone"), "here:1");
        assert!(lost().source().is_some_and(|source| source.is::<Status>()));
        let unnamed = || from_status(&Status::internal("reset"), "here:1");
        let wrapped: [BotError; 4] = [
            lost().into(),
            Own(lost().into()).into(),
            Own(Own(unnamed().into()).into()).into(),
            Status::unavailable("").into(),
        ];
        for error in wrapped {
            assert!(comes_of_an_outage(error.as_ref()), "{error:?}");
        }
        let others: [BotError; 2] =
            [Own("a mistake".into()).into(), from_status(&Status::not_found(""), "here:1").into()];
        for error in others {
            assert!(!comes_of_an_outage(error.as_ref()), "{error:?}");
        }
    }
}
