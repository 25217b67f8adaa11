//! The queue of the bot's acts: sent in order, in batches, and repeated until they are answered.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::proto::play_act::Act;
use crate::proto::{ClientHello, PlayAct, PlayRequest};

const MOST_ACTS: usize = 1_000; // in one message, so that it does not become too large for the server

/// Acts on their way to the server.
///
/// A request keeps its id and is sent again on every new stream until its answer arrives; a pong or an acknowledgement
/// is sent only once. Between `hold` and `release` only the hello and pongs are sent.
#[derive(Debug)]
pub(crate) struct Outbox {
    prefix: String,
    state: Mutex<State>,
    ready: Notify,
}

#[derive(Debug, Default)]
struct State {
    urgent: Vec<PlayAct>,
    queue: Vec<PlayAct>,
    unanswered: BTreeMap<u64, PlayAct>,
    released: bool,
    closed: bool,
    count: u64,
}

impl Outbox {
    pub(crate) fn new() -> Outbox {
        let prefix = format!("{:016x}", fastrand::u64(..));
        Outbox { prefix, state: Mutex::default(), ready: Notify::new() }
    }

    /// Begins a new stream: sends the hello, and nothing else but pongs until `release`.
    pub(crate) fn hold(&self, hello: ClientHello) {
        let mut state = self.state();
        state.released = false;
        state.queue.clear();
        state.urgent = vec![act("", Act::Hello(hello))];
        self.ready.notify_one();
    }

    /// Continues after the server's hello: unanswered requests are sent again, in their old order.
    pub(crate) fn release(&self) {
        let mut state = self.state();
        state.released = true;
        state.queue = state.unanswered.values().cloned().collect();
        self.ready.notify_one();
    }

    /// Sends an act that will be answered, and returns its request id.
    pub(crate) fn request(&self, match_id: &str, what: Act) -> String {
        let mut state = self.state();
        state.count += 1;
        let number = state.count;
        let request_id = format!("{}-{number}", self.prefix);
        let act = PlayAct { request_id: request_id.clone(), ..act(match_id, what) };
        state.unanswered.insert(number, act.clone());
        self.push(&mut state, act);
        request_id
    }

    /// Sends an act that is not answered; it is lost if the stream breaks. `match_id` is empty for an act of no match.
    pub(crate) fn say(&self, match_id: &str, what: Act) {
        self.push(&mut self.state(), act(match_id, what));
    }

    /// Sends an act that is not answered before all others, also before the server's hello.
    pub(crate) fn say_at_once(&self, what: Act) {
        self.state().urgent.push(act("", what));
        self.ready.notify_one();
    }

    /// Returns the unanswered act with a request id.
    pub(crate) fn unanswered(&self, request_id: &str) -> Option<PlayAct> {
        self.state().unanswered.get(&self.number(request_id)?).cloned()
    }

    /// Removes an act, which has been answered, from the list.
    pub(crate) fn answered(&self, request_id: &str) {
        if let Some(number) = self.number(request_id) {
            self.state().unanswered.remove(&number);
        }
    }

    /// Removes all acts about a match, which has ended, from the list.
    pub(crate) fn forget_match(&self, match_id: &str) {
        self.state().unanswered.retain(|_, act| act.match_id != match_id);
    }

    /// Sends an unanswered act again.
    pub(crate) fn again(&self, request_id: &str) {
        let mut state = self.state();
        let waiting = self.number(request_id).and_then(|number| state.unanswered.get(&number).cloned());
        if let Some(act) = waiting
            && !state.queue.iter().any(|queued| queued.request_id == request_id)
        {
            self.push(&mut state, act);
        }
    }

