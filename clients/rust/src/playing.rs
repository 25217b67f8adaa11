//! Playing a bot: `run` for programs that do nothing else, `play` for those with a runtime of their own.

use std::sync::Arc;
use std::time::Duration;

use log::warn;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use crate::bot::Bot;
use crate::calling::{Caller, Tasks};
use crate::client::{Client, TokenFrom};
use crate::errors::{ArbiterError, Error, Reason};
use crate::events::Event;
use crate::hooks::NoHooks;
use crate::options::Options;
use crate::outbox::Outbox;
use crate::policies::Policies;
use crate::runner::{Runner, Thinkers};
use crate::seeking::Seeker;
use crate::session::Session;
use crate::slots::MatchSlots;

const USUAL_PATIENCE: Duration = Duration::from_secs(10);
const WITHDRAWAL_WAIT: Duration = Duration::from_secs(2); // time limit for withdrawing the bot's seeks
const FAREWELL_WAIT: Duration = Duration::from_secs(5); // time limit for the server to end the stream after the bot

/// Plays a bot until it is done (`options.matches`), or told to stop by Ctrl-C or SIGTERM.
///
/// Makes a tokio runtime of its own: in a program that has one, use [`play`]. Fails with `Error::Arbiter` if the server
/// refuses the bot (SESSION_SUPERSEDED: the same player plays elsewhere), or before anything is sent if one of its time
/// controls is none (PARAMETER_INVALID); `Error::ConnectionFailed` where it was never
/// reached, `Error::Credentials`, and `Error::BotFailed` with `OnError::Raise`.
pub fn run(bot: impl Bot, options: Options) -> Result<(), Error> {
    block_on(play_until(bot, options, told_to_stop()))
}

/// Waits for async work, such as calls of a client, in a tokio runtime of its own. For programs that have none.
pub fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = Runtime::new()
        .map_err(|error| Error::ConnectionFailed(format!("there are no threads to wait with: {error}"), None))?;
    let done = runtime.block_on(work);
    runtime.shutdown_background(); // a choice that is still computed must not delay the end of the program
    done
}

/// Plays a bot, in a tokio runtime, until it is done; for ever, unless `options.matches` says otherwise. Dropping the
/// future ends it at once. Fails as [`run`] does.
pub async fn play(bot: impl Bot, options: Options) -> Result<(), Error> {
    play_until(bot, options, std::future::pending()).await
}

/// Plays a bot as [`play`] does, or until `stop` is done: then its last acts are sent, the stream is closed, and the
/// server's end awaited, for at most 5 s.
pub async fn play_until(bot: impl Bot, options: Options, stop: impl Future<Output = ()>) -> Result<(), Error> {
    let profile = Arc::new(options.profile.clone().unwrap_or_else(|| bot.profile()));
    profile.check_time_controls()?;
    let client = Client::open(&options, &profile.name, USUAL_PATIENCE)?;
    tokio::pin!(stop);
    tokio::select! {
        ready = log_in(&client, &options.invitation) => ready?,
        () = &mut stop => return Ok(()),
    }
    let (events, inbox) = mpsc::unbounded_channel();
    let hooks = options.hooks.clone().unwrap_or_else(|| Arc::new(NoHooks));
    let caller = Caller::new(Arc::new(bot), &profile.name, options.on_error, events.clone(), hooks.clone());
    let caller = Arc::new(caller);
    let outbox = Arc::new(Outbox::new());
    let slots = Arc::new(MatchSlots::new(profile.most_matches, options.matches));
    let seeker = Arc::new(Seeker::new(&profile.seeks, client.clone(), slots.clone()));
    let mut seeking = Tasks::default(); // outlives the runner: a seek that is being made is withdrawn once it is known
    let (seeks, failures) = (seeker.clone(), events.clone());
    seeking.spawn(async move {
        if let Err(refusal) = seeks.run().await {
            let _ = failures.send(Event::Failed(refusal)); // the run has ended
        }
    });
    let policies = Policies::new(caller.clone(), client.clone(), profile.clone(), slots.clone(), seeker.clone());
    let thinkers = Arc::new(Thinkers::new(caller.clone(), client.clone(), options.thinkers, events.clone()));
    let (halt, halted) = watch::channel(false);
    let session = Session::new(profile, client, outbox.clone(), events.clone(), hooks, halted).run();
    let runner = Runner::new(caller, outbox.clone(), slots, thinkers, policies, events.clone());
    let runner = runner.telling(options.ends).run(inbox, options.matches);
    tokio::pin!(session, runner);
    let outcome = tokio::select! {
        ended = &mut session => return ended,
        done = &mut runner => done,
        () = &mut stop => {
            let _ = events.send(Event::Stop); // it can only have stopped by itself
            runner.await
        }
    };
    let farewell = async {
        match timeout(WITHDRAWAL_WAIT, seeker.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!("the bot's seeks may still be open: {error}"),
            Err(_) => warn!("the bot's seeks may still be open: the arbiter does not answer"),
        }
        let _ = halt.send(true); // the session is there
        outbox.close();
        sleep(FAREWELL_WAIT).await;
    };
    tokio::select! {
        _ = session => {} // however it ends, the bot has said what it had to
        () = farewell => {}
    }
    outcome
}

/// Makes sure that the client has a token: that of an existing player, or of one that is registered now.
async fn log_in(client: &Client, invitation: &str) -> Result<(), Error> {
    match client.token_from() {
        TokenFrom::Given => Ok(()),
        TokenFrom::Nowhere => register(client, invitation).await,
        TokenFrom::File => match client.myself().await {
            // The stored token is unknown: the server at this address has a new database.
            Err(error) if error.reason() == Some(Reason::TokenInvalid) => {
                client.connection().set_token("")?;
                register(client, invitation).await
            }
            known => known.map(drop),
        },
    }
}

async fn register(client: &Client, invitation: &str) -> Result<(), Error> {
    let name = client.name();
    if name.is_empty() {
        let text = "who plays? Give a name to register (ARBITER_NAME), or a token (ARBITER_TOKEN)";
        return Err(Error::Credentials(text.to_owned()));
    }
    // A registration is not repeated, so first wait for a server that answers, as long as patience allows.
    if let Err(error @ Error::ConnectionFailed(..)) = client.server_info().await {
        return Err(error);
    }
    let file = client.credentials();
    let registered = client.register_player(name, "", invitation).await.map_err(|error| match error {
        Error::Arbiter(refusal) if refusal.reason == Reason::PlayerExists => {
            let hint =
                format!("give its token (ARBITER_TOKEN) or another name; {} has none for it", file.path().display());
            ArbiterError { message: format!("there is a player {name} already: {hint}"), ..refusal }.into()
        }
        other => other,
    })?;
    file.save(&client.servers(), name, &registered.token)?;
    client.connection().set_token(&registered.token)
}

/// Waits for Ctrl-C or SIGTERM.
async fn told_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminated.recv() => return,
                _ = tokio::signal::ctrl_c() => return,
            }
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
