//! Thoughts: from a turn's message to the bot's choice, beside everything else.

use std::sync::Arc;
use std::time::Duration;

use log::{debug, log};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use super::seats::Thought;
use crate::backoff::Backoff;
use crate::bot::{Answering, AnyBot, Choice};
use crate::calling::Caller;
use crate::client::Client;
use crate::errors::{ArbiterError, BotError, Error, comes_of_an_outage};
use crate::events::{Chosen, Event};
use crate::hooks::hook;
use crate::outage::Outage;
use crate::proto;
use crate::turn::{Told, Turn};
use crate::values::{LiveMatch, joined};

/// Asks the bot for its choices, with a limit on how many are under way at once.
pub(crate) struct Thinkers {
    caller: Arc<Caller>,
    client: Client,
    free: Arc<Semaphore>,
    events: UnboundedSender<Event>,
}

impl Thinkers {
    pub(crate) fn new(caller: Arc<Caller>, client: Client, most: usize, events: UnboundedSender<Event>) -> Thinkers {
        Thinkers { caller, client, free: Arc::new(Semaphore::new(most.max(1))), events }
    }

    /// Thinks about a turn, once the bot knows of its match.
    pub(super) async fn think(
        self: Arc<Self>,
        thought: Thought,
        live: Arc<LiveMatch>,
        mut begun: watch::Receiver<bool>,
        told: Told,
    ) {
        let _ = begun.wait_for(|begun| *begun).await; // or the callback is gone, and with it the run
        let (turn, choice) = match self.line(&live, &told.message).await {
            Ok(moves) => {
                let turn = Arc::new(Turn::new(told, live, moves, self.client.clone()));
                (Some(turn.clone()), self.choice(&turn, |bot, turn| bot.choose(turn)).await)
            }
            Err(error) => (None, Err(error.into())),
        };
        self.tell(thought, turn, choice);
    }

    /// Thinks about a turn again, after the first choice for it was refused.
    pub(super) async fn think_again(self: Arc<Self>, thought: Thought, turn: Arc<Turn>, refusal: ArbiterError) {
        if turn.refused.is_some() {
            return self.tell(thought, Some(turn), Err(refusal.into()));
        }
        let again = Arc::new(turn.again(refusal.clone(), thought.left()));
        let choice = self
            .choice(&again, move |bot, again| {
                let (turn, refusal) = (turn.clone(), refusal.clone());
                Box::pin(async move {
                    match bot.refused(&turn, &refusal).await? {
                        Some(choice) => Ok(choice),
                        None => bot.choose(again).await,
                    }
                })
            })
            .await;
        self.tell(thought, Some(again), choice);
    }

    /// Returns the bot's choice; the bot is called again if it failed while the arbiter was away. That is so if its
    /// error, or one behind it, shows it, or if any call failed in that way meanwhile: a bot may wrap an error in any
    /// way, or keep only its text.
    async fn choice(
        &self,
        turn: &Arc<Turn>,
        work: impl for<'a> Fn(&'a dyn AnyBot, &'a Turn) -> Answering<'a, Choice> + Clone + Send + 'static,
    ) -> Result<Choice, BotError> {
        let (mut backoff, mut outage) = (Backoff::default(), Outage::default());
        loop {
            let outages = self.client.connection().outages();
            let mut greeting = self.client.connection().greeting();
            let choice = self.ask(turn.clone(), work.clone()).await;
            let Err(failure) = &choice else {
                hook("thought", || self.caller.hooks.thought(&turn.live, turn.ply, turn.age()));
                return choice;
            };
            let away = self.client.connection().outages() != outages || comes_of_an_outage(&**failure);
            if !away || turn.over() {
                return choice;
            }
            let level = outage.call_failed(&**failure);
            log!(level, "the choice in match {} is made again: {failure}", turn.live.match_id);
            let _ = timeout(backoff.next(Duration::ZERO), greeting.changed()).await; // a clock may run from then on
        }
    }

    /// Returns the moves up to a turn: from its last moves, or if these leave a gap, from the server.
    async fn line(&self, live: &LiveMatch, turn: &proto::Turn) -> Result<Arc<Vec<String>>, Error> {
        let mut backoff = Backoff::default();
        let mut moves = joined(&live.moves(), turn.ply, &turn.last_moves);
        while moves.is_none() {
            let greeting = self.client.connection().greeting();
            match self.client.get_match(&live.match_id, true).await {
                Ok(whole) => {
                    let played = usize::try_from(turn.ply).unwrap_or(0);
                    moves = Some(whole.moves.into_iter().take(played).collect());
                }
                Err(error) if error.away() || error.refusal().is_some_and(ArbiterError::passing) => {
                    debug!("the moves of match {} can't be had, trying again: {error}", live.match_id);
                    self.client.connection().rest(backoff.next(Duration::ZERO), greeting, &error).await;
                }
                Err(error) => return Err(error),
            }
        }
        let moves = Arc::new(moves.unwrap_or_default());
        live.bring(turn.ply, &moves);
        Ok(moves)
    }

    /// Returns the bot's choice for a turn. Its thread counts as a thinker until it returns, even if the choice is not
    /// needed any more: then the bot's next await is dropped, and its computations go on.
    async fn ask(
        &self,
        turn: Arc<Turn>,
        work: impl for<'a> FnOnce(&'a dyn AnyBot, &'a Turn) -> Answering<'a, Choice> + Send + 'static,
    ) -> Result<Choice, BotError> {
        let thinker = self.free.clone().acquire_owned().await?;
        let runtime = Handle::current();
        let asked = self.caller.call(move |bot| {
            let _thinker = thinker;
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    () = turn.until_over() => Err("nobody waits for this choice any more".into()),
                    choice = work(bot, &turn) => choice,
                }
            })
        });
        asked.await?
    }

    fn tell(&self, thought: Thought, turn: Option<Arc<Turn>>, choice: Result<Choice, BotError>) {
        let Thought { place, number, ply, .. } = thought;
        let _ = self.events.send(Event::Chosen(Chosen { place, number, ply, turn, choice })); // the run has ended
    }
}
