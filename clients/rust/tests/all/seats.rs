//! Several seats at once: limits, seats that move twice in a row, matches of a bot against itself, and ends.

use std::sync::Arc;

use arbiter_client::proto::play_act::Act;
use arbiter_client::proto::play_item::Item;
use arbiter_client::{Bot, BotError, Choice, Code, FinishedMatch, LiveMatch, Move, Profile, Reason, Turn};

use crate::bots::{Gate, Key, Noted, Notes, Playing};
use crate::peer::{PLAYER, Peer, letter, refusal, running, turn, won};

fn gated() -> (Noted, Key) {
    let (gate, key) = Gate::new();
    let bot = Noted::choosing(move |turn| {
        gate.pass(&format!("{} {}", turn.live.match_id, turn.ply));
        Ok(turn.live.match_id.as_str().into())
    });
    (bot, key)
}

#[tokio::test]
async fn choices_are_made_at_once_up_to_the_limit() {
    let mut peer = Peer::start().await;
    let (bot, mut key) = gated();
    let _playing = Playing::start(bot, peer.options().with_thinkers(2usize));
    let mut stream = peer.stream().await;
    stream.meet().await;
    stream.say((0..4).map(|number| Item::Turn(turn(&format!("m{number}"), 0)))).await;
    key.ring().await;
    key.ring().await;
    stream.ping(1).await;
    assert!(!key.has_rung());
    let mut moves = Vec::new();
    for _ in 0..4 {
        key.let_through();
        moves.push(stream.hear_move().await.1.r#move);
    }
    moves.sort();
    assert_eq!(moves, ["m0", "m1", "m2", "m3"]);
}

#[tokio::test]
async fn callbacks_of_one_match_do_not_wait_for_those_of_another() {
    struct Slow(Arc<Gate>, Notes);

    impl Bot for Slow {
        fn profile(&self) -> Profile {
            Profile::named("slow")
        }

        fn started(&self, live: &Arc<LiveMatch>) {
            if live.match_id == "m1" {
                self.0.pass("started");
            }
        }

        async fn choose(&self, turn: &Turn) -> Result<Choice, BotError> {
            self.1.add(format!("choose {}", turn.live.match_id));
            Ok("a".into())
        }

        fn ended(&self, finished: &FinishedMatch) {
            if finished.match_id == "m2" {
                self.0.pass("ended");
            }
            self.1.add(format!("ended {}", finished.match_id));
        }
    }

    let mut peer = Peer::start().await;
    let (gate, mut key) = Gate::new();
    let notes = Notes::default();
    let _playing = Playing::start(Slow(gate, notes.clone()), peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    stream.say([Item::Turn(turn("m1", 0))]).await;
    assert_eq!(key.ring().await, "started");
    stream.say([Item::Turn(turn("m2", 0))]).await;
    assert_eq!(stream.hear_move().await.0.match_id, "m2");
    stream.say([Item::Ended(won("m2", "c2")), Item::Ended(won("m3", "c3"))]).await;
    key.let_through(); // the match's own turn comes only now
    assert_eq!(stream.hear_move().await.0.match_id, "m1");
    assert_eq!(key.ring().await, "ended");
    while !notes.all().contains(&"ended m3".to_owned()) {
        tokio::task::yield_now().await;
    }
    stream.ping(1).await; // nothing is acknowledged before what came before it
    key.let_through();
    stream.hear_acknowledgement("c3").await;
    assert_eq!(notes.all().last().map(String::as_str), Some("ended m2"));
}

#[tokio::test]
async fn a_result_is_acknowledged_after_the_callback_and_told_once() {
    let mut peer = Peer::start().await;
    let bot = Noted::new();
    let notes = bot.notes();
    let _playing = Playing::start(bot, peer.options());
    let mut first = peer.stream().await;
    first.meet().await;
    first.say([Item::Ended(won("m1", "c1"))]).await;
    first.hear_acknowledgement("c1").await;
    drop(first);
    let mut second = peer.stream().await;
    second.meet().await;
    second.say([Item::Ended(won("m1", "c1")), Item::Turn(turn("m1", 2))]).await;
    second.hear_acknowledgement("c1").await;
    second.ping(1).await;
    assert_eq!(notes.all(), ["ended m1 with Some(1.0)"]);
}

#[tokio::test]
async fn a_later_turn_ends_the_thought_of_an_older_one() {
    let mut peer = Peer::start().await;
    let (gate, mut key) = Gate::new();
    let bot = Noted::choosing(move |turn| {
        if turn.ply == 0 {
            gate.pass("thinking");
            gate.pass(if turn.over() { "left" } else { "wanted" });
        }
        Ok(letter(turn.ply).into())
    });
    let _playing = Playing::start(bot, peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    stream.say([Item::Turn(turn("m1", 0))]).await;
    key.ring().await;
    stream.say([Item::Turn(turn("m1", 0)), Item::Turn(turn("m1", 2)), Item::Turn(turn("m1", 0))]).await;
    assert_eq!(stream.hear_move().await.1.r#move, "c");
    key.let_through();
    assert_eq!(key.ring().await, "left");
    key.let_through();
    stream.say([Item::Turn(turn("m2", 2))]).await;
    assert_eq!(stream.hear_move().await.0.match_id, "m2"); // and not what the old thought came to
    stream.ping(1).await;
}

#[tokio::test]
async fn a_turn_may_come_before_the_receipt_of_the_move_that_led_to_it() {
    let mut peer = Peer::start().await;
    let _playing = Playing::start(Noted::new(), peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    let of_seat_1 = |ply| Item::Turn(arbiter_client::proto::Turn { seat: 1, ..turn("m1", ply) });
    stream.say([of_seat_1(0)]).await;
    let (first, _) = stream.hear_move().await;
    stream.say([of_seat_1(0), of_seat_1(1)]).await;
    let (second, said) = stream.hear_move().await;
    assert_eq!(said.ply, 1);
    stream.receipt(&first).await;
    stream.say([of_seat_1(1)]).await;
    stream.receipt(&second).await;
    stream.say([of_seat_1(2)]).await;
    assert_eq!(stream.hear_move().await.1.ply, 2);
}

/// Remembers its plies in the match, and says its seat with each move.
struct Twofold(Notes);

impl Bot for Twofold {
    fn profile(&self) -> Profile {
        Profile::named("twofold")
    }

    async fn choose(&self, turn: &Turn) -> Result<Choice, BotError> {
        turn.live.with_memory(|plies: &mut Vec<i32>| plies.push(turn.ply));
        Ok(Move::from(letter(turn.ply)).with_line([format!("seat{}", turn.seat)]).into())
    }

    fn started(&self, live: &Arc<LiveMatch>) {
        self.0.add(format!("started {} against {}", live.seat, live.opponent));
    }

    fn ended(&self, finished: &FinishedMatch) {
        let live = finished.live.as_ref().expect("it was seen live");
        let plies = live.with_memory(|plies: &mut Vec<i32>| plies.clone());
        self.0.add(format!("ended {} after {plies:?}, over: {}", finished.seat, live.over()));
    }
}

#[tokio::test]
async fn both_seats_of_a_match_against_itself() {
    let mut peer = Peer::start().await;
    let notes = Notes::default();
    let playing = Playing::start(Twofold(notes.clone()), peer.options().with_matches(1u64));
    let mut stream = peer.stream().await;
    stream.meet().await;
    let mut against_itself = running("m1");
    against_itself.players[1] = PLAYER.to_owned();
    stream.say([Item::Match(against_itself)]).await;
    let mut before = None;
    for ply in 0..4 {
        stream.say([Item::Turn(turn("m1", ply))]).await;
        let (act, said) = stream.hear_move().await;
        assert_eq!(said.comment.expect("a comment").line, [format!("seat{}", 1 + ply % 2)]);
        if let Some(before) = before.replace(act) {
            stream.receipt(&before).await; // the answer to a move comes after the turn that it led to
        }
    }
    let last = before.expect("the last move");
    stream.refuse(&last, refusal(Reason::MoveIllegal, Code::FailedPrecondition, &[])).await;
    let (_, again) = stream.hear_move().await;
    assert_eq!((again.ply, again.comment.expect("a comment").line), (3, vec!["seat2".to_owned()]));
    stream.say([Item::Ended(won("m1", "c1"))]).await;
    stream.hear_acknowledgement("c1").await;
    stream.closed().await;
    playing.ended().await.expect("the run has done what it was to do");
    let mut told = notes.all();
    told[..2].sort();
    assert_eq!(told, ["started 1 against alice", "started 2 against alice", "ended 1 after [0, 2], over: true"]);
}

#[tokio::test]
async fn the_end_of_a_match_ends_its_thought_and_what_it_comes_to_is_not_said() {
    let mut peer = Peer::start().await;
    let (gate, mut key) = Gate::new();
    let bot = Noted::choosing(move |turn| {
        gate.pass("thinking");
        gate.pass(if turn.over() && turn.live.over() { "told" } else { "not told" });
        Ok("a".into())
    });
    let _playing = Playing::start(bot, peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    stream.say([Item::Turn(turn("m1", 0))]).await;
    key.ring().await;
    stream.say([Item::Ended(won("m1", "c1"))]).await;
    stream.hear_acknowledgement("c1").await;
    key.let_through();
    assert_eq!(key.ring().await, "told");
    key.let_through();
    stream.say([Item::Turn(turn("m2", 0))]).await;
    key.ring().await;
    stream.ping(1).await; // and not a move in the match that is over
}

#[tokio::test]
async fn what_waited_for_an_answer_in_a_match_that_ended_is_not_sent_again() {
    let mut peer = Peer::start().await;
    let _playing = Playing::start(Noted::new(), peer.options());
    let mut first = peer.stream().await;
    first.meet().await;
    first.say([Item::Turn(turn("m1", 0)), Item::Turn(turn("m2", 0))]).await;
    first.hear_move().await;
    first.hear_move().await;
    first.say([Item::Ended(won("m1", "c1"))]).await;
    first.hear_acknowledgement("c1").await;
    drop(first);
    let mut second = peer.stream().await;
    second.meet().await;
    assert_eq!(second.hear_move().await.0.match_id, "m2");
    second.ping(1).await;
}

#[tokio::test]
async fn a_match_tells_what_it_is() {
    let mut peer = Peer::start().await;
    let bot = Noted::choosing(|turn| {
        let live = &turn.live;
        let said = (live.time_control(), live.rated(), live.label(), live.opening_plies(), live.opponent.as_str());
        Ok(format!("{said:?}").into())
    });
    let _playing = Playing::start(bot, peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    let mut told = running("m1");
    (told.rated, told.label, told.opening_plies) = (true, "cup".into(), 2);
    stream.say([Item::Match(told), Item::Turn(turn("m1", 2))]).await;
    let act = stream.read().await.act;
    let Some(Act::Move(said)) = act else { panic!("expected a move, got {act:?}") };
    assert_eq!(said.r#move, r#"("1m+1s", true, "cup", 2, "bob")"#);
}
