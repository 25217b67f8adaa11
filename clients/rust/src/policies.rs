//! Challenges, open seeks of other players, and tournaments: asks the bot, and carries out its decisions.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

use log::{debug, warn};

use crate::bot::{Answer, AnyBot};
use crate::calling::{Caller, Tasks};
use crate::client::Client;
use crate::errors::{Error, Reason};
use crate::profile::Profile;
use crate::proto::play_item::Item;
use crate::seeking::Seeker;
use crate::slots::MatchSlots;
use crate::values::{Challenge, ChallengeClosed, TournamentCall};

const LONGEST_REASON: usize = 200; // characters of the reason for declining a challenge
const NO_ROOM: &str = "this bot has agreed to as many matches as it plays";

/// Handles the items of the stream that ask whether the bot wants to play.
pub(crate) struct Policies {
    player: String,
    considered: Arc<Considered>,
    tasks: Tasks,
}

/// What the tasks that consider something share.
struct Considered {
    caller: Arc<Caller>,
    client: Client,
    profile: Arc<Profile>,
    slots: Arc<MatchSlots>,
    seeker: Arc<Seeker>,
    ids: Mutex<Ids>,
}

#[derive(Default)]
struct Ids {
    asked: HashSet<String>,   // proposals under consideration: none is asked about twice at once
    refused: HashSet<String>, // tournaments that have refused the bot: they are not entered again
}

impl Policies {
    pub(crate) fn new(
        caller: Arc<Caller>,
        client: Client,
        profile: Arc<Profile>,
        slots: Arc<MatchSlots>,
        seeker: Arc<Seeker>,
    ) -> Policies {
        let considered = Considered { caller, client, profile, slots, seeker, ids: Mutex::default() };
        Policies { player: String::new(), considered: Arc::new(considered), tasks: Tasks::default() }
    }

    /// Begins a new stream of a player.
    pub(crate) fn greeted(&mut self, player: &str) {
        player.clone_into(&mut self.player);
        self.considered.seeker.greeted(player);
    }

    /// Handles an item of the stream, if it is one of these.
    pub(crate) fn take(&mut self, item: Item) {
        let considered = self.considered.clone();
        match item {
            Item::Challenge(challenge) if self.is_news(&challenge.challenge_id, &challenge.challenger) => {
                self.tasks.spawn(async move { considered.challenge(challenge).await });
            }
            Item::Seek(seek)
                if considered.profile.accept_seeks && self.is_news(&seek.challenge_id, &seek.challenger) =>
            {
                self.tasks.spawn(async move { considered.seek(seek).await });
            }
            Item::Tournament(call) if considered.wants(&call) && self.is_news(&call.tournament_id, "") => {
                self.tasks.spawn(async move { considered.call(call).await });
            }
            Item::ChallengeClosed(closed) => self.on_closed(closed),
            _ => {}
        }
    }

    fn is_news(&self, id: &str, from: &str) -> bool {
        from != self.player && self.considered.ids().asked.insert(id.to_owned())
    }

    fn on_closed(&mut self, closed: ChallengeClosed) {
        self.considered.seeker.closed(&closed.challenge_id, &closed.match_id);
        let caller = self.considered.caller.clone();
        self.tasks.spawn(async move {
            caller.callback("challenge_closed", (), move |bot| bot.challenge_closed(&closed)).await;
        });
    }
}

impl Considered {
    async fn challenge(&self, challenge: Challenge) {
        let failed = Answer::Decline("the bot failed to consider it".to_owned());
        let answer = self.answer("challenged", failed, &challenge, |bot, it| bot.challenged(it)).await;
        let objection = match answer {
            Answer::Accept => Ok(None),
            Answer::Decline(reason) => Ok(Some(reason)),
            Answer::ByProfile if !self.profile.accept_challenges => {
                Ok(Some("this bot accepts no challenges".to_owned()))
            }
            Answer::ByProfile => self.objection(&challenge).await,
        };
        let objection = match objection {
            Ok(None) => self.accept(&challenge).await.map(|room| (!room).then(|| NO_ROOM.to_owned())),
            decided => decided,
        };
        let answered = match objection {
            Err(error) => Err(error),
            Ok(None) => Ok(()),
            Ok(Some(reason)) => {
                let reason: String = reason.chars().take(LONGEST_REASON).collect();
                self.client.decline_challenge(&challenge.challenge_id, &reason).await
            }
        };
        if let Err(error) = answered {
            warn!("the challenge of {} can't be answered: {error}", challenge.challenger);
        }
        self.ids().asked.remove(&challenge.challenge_id);
    }

