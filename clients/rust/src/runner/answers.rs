//! Answers: receipts and refusals.

use std::time::Duration;

use log::{debug, warn};
use tokio::time::sleep;

use super::Runner;
use crate::errors::{ArbiterError, Reason};
use crate::events::Place;
use crate::hooks::hook;
use crate::proto::move_answer::Answer;
use crate::proto::play_act::Act;
use crate::proto::{MoveAnswer, PlayAct};

const USUAL_PAUSE: Duration = Duration::from_millis(500); // before a request is sent again

impl Runner {
    pub(super) fn on_answer(&mut self, answer: MoveAnswer) {
        let Some(act) = self.outbox.unanswered(&answer.request_id) else { return }; // answered before
        match answer.answer {
            Some(Answer::Refusal(refusal)) => self.on_refusal(&act, refusal.into()),
            Some(Answer::Receipt(receipt)) => self.on_receipt(&act, receipt.ply),
            None => self.on_receipt(&act, 0), // of a kind that is newer than this client
        }
    }

    fn on_receipt(&mut self, act: &PlayAct, ply: i32) {
        let place = self.settled(act);
        let (Some(place), Some(Act::Move(said))) = (place, &act.act) else { return };
        if let Some(seat) = self.seats.get(&place) {
            seat.next_ply = seat.next_ply.max(said.ply + 1);
            seat.offer_answered = false; // a move ends the opponent's offer
            if ply == said.ply + 1 {
                seat.live.played(said.ply, &said.r#move);
            }
        }
    }

    /// Marks a request as answered; returns who made it, or `None` if its match is over.
    fn settled(&mut self, act: &PlayAct) -> Option<Place> {
        self.outbox.answered(&act.request_id);
        self.seats.answered(&act.request_id)
    }

    fn on_refusal(&mut self, act: &PlayAct, refusal: ArbiterError) {
        if refusal.temporary() {
            let asked = refusal.retry_after();
            let pause = if asked.is_zero() { USUAL_PAUSE } else { asked };
            let (outbox, request_id) = (self.outbox.clone(), act.request_id.clone());
            self.tasks.spawn(async move {
                sleep(pause).await;
                outbox.again(&request_id);
            });
            return;
        }
        let place = self.settled(act);
        let late = matches!(refusal.reason, Reason::PlyMismatch | Reason::NotYourTurn | Reason::MatchNotActive);
        match place {
            Some(place) if !late => self.on_objection(&place, act, refusal),
            _ => debug!("a request for match {} came too late: {refusal}", act.match_id),
        }
    }

    /// Calls the bot again if the refused act is its answer to the turn.
    fn on_objection(&mut self, place: &Place, act: &PlayAct, refusal: ArbiterError) {
        warn!("refused in match {}: {refusal}", act.match_id);
        let answers_turn = matches!(act.act, Some(Act::Move(_) | Act::ClaimDraw(_)));
        let Some(seat) = self.seats.get(place) else { return };
        let Some(turn) = seat.turn.clone() else { return };
        if !answers_turn || seat.request_id != act.request_id || seat.thought.is_some() {
            return;
        }
        hook("refused", || self.caller.hooks.refused(&seat.live, turn.ply, &refusal));
        let thought = seat.think_anew(place.clone(), turn.ply);
        let task = self.tasks.spawn(self.thinkers.clone().think_again(thought, turn, refusal));
        seat.thinking(task);
    }
}
