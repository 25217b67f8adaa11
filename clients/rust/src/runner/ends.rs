//! Ends of matches: the bot is told of each, and it is acknowledged once the bot has handled it and all before it.

use std::collections::VecDeque;

use log::info;
use tokio::sync::mpsc::UnboundedSender;

use super::Runner;
use crate::events::Event;
use crate::proto::play_act::Act;
use crate::proto::{Acknowledgement, MatchEnded};
use crate::values::FinishedMatch;

/// Ends in the order in which they came: an acknowledgement covers all results before it.
#[derive(Default)]
pub(super) struct Ends {
    waiting: VecDeque<End>,
    count: u64,
    told: u64,
    pub(super) listener: Option<UnboundedSender<FinishedMatch>>,
}

struct End {
    number: u64,
    cursor: String,
    news: bool,
    done: bool,
}

impl Ends {
    /// Returns whether the bot has handled all ends that have arrived.
    pub(super) fn all_told(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns how many ends of matches the bot has handled and acknowledged.
    pub(super) fn told(&self) -> u64 {
        self.told
    }

    fn came(&mut self, cursor: String, news: bool) -> u64 {
        self.count += 1;
        self.waiting.push_back(End { number: self.count, cursor, news, done: false });
        self.count
    }

    /// Takes an end for done; returns the cursor to acknowledge, if there is one.
    fn done(&mut self, number: u64) -> Option<String> {
        for end in self.waiting.iter_mut().filter(|end| end.number == number) {
            end.done = true;
        }
        let mut cursor = None;
        let done = self.waiting.iter().take_while(|end| end.done).count();
        for end in self.waiting.drain(..done) {
            self.told += u64::from(end.news);
            cursor = Some(end.cursor);
        }
        cursor
    }
}

impl Runner {
    pub(super) fn on_ended(&mut self, message: MatchEnded) {
        let seats = self.seats.leave(&message.match_id);
        self.outbox.forget_match(&message.match_id);
        let news = self.slots.ended(&message.match_id);
        let number = self.ends.came(message.cursor.clone(), news);
        if !news {
            return self.on_end_told(number);
        }
        let seat = seats.into_iter().find(|seat| seat.live.seat == message.seat);
        let (live, begun) = seat.map_or((None, None), |seat| (Some(seat.live), seat.begun));
        let (caller, events, listener) = (self.caller.clone(), self.events.clone(), self.ends.listener.clone());
        self.tasks.spawn(async move {
            if let Some(mut begun) = begun {
                let _ = begun.wait_for(|begun| *begun).await; // or the callback is gone, and with it the run
            }
            let finished = FinishedMatch::new(message, live);
            let how = match finished.score() {
                None => "it does not count",
                Some(score) if score > 0.5 => "won",
                Some(score) if score < 0.5 => "lost",
                Some(_) => "drawn",
            };
            info!("{} has ended: {how}, by {}", finished.match_id, finished.result.reason);
            let heard = listener.map(|listener| (listener, finished.clone()));
            caller.callback("ended", (), move |bot| bot.ended(&finished)).await;
            if let Some((listener, finished)) = heard {
                let _ = listener.send(finished); // nobody listens any more
            }
            let _ = events.send(Event::EndTold { number }); // the run has ended
        });
    }

    pub(super) fn on_end_told(&mut self, number: u64) {
        if let Some(cursor) = self.ends.done(number) {
            self.outbox.say("", Act::Acknowledge(Acknowledgement { cursor }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_acknowledged_once_it_and_all_before_it_are_done() {
        let mut ends = Ends::default();
        let numbers: Vec<_> = ["a", "b", "a"].into_iter().map(|cursor| ends.came(cursor.into(), true)).collect();
        assert_eq!(ends.done(numbers[1]), None);
        assert_eq!(ends.done(numbers[0]).as_deref(), Some("b"));
        assert_eq!(ends.told(), 2);
        assert_eq!(ends.done(numbers[2]).as_deref(), Some("a"));
        assert_eq!(ends.done(numbers[2]), None);
    }
}
