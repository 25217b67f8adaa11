//! How many matches a bot has, and whether there is room for one more.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;

const REMEMBERED_ENDS: usize = 10_000;

/// Counts the matches under way, and those that were agreed on but that the stream has not told yet.
pub(crate) struct MatchSlots {
    most: usize,
    in_all: Option<u64>,
    state: Mutex<State>,
    /// Is notified whenever the number may be another one.
    pub(crate) changed: Notify,
}

#[derive(Default)]
struct State {
    live: HashSet<String>,
    expected: HashSet<String>,
    agreeing: usize,
    ended: u64,
    over: HashSet<String>,
    over_in_order: VecDeque<String>,
}

impl MatchSlots {
    /// `most` is how many matches the bot takes at once, 0 for no limit; `in_all` how many before it stops.
    pub(crate) fn new(most: u32, in_all: Option<u64>) -> MatchSlots {
        MatchSlots { most: most as usize, in_all, state: Mutex::default(), changed: Notify::new() }
    }

    /// Returns whether the bot has as many matches as it takes.
    pub(crate) fn full(&self) -> bool {
        let playing = self.playing();
        (self.most > 0 && playing >= self.most) || self.left() == 0
    }

    /// Returns how many more matches the bot may agree on before it stops, besides those that it plays now.
    pub(crate) fn left(&self) -> u64 {
        let playing = self.playing() as u64;
        let taken = playing + self.state().ended;
        self.in_all.map_or(u64::MAX, |most| most.saturating_sub(taken))
    }

    /// Returns how many matches are under way or agreed on.
    pub(crate) fn playing(&self) -> usize {
        let state = self.state();
        state.live.len() + state.expected.len() + state.agreeing
    }

    /// Counts a match that is under way.
    pub(crate) fn begun(&self, match_id: &str) {
        self.change(|state| {
            state.expected.remove(match_id);
            state.live.insert(match_id.to_owned())
        });
    }

    /// Counts the end of a match; returns whether the end was not known yet.
    pub(crate) fn ended(&self, match_id: &str) -> bool {
        self.change(|state| {
            state.live.remove(match_id);
            state.expected.remove(match_id);
            let news = state.over.insert(match_id.to_owned());
            if news {
                state.ended += 1;
                state.over_in_order.push_back(match_id.to_owned());
            }
            if state.over_in_order.len() > REMEMBERED_ENDS
                && let Some(oldest) = state.over_in_order.pop_front()
            {
                state.over.remove(&oldest);
            }
            news
        })
    }

    /// Returns whether a match is known to have ended.
    pub(crate) fn is_over(&self, match_id: &str) -> bool {
        self.state().over.contains(match_id)
    }

    /// Reserves a place for a match that has been agreed on, until the stream announces it.
    pub(crate) fn expect(&self, match_id: &str) {
        self.change(|state| {
            if !state.live.contains(match_id) && !state.over.contains(match_id) {
                state.expected.insert(match_id.to_owned());
            }
        });
    }

    /// Reserves a place while a match is being agreed on: until the answer is dropped.
    pub(crate) fn agreeing(&self) -> Agreeing<'_> {
        self.change(|state| state.agreeing += 1);
        Agreeing(self)
    }

    fn change<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        let answer = work(&mut self.state());
        self.changed.notify_one();
        answer
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the lock")
    }
}

/// A place that is kept.
pub(crate) struct Agreeing<'a>(&'a MatchSlots);

impl Drop for Agreeing<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.agreeing -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_counts_once_from_the_agreement_to_its_end() {
        let slots = MatchSlots::new(1, None);
        assert!(!slots.full());
        let agreeing = slots.agreeing();
        assert!(slots.full());
        slots.expect("m1");
        drop(agreeing);
        assert!(slots.full());
        slots.begun("m1");
        slots.expect("m1");
        assert!(slots.full());
        assert!(slots.ended("m1"));
        assert!(!slots.ended("m1"));
        assert!(slots.is_over("m1"));
        slots.expect("m1");
        assert!(!slots.full());
        assert!(!MatchSlots::new(0, None).full());
    }

    #[test]
    fn a_bot_that_stops_after_some_matches_has_so_many_left() {
        let slots = MatchSlots::new(0, Some(2));
        slots.begun("m1");
        assert_eq!((slots.left(), slots.full()), (1, false));
        slots.expect("m2");
        assert_eq!((slots.left(), slots.full()), (0, true));
        slots.ended("m1");
        assert_eq!((slots.left(), slots.playing()), (0, 1));
        assert_eq!(MatchSlots::new(0, None).left(), u64::MAX);
    }

    #[test]
    fn only_so_many_ends_are_remembered() {
        let slots = MatchSlots::new(1, None);
        for number in 0..=REMEMBERED_ENDS {
            slots.ended(&number.to_string());
        }
        assert!(!slots.is_over("0"));
        assert!(slots.is_over("1"));
    }
}
