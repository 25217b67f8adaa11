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

impl State {
    fn playing(&self) -> usize {
        self.live.len() + self.expected.len() + self.agreeing
    }
}

impl MatchSlots {
    /// `most` is how many matches the bot takes at once, 0 for no limit; `in_all` how many before it stops.
    pub(crate) fn new(most: u32, in_all: Option<u64>) -> MatchSlots {
        MatchSlots { most: most as usize, in_all, state: Mutex::default(), changed: Notify::new() }
    }

    /// Returns whether there is room for the matches agreed on, and for those that so many open seeks may become.
    pub(crate) fn holds(&self, seeks: usize) -> bool {
        self.hold(&self.state(), seeks)
    }

    fn hold(&self, state: &State, seeks: usize) -> bool {
        let playing = state.playing();
        let at_once = self.most == 0 || playing + seeks.min(1) <= self.most;
        at_once && self.in_all.is_none_or(|most| state.ended + (playing + seeks) as u64 <= most)
    }

    /// Returns whether the bot has agreed on all matches that it plays before it stops.
    pub(crate) fn none_left(&self) -> bool {
        let state = self.state();
        self.in_all.is_some_and(|most| state.ended + state.playing() as u64 >= most)
    }

    /// Returns how many matches are under way or agreed on.
    pub(crate) fn playing(&self) -> usize {
        self.state().playing()
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

    /// Reserves a place, if there is one, while a match is being agreed on: until the answer is dropped.
    pub(crate) fn agreeing(&self) -> Option<Agreeing<'_>> {
        self.change(|state| {
            let free = self.hold(state, 1);
            state.agreeing += usize::from(free);
            free.then(|| Agreeing(self))
        })
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
        let agreeing = slots.agreeing();
        assert!(agreeing.is_some());
        assert!(slots.agreeing().is_none());
        assert!(slots.holds(0) && !slots.holds(1));
        slots.expect("m1");
        assert!(!slots.holds(0)); // it is agreed on, and its place is still kept
        drop(agreeing);
        assert!(slots.holds(0) && !slots.holds(1));
        slots.begun("m1");
        slots.expect("m1");
        assert!(!slots.holds(1));
        assert!(slots.ended("m1"));
        assert!(!slots.ended("m1"));
        assert!(slots.is_over("m1"));
        slots.expect("m1");
        assert!(slots.holds(1));
        assert!(MatchSlots::new(0, None).holds(9));
    }

    #[test]
    fn a_bot_that_stops_after_some_matches_has_so_many_left() {
        let slots = MatchSlots::new(0, Some(2));
        slots.begun("m1");
        assert!(slots.holds(1) && !slots.holds(2) && !slots.none_left());
        slots.expect("m2");
        assert!(slots.holds(0) && !slots.holds(1) && slots.none_left());
        slots.ended("m1");
        assert!(!slots.holds(1));
        assert_eq!(slots.playing(), 1);
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
