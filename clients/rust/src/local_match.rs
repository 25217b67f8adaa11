//! A match of two bots of one program, without a server that somebody runs: for experiments, and for tests of a bot.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{ChildStdin, Command, Stdio};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::bot::Bot;
use crate::client::Client;
use crate::credentials::text;
use crate::environment::environment;
use crate::errors::Error;
use crate::options::{OnError, Options};
use crate::playing::play;
use crate::profile::Profile;
use crate::proto::CreateMatchRequest;
use crate::values::FinishedMatch;

const END_WAIT: Duration = Duration::from_secs(10); // time limit for the rules to end after their match
const PLAYERS: [&str; 2] = ["seat-1", "seat-2"];

/// The terms of a local match. Start from `LocalOptions::default()`, a match without clocks from the initial position.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LocalOptions {
    /// As on a server, two with a colon for time odds; `None`: there are no clocks.
    pub time_control: Option<String>,
    /// The first moves, which nobody plays.
    pub opening: Vec<String>,
    /// The start position; `None`: the game's initial one.
    pub position: Option<String>,
    /// The arbiter's command. Else `ARBITER_COMMAND`, else `arbiter`.
    pub program: Option<String>,
}

with_fields!(LocalOptions {
    one with_time_control time_control: String;
    one with_position position: String;
    one with_program program: String;
    many with_opening opening: String;
});

/// Plays a match of two bots, in a tokio runtime, and returns its end as the bot of seat 1 sees it; its `live` has the
/// moves. It starts `arbiter rules serve`, so the arbiter is to be installed. The bots are called and judged as on any
/// server, and their own calls work; their names are seat-1 and seat-2. Dropping the future ends the match.
///
/// Fails with `Error::Arbiter` for an unknown game, a wrong time control, position or opening, `Error::BotFailed` for an
/// error of a bot, and `Error::ConnectionFailed` if the rules can't be started or end before the match.
pub async fn local_match(
    first: impl Bot,
    second: impl Bot,
    game: &str,
    options: LocalOptions,
) -> Result<FinishedMatch, Error> {
    let named = options.program.clone().or_else(|| environment("ARBITER_COMMAND"));
    let mut rules = Rules::start(&named.unwrap_or_else(|| "arbiter".to_owned())).await?;
    let played = rules.play(first, second, game, options).await;
    drop(rules.input.take());
    if !rules.lost {
        let _ = timeout(END_WAIT, &mut rules.over).await; // it ends by itself
    }
    played
}

/// A process of `arbiter rules serve`; it ends once its input is closed. `over`: the error that it has ended too early.
struct Rules {
    server: String,
    tokens: BTreeMap<String, String>,
    input: Option<ChildStdin>,
    over: oneshot::Receiver<Error>,
    lost: bool,
}

impl Rules {
    async fn start(program: &str) -> Result<Rules, Error> {
        let command = format!("`{program} rules serve`");
        let failed = |error| {
            let hint = "install game-arbiter, or name its command in ARBITER_COMMAND";
            Error::ConnectionFailed(format!("can't start {command}: {error}: {hint}"), None)
        };
        let process = Command::new(program)
            .args(["rules", "serve"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut process = process.map_err(failed)?;
        let input = process.stdin.take();
        let (output, errors) = (process.stdout.take().expect("a pipe"), process.stderr.take().expect("a pipe"));
        let (said, line) = oneshot::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let _ = BufReader::new(output).read_line(&mut line); // an empty line if it has ended
            let _ = said.send(line);
        });
        let (ended, over) = oneshot::channel();
        thread::spawn(move || {
            let last = BufReader::new(errors).lines().map_while(Result::ok).last().unwrap_or_default();
            let how = process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            let colon = if last.is_empty() { "" } else { ": " };
            let text = format!("{command} has ended before the match: {how}{colon}{last}");
            let _ = ended.send(Error::ConnectionFailed(text, None));
        });
        let said = line.await.unwrap_or_default();
        let place = text::parse(&said).ok().and_then(|(entries, _)| entries.into_iter().next());
        let Some((server, tokens)) = place else {
            drop(input);
            return Err(gone(over.await));
        };
        Ok(Rules { server, tokens, input, over, lost: false })
    }

    /// Makes the match, and plays it by two runs; an error of one ends the other.
    async fn play(
        &mut self,
        first: impl Bot,
        second: impl Bot,
        game: &str,
        options: LocalOptions,
    ) -> Result<FinishedMatch, Error> {
        let request = CreateMatchRequest {
            game: game.to_owned(),
            players: PLAYERS.map(str::to_owned).to_vec(),
            time_control: options.time_control.unwrap_or_else(|| "none".to_owned()),
            opening: options.opening,
            position: options.position.unwrap_or_default(),
            ..Default::default()
        };
        Client::new(&self.options("admin"))?.create_match(request).await?;
        let (ends, mut told) = mpsc::unbounded_channel();
        let own = Options { ends: Some(ends), ..self.seat(PLAYERS[0], first.profile()) };
        let other = self.seat(PLAYERS[1], second.profile());
        let runs = async { tokio::try_join!(play(first, own), play(second, other)) };
        tokio::select! {
            played = runs => played.map(drop)?,
            ended = &mut self.over => {
                self.lost = true;
                return Err(gone(ended));
            }
        }
        let missing = || Error::ConnectionFailed("the bot of seat 1 was not told of the end".to_owned(), None);
        told.try_recv().map_err(|_| missing())
    }

    fn options(&self, player: &str) -> Options {
        let token = self.tokens.get(player).cloned().unwrap_or_default();
        let plain = Options { no_tls: true, ..Options::default() };
        plain.with_server(&self.server).with_name(player).with_token(token)
    }

    /// Returns the options of a run that looks for no other matches.
    fn seat(&self, player: &str, own: Profile) -> Options {
        let profile = Profile {
            version: own.version,
            capabilities: own.capabilities,
            extras: own.extras,
            ..Profile::named(own.name).with_accept_challenges(false)
        };
        self.options(player).with_profile(profile).with_matches(1u64).with_on_error(OnError::Raise)
    }
}

fn gone(ended: Result<Error, oneshot::error::RecvError>) -> Error {
    ended.unwrap_or_else(|_| Error::ConnectionFailed("the rules have ended before the match".to_owned(), None))
}
