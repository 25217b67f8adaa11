//! The bot's side of its stream: items of the server become calls of the bot, and their results become acts.

mod answers;
mod ends;
mod seats;
mod thinking;

use std::sync::Arc;
use std::time::Instant;

use log::info;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;

use crate::bot::Choice;
use crate::calling::{Caller, Tasks};
use crate::errors::Error;
use crate::events::{Chosen, Event, Place};
use crate::outbox::Outbox;
use crate::policies::Policies;
use crate::proto;
use crate::proto::play_act::Act;
use crate::proto::play_item::Item;
use crate::proto::{AnswerDrawAct, ClaimDrawAct, MoveAct, OfferDrawAct, ReadyAct, ResignAct};
use crate::slots::MatchSlots;
use crate::turn::{Told, Turn};
use crate::values::{DrawOffer, FinishedMatch};
use ends::Ends;
use seats::{Seat, Seats};
pub(crate) use thinking::Thinkers;

/// Plays a bot. It alone has the state of the seats of the bot's matches; tasks and threads communicate with it by
/// events.
pub(crate) struct Runner {
    caller: Arc<Caller>,
    outbox: Arc<Outbox>,
    slots: Arc<MatchSlots>,
    thinkers: Arc<Thinkers>,
    policies: Policies,
    events: UnboundedSender<Event>,
    player: String,
    seats: Seats,
    ends: Ends,
    tasks: Tasks,
}

impl Runner {
    /// `events` leads to what `run` receives.
    pub(crate) fn new(
        caller: Arc<Caller>,
        outbox: Arc<Outbox>,
        slots: Arc<MatchSlots>,
        thinkers: Arc<Thinkers>,
        policies: Policies,
        events: UnboundedSender<Event>,
    ) -> Runner {
        Runner {
            caller,
            outbox,
            slots,
            thinkers,
            policies,
            events,
            player: String::new(),
            seats: Seats::default(),
            ends: Ends::default(),
            tasks: Tasks::default(),
        }
    }

    /// Lets a listener, if there is one, have the end of each match after the bot.
    pub(crate) fn telling(mut self, listener: Option<UnboundedSender<FinishedMatch>>) -> Runner {
        self.ends.listener = listener;
        self
    }

