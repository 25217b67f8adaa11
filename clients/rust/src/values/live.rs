//! A match while the bot plays it.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::proto;
use crate::proto::RecentMove;

/// A match that the bot plays, from its start to its end. A match of the bot against itself is two of these, one for
/// each seat.
pub struct LiveMatch {
    /// The match's id.
    pub match_id: String,
    /// The canonical variant.
    pub game: String,
    /// The bot's seat: 1 or 2.
    pub seat: i32,
    /// The opponent.
    pub opponent: String,
    told: Mutex<Told>,
    over: AtomicBool,
    memory: Mutex<Option<Box<dyn Any + Send>>>,
}

#[derive(Default)]
struct Told {
    time_control: String,
    match_time_control: String,
    rated: bool,
    label: String,
    opening_plies: i32,
    start_position: String,
    brought_to: i32,
    moves: Arc<Vec<String>>,
}

impl LiveMatch {
    pub(crate) fn new(match_id: &str, game: &str, seat: i32, opponent: &str) -> LiveMatch {
        LiveMatch {
            match_id: match_id.to_owned(),
            game: game.to_owned(),
            seat,
            opponent: opponent.to_owned(),
            told: Mutex::default(),
            over: AtomicBool::new(false),
            memory: Mutex::default(),
        }
    }

    /// Returns the bot's own time control, such as `1m+1s`, also in a match with time odds.
    pub fn time_control(&self) -> String {
        self.told().time_control.clone()
    }

    /// Returns the match's time control: with time odds, those of both seats, such as `5m:2m`.
    pub fn match_time_control(&self) -> String {
        self.told().match_time_control.clone()
    }

    /// Returns whether the match counts for ratings.
    pub fn rated(&self) -> bool {
        self.told().rated
    }

    /// Returns the organiser's label, such as a tournament's id.
    pub fn label(&self) -> String {
        self.told().label.clone()
    }

    /// Returns how many of the first moves are the opening, which nobody played.
    pub fn opening_plies(&self) -> i32 {
        self.told().opening_plies
    }

    /// Returns the start position, from which the moves begin; empty for the game's initial one.
    pub fn start_position(&self) -> String {
        self.told().start_position.clone()
    }

    /// Returns all moves up to the bot's latest turn, and its own answer once that has been played.
    pub fn moves(&self) -> Arc<Vec<String>> {
        self.told().moves.clone()
    }

    /// Returns whether the match has ended, or the bot stops: a long search may give up.
    pub fn over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Gives access to the bot's own data about this match: a value of its own type, made by `Default` at its first use
    /// (and again if the value had another type before). Keep the work short: another turn of the match waits for it.
    pub fn with_memory<T: Default + Send + 'static, R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mut kept = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.as_ref().is_some_and(|memory| memory.is::<T>()) {
            *kept = Some(Box::new(T::default()));
        }
        let memory = kept.as_mut().and_then(|memory| memory.downcast_mut::<T>());
        work(memory.expect("it was put there above"))
    }

    pub(crate) fn learn(&self, message: &proto::Match) {
        let mut told = self.told();
        let own = usize::try_from(self.seat - 1).ok().and_then(|seat| message.time_controls.get(seat));
        told.time_control.clone_from(own.unwrap_or(&message.time_control));
        told.match_time_control.clone_from(&message.time_control);
        told.rated = message.rated;
        told.label.clone_from(&message.label);
        told.opening_plies = message.opening_plies;
        told.start_position.clone_from(&message.start_position);
    }

    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Brings the moves up to a turn; one that comes late, behind a later turn's, changes nothing.
    pub(crate) fn bring(&self, ply: i32, moves: &Arc<Vec<String>>) {
        let mut told = self.told();
        if ply >= told.brought_to {
            told.brought_to = ply;
            told.moves = moves.clone();
        }
    }

    /// Adds the bot's own move once it has been played, where the line reaches it.
    pub(crate) fn played(&self, ply: i32, text: &str) {
        let mut told = self.told();
        if told.moves.len() == usize::try_from(ply).unwrap_or(usize::MAX) {
            Arc::make_mut(&mut told.moves).push(text.to_owned());
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().expect("nothing panics while it holds the lock")
    }
}

impl fmt::Debug for LiveMatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, game, seat) = (&self.match_id, &self.game, self.seat);
        write!(out, "LiveMatch({id}: seat {seat} of {game} against {})", self.opponent)
    }
}

/// Returns the moves up to a turn, from the known ones and the turn's last ones; `None` if there is a gap.
pub(crate) fn joined(known: &[String], ply: i32, last_moves: &[RecentMove]) -> Option<Vec<String>> {
    let ply = usize::try_from(ply).ok()?;
    let mut moves = known[..known.len().min(ply)].to_vec();
    for recent in last_moves {
        let at = usize::try_from(recent.ply).ok()?;
        match moves.get(at) {
            Some(text) if *text == recent.r#move => {}
            None if at == moves.len() => moves.push(recent.r#move.clone()),
            _ => return None,
        }
    }
    (moves.len() == ply).then_some(moves)
}