    async fn seek(&self, seek: Challenge) {
        let left = Answer::Decline(String::new());
        let accepted = match self.answer("sought", left, &seek, |bot, it| bot.sought(it)).await {
            Answer::Accept => self.accept(&seek).await,
            Answer::ByProfile => match self.objection(&seek).await {
                Err(error) => Err(error),
                Ok(None) => self.accept(&seek).await,
                Ok(Some(_)) => Ok(false),
            },
            Answer::Decline(_) => Ok(false),
        };
        match accepted {
            Ok(_) => {}
            Err(error) if error.reason() == Some(Reason::ChallengeNotFound) => {
                debug!("somebody was faster than this bot to accept the seek of {}", seek.challenger);
            }
            Err(error) => warn!("the seek of {} can't be accepted: {error}", seek.challenger),
        }
        self.ids().asked.remove(&seek.challenge_id);
    }

    /// Accepts a challenge or seek if there is room for its match; returns whether there was.
    async fn accept(&self, challenge: &Challenge) -> Result<bool, Error> {
        let Some(_place) = self.slots.agreeing() else { return Ok(false) };
        if !self.seeker.make_room().await? {
            return Ok(false);
        }
        let agreed = self.client.accept_challenge(&challenge.challenge_id).await?;
        self.slots.expect(&agreed.match_id);
        Ok(true)
    }

    async fn objection(&self, challenge: &Challenge) -> Result<Option<String>, Error> {
        let game = challenge.terms.as_ref().map_or("", |terms| &terms.game);
        let mut rating = None;
        if self.profile.limits_ratings() {
            let rated = self.client.get_rating(&challenge.challenger, game).await?;
            rating = rated.versions.first().and_then(|newest| newest.rating).map(|estimate| estimate.value);
        }
        Ok(self.profile.objection(challenge, rating).or_else(|| {
            if self.slots.none_left() {
                return Some("this bot has as many matches as it plays before it stops".to_owned());
            }
            let most = self.profile.most_matches;
            (!self.slots.holds(1)).then(|| format!("this bot plays {most} matches at once, and is playing them"))
        }))
    }

    fn wants(&self, call: &TournamentCall) -> bool {
        self.profile.enter_tournaments && !call.entered && !self.ids().refused.contains(&call.tournament_id)
    }

    async fn call(&self, call: TournamentCall) {
        let entered = match self.answer("called", Answer::Decline(String::new()), &call, |bot, it| bot.called(it)).await
        {
            Answer::Decline(_) => Ok(()),
            Answer::ByProfile if !self.profile.suits(&call) => Ok(()),
            _ => self.client.enter_tournament(&call.tournament_id).await.map(drop),
        };
        let mut ids = self.ids();
        if let Err(error) = entered {
            if !error.temporary() {
                ids.refused.insert(call.tournament_id.clone());
            }
            let name = if call.name.is_empty() { &call.tournament_id } else { &call.name };
            warn!("the tournament {name} can't be entered: {error}");
        }
        ids.asked.remove(&call.tournament_id);
    }

    async fn answer<T: Clone + Send + 'static>(
        &self,
        name: &str,
        failed: Answer,
        about: &T,
        ask: impl FnOnce(&dyn AnyBot, &T) -> Answer + Send + 'static,
    ) -> Answer {
        let about = about.clone();
        self.caller.callback(name, failed, move |bot| ask(bot, &about)).await
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().expect("nothing panics while it holds the lock")
    }
}
