//! The options of a run or a client, and the sources of absent ones.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use crate::channel::Tls;
use crate::hooks::Hooks;
use crate::profile::Profile;
use crate::values::FinishedMatch;

/// The cost of a bot's error in its turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// The match: it is resigned.
    #[default]
    Resign,
    /// The time on its clock: no act is sent.
    Wait,
    /// The whole run, which ends with `Error::BotFailed`.
    Raise,
}

/// Options of [`run`](crate::run), [`play`](crate::play) and [`Client::new`](crate::Client::new). Start from
/// `Options::default()` and change those that matter, `.with_matches(3)`; what is `None` comes from the environment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// HOST:PORT, or several addresses of one arbiter with commas between them. Else `ARBITER_SERVER`, else `127.0.0.1:7400`.
    pub server: Option<String>,
    /// The player. Else `ARBITER_NAME`, else the bot's name.
    pub name: Option<String>,
    /// The player's token. Else `ARBITER_TOKEN`, else the entry of the credentials file; a run without any of them
    /// registers the player and keeps its token there.
    pub token: Option<String>,
    /// Transport security. Else that of `ARBITER_ROOT_CERTIFICATE`, `ARBITER_CLIENT_CERTIFICATE` and
    /// `ARBITER_CLIENT_KEY`, else none.
    pub tls: Option<Tls>,
    /// The credentials file. Else `ARBITER_CREDENTIALS`, else `arbiter/credentials.json` in `$XDG_CONFIG_HOME` or
    /// `~/.config`.
    pub credentials: Option<PathBuf>,
    /// How long a server that was never reached is tried: by default 10 s for a run and 1 s for a call. A stream that
    /// is lost is tried again for ever.
    pub patience: Option<Duration>,
    /// How long one call may take; 30 s by default.
    pub timeout: Duration,
    /// An invitation to register with, where one is needed.
    pub invitation: String,
    /// Stop after so many matches have ended; `None`: never. The bot agrees to no more than that, and plays those under
    /// way to their end.
    pub matches: Option<u64>,
    /// How many choices are under way at once, at most.
    pub thinkers: usize,
    /// The cost of a bot's error.
    pub on_error: OnError,
    /// The profile of the bot, instead of that of [`Bot::profile`](crate::Bot::profile).
    pub profile: Option<Profile>,
    /// Functions of the program for its metrics.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Gets the end of each match, once the bot has been told of it.
    pub(crate) ends: Option<UnboundedSender<FinishedMatch>>,
    /// Whether it is plain text, without regard to the environment.
    pub(crate) no_tls: bool,
}

impl Options {
    /// Returns it with these `hooks`.
    #[must_use]
    pub fn with_hooks(mut self, hooks: impl Hooks) -> Options {
        self.hooks = Some(Arc::new(hooks));
        self
    }
}

with_fields!(Options {
    one with_server server: String;
    one with_name name: String;
    one with_token token: String;
    one with_tls tls: Tls;
    one with_credentials credentials: PathBuf;
    one with_patience patience: Duration;
    one with_timeout timeout: Duration;
    one with_invitation invitation: String;
    one with_matches matches: u64;
    one with_thinkers thinkers: usize;
    one with_on_error on_error: OnError;
    one with_profile profile: Profile;
});

impl Default for Options {
    fn default() -> Options {
        Options {
            server: None,
            name: None,
            token: None,
            tls: None,
            credentials: None,
            patience: None,
            timeout: Duration::from_secs(30),
            invitation: String::new(),
            matches: None,
            thinkers: 8,
            on_error: OnError::default(),
            profile: None,
            hooks: None,
            ends: None,
            no_tls: false,
        }
    }
}