    /// Plays until so many matches have ended and been acknowledged and no other is under way, or it is stopped. Fails
    /// with `Error::BotFailed`, or if the server does not accept the terms of a seek.
    pub(crate) async fn run(
        mut self,
        mut inbox: UnboundedReceiver<Event>,
        most_ended: Option<u64>,
    ) -> Result<(), Error> {
        while let Some(event) = inbox.recv().await {
            match event {
                Event::Item(item) => self.take(*item),
                Event::Chosen(chosen) => self.on_chosen(chosen),
                Event::Offer { place, accept } => self.on_offer_considered(&place, accept),
                Event::EndTold { number } => self.on_end_told(number),
                Event::Failed(error) => return Err(error),
                Event::Stop => break,
            }
            let enough = most_ended.is_some_and(|most| self.ends.told() >= most);
            if enough && self.ends.all_told() && self.slots.playing() == 0 {
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Hello(hello) => {
                self.policies.greeted(&hello.player);
                self.player = hello.player;
            }
            Item::Match(message) => self.on_match(&message),
            Item::Turn(message) => self.on_turn(message),
            Item::Answer(answer) => self.on_answer(answer),
            Item::Ended(message) => self.on_ended(message),
            Item::DrawOffered(message) => {
                for seat in self.seats.of_match(&message.match_id) {
                    self.answer_offer(&Place::of(&seat));
                }
            }
            other => self.policies.take(other),
        }
    }

    // ---- matches ---------------------------------------------------------------------------------------------------

    fn on_match(&mut self, message: &proto::Match) {
        use proto::Phase;
        let over = message.phase() == Phase::Ended || self.slots.is_over(&message.match_id);
        if over || message.players.len() != 2 {
            return;
        }
        let mut begun = Vec::new();
        for (number, opponent) in [(1, 1), (2, 0)] {
            if message.players[number - 1] != self.player {
                continue;
            }
            let place = Place { match_id: message.match_id.clone(), seat: number as i32 };
            let played = message.ply - message.opening_plies;
            let seat = self.sit(&place, &message.game, &message.players[opponent]);
            seat.live.learn(message);
            seat.goes_on = played > 1 || (played == 1 && message.turn != place.seat); // the bot has moved in it
            begun.extend(self.begin(&place));
            if message.draw_offered_by != 0 && message.draw_offered_by != place.seat {
                self.answer_offer(&place);
            }
        }
        if !begun.is_empty() && matches!(message.phase(), Phase::Pending | Phase::Paused) {
            self.say_ready(&message.match_id, begun);
        }
    }

    /// Says that the bot is ready for a match, once `started` has returned: no clock of the match starts before.
    fn say_ready(&mut self, match_id: &str, begun: Vec<watch::Receiver<bool>>) {
        let (outbox, slots, match_id) = (self.outbox.clone(), self.slots.clone(), match_id.to_owned());
        self.tasks.spawn(async move {
            for mut told in begun {
                let _ = told.wait_for(|told| *told).await; // or the callback is gone, and with it the run
            }
            if !slots.is_over(&match_id) {
                outbox.say(&match_id, Act::Ready(ReadyAct {}));
            }
        });
    }

    fn sit(&mut self, place: &Place, game: &str, opponent: &str) -> &mut Seat {
        self.slots.begun(&place.match_id);
        self.seats.sit(place, game, opponent)
    }

    /// Tells the bot that the match at a seat has started, if it does not know; the returned value becomes true after
    /// that.
    fn begin(&mut self, place: &Place) -> Option<watch::Receiver<bool>> {
        let seat = self.seats.get(place)?;
        if let Some(begun) = &seat.begun {
            return Some(begun.clone());
        }
        let about = &seat.live;
        let how = if seat.goes_on { "goes on" } else { "begins" };
        info!("{} {how}: {} as seat {} against {}", about.match_id, about.game, about.seat, about.opponent);
        let (told, begun) = watch::channel(false);
        seat.begun = Some(begun.clone());
        let (caller, live) = (self.caller.clone(), seat.live.clone());
        self.tasks.spawn(async move {
            caller.callback("started", (), move |bot| bot.started(&live)).await;
            let _ = told.send(true); // nobody waits any more
        });
        Some(begun)
    }

    // ---- turns -----------------------------------------------------------------------------------------------------

    fn on_turn(&mut self, message: proto::Turn) {
        if self.slots.is_over(&message.match_id) {
            return;
        }
        let place = Place { match_id: message.match_id.clone(), seat: message.seat };
        self.sit(&place, &message.game, &message.opponent);
        if message.draw_offered {
            self.answer_offer(&place);
        }
        let Some(begun) = self.begin(&place) else { return };
        let Some(seat) = self.seats.get(&place) else { return };
        if message.ply < seat.next_ply || seat.has_answered(message.ply, &self.outbox) {
            return; // a repeated turn: its choice exists, and has been or will be sent again
        }
        if seat.thought.as_ref().is_some_and(|thought| message.ply <= thought.ply) {
            return; // a repeated turn: its choice is under way
        }
        let thought = seat.think_anew(place, message.ply);
        let told = Told { message, received: Instant::now(), left: thought.left() };
        let work = self.thinkers.clone().think(thought, seat.live.clone(), begun, told);
        let task = self.tasks.spawn(work);
        seat.thinking(task);
    }

    fn on_chosen(&mut self, chosen: Chosen) {
        let Some(seat) = self.seats.get(&chosen.place) else { return }; // the match has ended
        if !seat.settle_thought(chosen.number) {
            return; // of an older turn
        }
        match chosen.choice {
            Ok(choice) => self.act(&chosen.place, chosen.ply, chosen.turn, choice),
            Err(failure) => {
                if self.caller.failed(&chosen.place.match_id, chosen.ply, failure) {
                    self.act(&chosen.place, chosen.ply, chosen.turn, Choice::Resign);
                }
            }
        }
    }

    fn act(&mut self, place: &Place, ply: i32, turn: Option<Arc<Turn>>, choice: Choice) {
        let act = match choice {
            Choice::Move(chosen) | Choice::OfferDraw(chosen) if chosen.text.is_empty() => {
                let failure = "it chose a move without a text".into();
                if !self.caller.failed(&place.match_id, ply, failure) {
                    return;
                }
                Act::Resign(ResignAct {})
            }
            Choice::OfferDraw(chosen) => {
                self.request(place, Act::OfferDraw(OfferDrawAct {}));
                Act::Move(MoveAct { ply, comment: chosen.comment(), r#move: chosen.text })
            }
            Choice::Move(chosen) => Act::Move(MoveAct { ply, comment: chosen.comment(), r#move: chosen.text }),
            Choice::ClaimDraw => Act::ClaimDraw(ClaimDrawAct {}),
            Choice::Resign => Act::Resign(ResignAct {}),
        };
        let request_id = self.request(place, act);
        if let Some(seat) = self.seats.get(place) {
            seat.turn = turn;
            seat.request_id = request_id;
        }
    }

    fn request(&mut self, place: &Place, act: Act) -> String {
        let request_id = self.outbox.request(&place.match_id, act);
        self.seats.asked(&request_id, place);
        request_id
    }

    // ---- draws -----------------------------------------------------------------------------------------------------

    fn answer_offer(&mut self, place: &Place) {
        let Some(seat) = self.seats.get(place) else { return };
        if std::mem::replace(&mut seat.offer_answered, true) {
            return;
        }
        let (caller, events, place) = (self.caller.clone(), self.events.clone(), place.clone());
        let offer = DrawOffer { live: seat.live.clone() };
        self.tasks.spawn(async move {
            let accept = caller.callback("draw_offered", false, move |bot| bot.draw_offered(&offer)).await;
            let _ = events.send(Event::Offer { place, accept }); // the run has ended
        });
    }

    fn on_offer_considered(&mut self, place: &Place, accept: bool) {
        if self.seats.get(place).is_some() {
            self.request(place, Act::AnswerDraw(AnswerDrawAct { accept }));
        }
    }
}

impl Drop for Runner {
    /// Tells all choices under way that they are not needed any more.
    fn drop(&mut self) {
        self.seats.end_all();
    }
}
