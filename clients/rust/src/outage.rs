//! What is said of an outage: one line when the connection is gone, and one when it is back. All between is a detail.

use std::time::{Duration, Instant};

use log::Level;

use crate::errors::Error;

/// A connection, or the calls of one task, that may fail for a while.
#[derive(Default)]
pub(crate) struct Outage {
    since: Option<Instant>,
}

impl Outage {
    /// Returns how much a failure matters: the first one of an outage is a warning.
    pub(crate) fn failed(&mut self) -> Level {
        if self.since.is_some() {
            return Level::Debug;
        }
        self.since = Some(Instant::now());
        Level::Warn
    }

    /// Returns how much the failure of a call matters: a lost connection is told of by its session.
    pub(crate) fn call_failed(&mut self, error: &(dyn std::error::Error + 'static)) -> Level {
        match error.downcast_ref::<Error>() {
            Some(Error::ConnectionFailed(..)) => Level::Debug,
            _ => self.failed(),
        }
    }

    /// Ends the outage; returns how long it was, if there was one.
    pub(crate) fn over(&mut self) -> Option<Duration> {
        self.since.take().map(|since| since.elapsed())
    }
}
