//! The bot's seats in live matches: the choice of each that is under way, and its act that is not answered yet.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::events::Place;
use crate::outbox::Outbox;
use crate::proto::play_act::Act;
use crate::turn::Turn;
use crate::values::LiveMatch;

/// A seat of the bot. In a match of the bot against itself there are two, independent of each other.
pub(super) struct Seat {
    pub(super) live: Arc<LiveMatch>,
    /// Turns true once the callback `started` has returned; `None` before it is called.
    pub(super) begun: Option<watch::Receiver<bool>>,
    /// The choice that is under way.
    pub(super) thought: Option<Thought>,
    /// The turn that the last choice answered.
    pub(super) turn: Option<Arc<Turn>>,
    /// The move, claim or resignation that waits for its answer.
    pub(super) request_id: String,
    /// Turns before this ply are done.
    pub(super) next_ply: i32,
    pub(super) offer_answered: bool,
    /// Whether the bot had moved in the match before this run knew of it.
    pub(super) goes_on: bool,
    thoughts: u64,
}

/// A choice for a ply. Its number among the seat's choices distinguishes it from older ones.
#[derive(Clone)]
pub(super) struct Thought {
    pub(super) place: Place,
    pub(super) number: u64,
    pub(super) ply: i32,
    /// Becomes true when the choice is abandoned for a later one.
    left: Arc<watch::Sender<bool>>,
    task: Option<AbortHandle>,
}

impl Thought {
    /// Returns a value that becomes true when the choice is abandoned for a later one.
    pub(super) fn left(&self) -> watch::Receiver<bool> {
        self.left.subscribe()
    }

    fn leave(&self) {
        self.left.send_replace(true);
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Seat {
    /// Returns whether the unanswered act of the seat answers the turn at a ply.
    ///
    /// A move for an earlier ply does not: it has been played, or there would be no such turn, and its answer is on the
    /// way. So it is where one seat moves twice in a row.
    pub(super) fn has_answered(&self, ply: i32, outbox: &Outbox) -> bool {
        match outbox.unanswered(&self.request_id) {
            None => false,
            Some(act) => !matches!(act.act, Some(Act::Move(said)) if said.ply < ply),
        }
    }

    /// Abandons the choice that is under way for a new one; [`thinking`](Seat::thinking) follows.
    pub(super) fn think_anew(&mut self, place: Place, ply: i32) -> Thought {
        if let Some(older) = self.thought.take() {
            older.leave();
        }
        self.thoughts += 1;
        let thought =
            Thought { place, number: self.thoughts, ply, left: Arc::new(watch::Sender::new(false)), task: None };
        self.thought = Some(thought.clone());
        thought
    }

    pub(super) fn thinking(&mut self, task: AbortHandle) {
        if let Some(thought) = &mut self.thought {
            thought.task = Some(task);
        }
    }

    /// Marks the choice with a number as done; returns whether it is the one under way.
    pub(super) fn settle_thought(&mut self, number: u64) -> bool {
        let current = self.thought.as_ref().is_some_and(|thought| thought.number == number);
        if current {
            self.thought = None;
        }
        current
    }

    /// Ends the match for this seat.
    pub(super) fn end(&self) {
        self.live.end();
        if let Some(thought) = &self.thought {
            thought.leave();
        }
    }
}

/// All seats, and which of them waits for the answer to which request.
#[derive(Default)]
pub(super) struct Seats {
    seats: HashMap<String, Vec<Seat>>,
    asked: HashMap<String, Place>,
}

impl Seats {
    /// Returns the seat at a place, which is created if necessary.
    pub(super) fn sit(&mut self, place: &Place, game: &str, opponent: &str) -> &mut Seat {
        let seats = self.seats.entry(place.match_id.clone()).or_default();
        let at = seats.iter().position(|seat| seat.live.seat == place.seat).unwrap_or_else(|| {
            seats.push(Seat {
                live: Arc::new(LiveMatch::new(&place.match_id, game, place.seat, opponent)),
                begun: None,
                thought: None,
                turn: None,
                request_id: String::new(),
                next_ply: 0,
                offer_answered: false,
                goes_on: false,
                thoughts: 0,
            });
            seats.len() - 1
        });
        &mut seats[at]
    }

    pub(super) fn get(&mut self, place: &Place) -> Option<&mut Seat> {
        self.seats.get_mut(&place.match_id)?.iter_mut().find(|seat| seat.live.seat == place.seat)
    }

    /// Returns the matches that the bot's seats of one match see.
    pub(super) fn of_match(&self, match_id: &str) -> Vec<Arc<LiveMatch>> {
        self.seats.get(match_id).into_iter().flatten().map(|seat| seat.live.clone()).collect()
    }

    /// Remembers who waits for the answer to a request.
    pub(super) fn asked(&mut self, request_id: &str, place: &Place) {
        self.asked.insert(request_id.to_owned(), place.clone());
    }

    /// Returns who waits for the answer to a request, which has come.
    pub(super) fn answered(&mut self, request_id: &str) -> Option<Place> {
        self.asked.remove(request_id)
    }

    /// Ends a match: its seats are returned, and are no more.
    pub(super) fn leave(&mut self, match_id: &str) -> Vec<Seat> {
        let seats = self.seats.remove(match_id).unwrap_or_default();
        self.asked.retain(|_, place| place.match_id != match_id);
        for seat in &seats {
            seat.end();
        }
        seats
    }

    pub(super) fn end_all(&self) {
        for seat in self.seats.values().flatten() {
            seat.end();
        }
    }
}
