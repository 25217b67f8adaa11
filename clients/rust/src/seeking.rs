//! The bot's own seeks: kept open while there is room for a match, and only then.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Lock, MutexGuard};

use log::log;
use tokio::sync::Mutex;

use crate::backoff::Backoff;
use crate::client::Client;
use crate::errors::{Error, Reason};
use crate::outage::Outage;
use crate::slots::MatchSlots;
use crate::time_control::same;
use crate::values::{Challenge, Terms};

const MOST_LISTED: usize = 100_000; // the bot's own seeks are found among everybody's

/// Keeps a seek open for each of several terms, while the bot has room for a match.
///
/// One task makes and withdraws them, so that no seek is made twice; everything else only wakes it.
pub(crate) struct Seeker {
    client: Client,
    slots: Arc<MatchSlots>,
    places: Mutex<Vec<Place>>,
    told: Lock<Told>,
    stopped: AtomicBool,
}

/// Terms for which a seek should be open, and the open seek.
struct Place {
    terms: Terms,
    challenge_id: String,
}

impl Place {
    /// Forgets the seek if it is among those that are closed.
    fn forget(&mut self, closed: &HashSet<String>) {
        if closed.contains(&self.challenge_id) {
            self.challenge_id.clear();
        }
    }
}

/// The items of the stream that have not been handled.
#[derive(Default)]
struct Told {
    player: String,
    greeted: bool,
    closed: HashSet<String>,
}

impl Seeker {
    pub(crate) fn new(seeks: &[Terms], client: Client, slots: Arc<MatchSlots>) -> Seeker {
        let place = |terms: &Terms| Place { terms: terms.clone(), challenge_id: String::new() };
        let places = Mutex::new(seeks.iter().map(place).collect());
        Seeker { client, slots, places, told: Lock::default(), stopped: AtomicBool::new(false) }
    }

    /// Begins a new stream: the state of the seeks is read from the server again.
    pub(crate) fn greeted(&self, player: &str) {
        let mut told = self.told();
        player.clone_into(&mut told.player);
        told.greeted = true;
        self.slots.changed.notify_one();
    }

    /// Reacts to the end of a challenge or seek: it is no longer open, and at once counts as the match that it became.
    pub(crate) fn closed(&self, challenge_id: &str, match_id: &str) {
        let mut told = self.told();
        told.closed.insert(challenge_id.to_owned());
        if !match_id.is_empty() {
            self.slots.expect(match_id);
        }
        self.slots.changed.notify_one();
    }

    /// Makes and withdraws seeks after every change, without end. Fails if the server does not accept the terms of one.
    pub(crate) async fn run(self: Arc<Self>) -> Result<(), Error> {
        if self.places.lock().await.is_empty() {
            return Ok(());
        }
        let (mut backoff, mut outage) = (Backoff::default(), Outage::default());
        loop {
            self.slots.changed.notified().await;
            loop {
                let greeting = self.client.connection().greeting();
                match self.arrange().await {
                    Ok(None) => break,
                    Ok(Some(refusal)) => return Err(refusal),
                    Err(failure) => {
                        let pause = backoff.next(failure.retry_after());
                        let level = outage.call_failed(&failure);
                        log!(level, "seeks can't be kept open, trying again in {pause:.1?}: {failure}");
                        self.client.connection().rest(pause, greeting, &failure).await;
                    }
                }
            }
            backoff.reset();
            outage.over();
        }
    }

    /// Makes no more seeks, and withdraws those that are open.
    pub(crate) async fn close(&self) -> Result<(), Error> {
        self.stopped.store(true, Ordering::Release);
        let mut places = self.places.lock().await;
        for at in 0..places.len() {
            self.settle(&mut places, at, &[]).await?;
        }
        Ok(())
    }

    /// Withdraws the seeks that leave no room for the match being agreed on; returns false if that is too late.
    pub(crate) async fn make_room(&self) -> Result<bool, Error> {
        let mut places = self.places.lock().await;
        for at in 0..places.len() {
            if !self.has_room(&mut places) && !places[at].challenge_id.is_empty() {
                self.withdraw(&mut places[at]).await?;
            }
        }
        Ok(!self.stopped.load(Ordering::Acquire) && self.has_room(&mut places))
    }

    fn has_room(&self, places: &mut [Place]) -> bool {
        let told = self.told(); // held, since a seek that closes is a match at the same moment
        for place in &mut *places {
            place.forget(&told.closed);
        }
        self.slots.holds(places.iter().filter(|place| !place.challenge_id.is_empty()).count())
    }

