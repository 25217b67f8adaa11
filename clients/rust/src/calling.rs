//! Calling the bot: in a thread, so that it is never in the way of the stream.

use std::any::Any;
use std::sync::Arc;

use log::error;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{AbortHandle, JoinSet, spawn_blocking};

use crate::bot::AnyBot;
use crate::errors::{BotError, Error};
use crate::events::Event;
use crate::hooks::Hooks;
use crate::options::OnError;

/// Calls a bot's methods.
pub(crate) struct Caller {
    bot: Arc<dyn AnyBot>,
    name: String,
    on_error: OnError,
    events: UnboundedSender<Event>,
    pub(crate) hooks: Arc<dyn Hooks>,
}

impl Caller {
    /// `events` gets the failure that ends the run.
    pub(crate) fn new(
        bot: Arc<dyn AnyBot>,
        name: &str,
        on_error: OnError,
        events: UnboundedSender<Event>,
        hooks: Arc<dyn Hooks>,
    ) -> Caller {
        let name = if name.is_empty() { "the bot" } else { name };
        Caller { bot, name: name.to_owned(), on_error, events, hooks }
    }

    /// Returns the result of a method of the bot; a panic is an error. A caller that is dropped leaves it running.
    pub(crate) async fn call<R: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn AnyBot) -> R + Send + 'static,
    ) -> Result<R, BotError> {
        let bot = self.bot.clone();
        spawn_blocking(move || work(&*bot)).await.map_err(|failure| match failure.try_into_panic() {
            Ok(cause) => format!("it panicked: {}", words(&*cause)).into(),
            Err(failure) => failure.into(),
        })
    }

    /// Returns the result of a callback, or the default if it panics.
    pub(crate) async fn callback<R: Send + 'static>(
        &self,
        name: &str,
        default: R,
        work: impl FnOnce(&dyn AnyBot) -> R + Send + 'static,
    ) -> R {
        self.call(work).await.unwrap_or_else(|failure| {
            let place = format!("{} failed in {name}", self.name);
            if self.on_error == OnError::Raise {
                self.stop_for(place, failure);
            } else {
                error!("{place}: {failure}");
            }
            default
        })
    }

    /// Handles an error of the bot in its turn: logs it, and returns whether to resign by the run's policy.
    pub(crate) fn failed(&self, match_id: &str, ply: i32, failure: BotError) -> bool {
        let place = format!("{} failed in match {match_id} at ply {ply}", self.name);
        match self.on_error {
            OnError::Raise => self.stop_for(place, failure),
            OnError::Resign => error!("{place}, and it resigns: {failure}"),
            OnError::Wait => error!("{place}, and its clock runs on: {failure}"),
        }
        self.on_error == OnError::Resign
    }

    fn stop_for(&self, place: String, source: BotError) {
        let _ = self.events.send(Event::Failed(Error::BotFailed { place, source })); // nobody listens once the run has ended
    }
}

fn words(cause: &(dyn Any + Send)) -> &str {
    let text = cause.downcast_ref::<&str>().copied();
    text.or_else(|| cause.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

/// Background work, which ends with its owner.
#[derive(Default)]
pub(crate) struct Tasks(JoinSet<()>);

impl Tasks {
    pub(crate) fn spawn(&mut self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        while let Some(done) = self.0.try_join_next() {
            // A panic of the client itself must not get lost in a background task.
            if let Err(failure) = done
                && let Ok(cause) = failure.try_into_panic()
            {
                std::panic::resume_unwind(cause);
            }
        }
        self.0.spawn(work)
    }
}