    /// Lets `next` return `None` once everything has been sent.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.ready.notify_one();
    }

    /// Waits until there are acts to send, and returns them, pongs first. One caller at a time.
    pub(crate) async fn next(&self) -> Option<PlayRequest> {
        loop {
            {
                let mut state = self.state();
                if !state.urgent.is_empty() || !state.queue.is_empty() {
                    let mut acts = take(&mut state.urgent);
                    let some = state.queue.len().min(MOST_ACTS);
                    acts.extend(state.queue.drain(..some));
                    return Some(PlayRequest { acts });
                }
                if state.closed {
                    return None;
                }
            }
            self.ready.notified().await;
        }
    }

    fn push(&self, state: &mut State, act: PlayAct) {
        if state.released {
            state.queue.push(act);
            self.ready.notify_one();
        }
    }

    fn number(&self, request_id: &str) -> Option<u64> {
        request_id.strip_prefix(&self.prefix)?.strip_prefix('-')?.parse().ok()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the lock")
    }
}

fn act(match_id: &str, what: Act) -> PlayAct {
    PlayAct { match_id: match_id.to_owned(), act: Some(what), ..PlayAct::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{Acknowledgement, MoveAct, Pong, ResignAct};

    fn play(ply: i32) -> Act {
        Act::Move(MoveAct { ply, r#move: "a".into(), comment: None })
    }

    async fn said(outbox: &Outbox) -> Vec<PlayAct> {
        outbox.next().await.expect("there is something to say").acts
    }

    #[tokio::test]
    async fn only_the_hello_and_pongs_go_out_before_the_release() {
        let outbox = Outbox::new();
        outbox.hold(ClientHello::default());
        let id = outbox.request("m1", play(0));
        outbox.say_at_once(Act::Pong(Pong { number: 1 }));
        let acts = said(&outbox).await;
        assert!(matches!(acts[0].act, Some(Act::Hello(_))));
        assert!(matches!(acts[1].act, Some(Act::Pong(_))));
        assert_eq!(acts.len(), 2);
        outbox.release();
        assert_eq!(said(&outbox).await[0].request_id, id);
    }

    #[tokio::test]
    async fn the_unanswered_goes_out_again_in_its_old_order_and_what_is_said_once_does_not() {
        let outbox = Outbox::new();
        outbox.hold(ClientHello::default());
        outbox.release();
        let ids: Vec<_> = (0..12).map(|ply| outbox.request("m1", play(ply))).collect();
        outbox.say("", Act::Acknowledge(Acknowledgement { cursor: "c".into() }));
        assert_eq!(said(&outbox).await.len(), 14);
        outbox.answered(&ids[3]);
        outbox.hold(ClientHello::default());
        outbox.release();
        let again: Vec<_> = said(&outbox).await.into_iter().skip(1).map(|act| act.request_id).collect();
        let mut expected = ids.clone();
        expected.remove(3);
        assert_eq!(again, expected);
    }

    #[tokio::test]
    async fn what_is_too_much_for_one_message_goes_out_in_several() {
        let outbox = Outbox::new();
        outbox.release();
        for ply in 0..1_500 {
            outbox.request("m1", play(ply));
        }
        outbox.say_at_once(Act::Pong(Pong { number: 1 }));
        assert_eq!(said(&outbox).await.len(), 1_001);
        assert_eq!(said(&outbox).await.len(), 500);
    }

    #[tokio::test]
    async fn a_request_goes_out_again_once_and_only_while_it_waits() {
        let outbox = Outbox::new();
        outbox.release();
        let id = outbox.request("m1", play(0));
        outbox.again(&id);
        assert_eq!(said(&outbox).await.len(), 1);
        outbox.again(&id);
        outbox.again("nobody's-1");
        assert_eq!(said(&outbox).await[0].request_id, id);
        outbox.answered(&id);
        outbox.again(&id);
        assert!(outbox.unanswered(&id).is_none());
        outbox.close();
        assert!(outbox.next().await.is_none());
    }

    #[tokio::test]
    async fn a_match_that_has_ended_is_forgotten_and_the_last_words_are_said_before_the_end() {
        let outbox = Outbox::new();
        outbox.release();
        outbox.request("m1", play(0));
        outbox.request("m2", Act::Resign(ResignAct {}));
        outbox.forget_match("m1");
        outbox.release();
        outbox.close();
        assert_eq!(said(&outbox).await[0].match_id, "m2");
        assert!(outbox.next().await.is_none());
    }
}