    /// Makes and withdraws seeks, as things are now; returns the refusal of terms that the server does not take.
    async fn arrange(&self) -> Result<Option<Error>, Error> {
        let mut places = self.places.lock().await;
        let (player, greeted) = {
            let told = self.told();
            (told.player.clone(), told.greeted)
        };
        if player.is_empty() {
            return Ok(None);
        }
        if greeted {
            self.find_again(&player, &mut places).await?;
            self.told().greeted = false;
        }
        for place in places.iter_mut() {
            place.forget(&self.told().closed);
        }
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|at| places[*at].challenge_id.is_empty()); // open ones first
        for at in 0..order.len() {
            if let Some(refusal) = self.settle(&mut places, order[at], &order[..at]).await? {
                return Ok(Some(refusal));
            }
        }
        // Whatever was closed has been compared with every seek that is open; ids are never used again.
        self.told().closed.retain(|id| places.iter().any(|place| place.challenge_id == *id));
        Ok(None)
    }

    /// Makes or withdraws the seek at a place, as things are now, after those at others: any open one may become a match, so
    /// that they are no more than the matches that are left. Returns the refusal of terms that the server does not take.
    async fn settle(&self, places: &mut [Place], at: usize, others: &[usize]) -> Result<Option<Error>, Error> {
        let wanted = {
            let told = self.told(); // held, since a seek that closes is a match at the same moment
            for place in &mut *places {
                place.forget(&told.closed); // it may have closed since the look began
            }
            let before = others.iter().filter(|other| !places[**other].challenge_id.is_empty()).count();
            !self.stopped.load(Ordering::Acquire) && self.slots.holds(before + 1)
        };
        let place = &mut places[at];
        if wanted && place.challenge_id.is_empty() {
            return self.make(place).await;
        } else if !wanted && !place.challenge_id.is_empty() {
            self.withdraw(place).await?;
        }
        Ok(None)
    }

    /// Sees which seeks are open: those of before, and those of a run that did not end well.
    async fn find_again(&self, player: &str, places: &mut [Place]) -> Result<(), Error> {
        let mut left = self.client.list_challenges(MOST_LISTED).await?;
        left.retain(|seek| seek.challenger == player && seek.opponent.is_empty());
        for place in places.iter_mut() {
            match left.iter().position(|seek| seek.challenge_id == place.challenge_id) {
                Some(at) => drop(left.swap_remove(at)),
                None => place.challenge_id.clear(),
            }
        }
        for place in places.iter_mut().filter(|place| place.challenge_id.is_empty()) {
            if let Some(at) = left.iter().position(|seek| fits(seek, &place.terms)) {
                place.challenge_id = left.swap_remove(at).challenge_id;
            }
        }
        Ok(())
    }

    async fn make(&self, place: &mut Place) -> Result<Option<Error>, Error> {
        match self.client.create_seek(place.terms.clone()).await {
            Ok(seek) => place.challenge_id = seek.challenge_id,
            Err(failure) if failure.away() => return Err(failure),
            Err(refusal) => return Ok(Some(refusal)),
        }
        // Somebody may have been faster than the answer: the next look sees that it is closed.
        self.slots.changed.notify_one();
        Ok(None)
    }

    /// Withdraws a seek. If another player has just accepted it, it counts until the stream says it is closed.
    async fn withdraw(&self, place: &mut Place) -> Result<(), Error> {
        match self.client.decline_challenge(&place.challenge_id, "").await {
            Err(failure) if failure.reason() == Some(Reason::ChallengeNotFound) => Ok(()),
            Err(failure) => Err(failure),
            Ok(()) => {
                place.challenge_id.clear();
                Ok(())
            }
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().expect("nothing panics while it holds the lock")
    }
}

/// Returns whether an open seek has the given terms. Terms that were left to the server match anything.
fn fits(seek: &Challenge, terms: &Terms) -> bool {
    let said = seek.terms.clone().unwrap_or_default();
    let alike = said.game == terms.game && said.rated == terms.rated && said.position == terms.position;
    let timely = terms.time_control.is_empty() || same(&terms.time_control, &said.time_control);
    let patient = terms.abandon_ms.is_none() || said.abandon_ms == terms.abandon_ms;
    alike && timely && patient && (terms.seat == 0 || said.seat == terms.seat)
}
