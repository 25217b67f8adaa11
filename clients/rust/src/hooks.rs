//! Functions of the program for its metrics.

use std::fmt;
use std::time::Duration;

use crate::errors::{ArbiterError, Error};
use crate::values::LiveMatch;

/// Functions of the program that a run calls, in the order of what happens. Each does nothing by default. They are called
/// between the items of the stream, so they must not wait. The log goes to the `log` crate, which has loggers of its own.
pub trait Hooks: Send + Sync + 'static {
    /// Called after each hello of a server.
    fn connected(&self, server: &str, player: &str) {
        let _ = (server, player);
    }

    /// Called when a connection after a hello is lost.
    fn disconnected(&self, server: &str, error: &Error) {
        let _ = (server, error);
    }

    /// Called when the bot has chosen for the turn at a ply, with the time from the turn's arrival to the choice.
    fn thought(&self, live: &LiveMatch, ply: i32, time: Duration) {
        let _ = (live, ply, time);
    }

    /// Called when a choice for the turn at a ply was refused.
    fn refused(&self, live: &LiveMatch, ply: i32, refusal: &ArbiterError) {
        let _ = (live, ply, refusal);
    }
}

impl fmt::Debug for dyn Hooks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Hooks")
    }
}

/// The hooks of a program that has none.
pub(crate) struct NoHooks;

impl Hooks for NoHooks {}

/// Calls a hook; a panic is logged, and costs nothing else.
pub(crate) fn hook(name: &str, call: impl FnOnce()) {
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err() {
        log::error!("the hook {name} panicked");
    }
}
