//! The session: connecting, pings, reconnects with resend, and the ends of a stream.

use std::sync::Arc;
use std::time::Duration;

use arbiter_client::proto::play_act::Act;
use arbiter_client::proto::play_item::Item;
use arbiter_client::proto::{Match, MoveAnswer, Phase, Ping, PlayAct, PlayItem, PlayResponse, ReadyAct};
use arbiter_client::{AnyBot, Bot, BotError, Choice, Code, Error, Extras, LiveMatch, Options, Profile, Reason, Turn};
use prost::Message;
use tonic::Status;

use crate::bots::{Gate, Noted, NotedHooks, Notes, Playing};
use crate::logged;
use crate::peer::{Peer, letter, refusal, running, soon, turn, won};

#[tokio::test]
async fn a_bot_says_who_it_is_and_plays_a_match() {
    let mut peer = Peer::start().await;
    let bot = Noted::new().with(|profile| {
        profile.version = "7".into();
        profile.games = vec!["pods".into()];
        profile.most_matches = 3;
        profile.capabilities = vec!["tricks".into()];
        profile.extras = Extras::default().with_board(true).with_legal_moves_up_to(9);
        profile.enter_tournaments = true;
    });
    let notes = bot.notes();
    let playing = Playing::start(bot, peer.options().with_matches(1u64));
    let mut stream = peer.stream().await;
    assert_eq!(stream.authorization, "Bearer secret");
    let hello = stream.meet().await;
    assert_eq!((hello.protocol_version.as_str(), hello.software.as_str()), ("1.0", "arbiter-client-rust"));
    assert_eq!((hello.bot_name.as_str(), hello.bot_version.as_str()), ("noted", "7"));
    assert_eq!((hello.games, hello.most_matches), (vec!["pods".to_owned()], 3));
    assert_eq!(hello.capabilities, ["ready", "tricks"]);
    assert_eq!((hello.seeks, hello.tournaments), (false, true));
    let extras = hello.extras.expect("extras");
    assert_eq!((extras.board, extras.legal_moves_up_to, extras.steps), (true, 9, false));
    stream.say([Item::Match(running("m1")), Item::Turn(turn("m1", 0))]).await;
    for ply in [0, 2] {
        let (act, said) = stream.hear_move().await;
        assert_eq!((act.match_id.as_str(), said.ply, said.r#move), ("m1", ply, letter(ply)));
        stream.receipt(&act).await;
        if ply == 0 {
            stream.say([Item::Turn(turn("m1", 2))]).await;
        }
    }
    stream.say([Item::Ended(won("m1", "c1"))]).await;
    stream.hear_acknowledgement("c1").await;
    stream.closed().await;
    playing.ended().await.expect("the run has done what it was to do");
    let told = ["started m1 in seat 1", "turn 0 of m1 in seat 1", "turn 2 of m1 in seat 1", "ended m1 with Some(1.0)"];
    assert_eq!(notes.all(), told);
}

struct Preparing(Arc<Gate>);

impl Bot for Preparing {
    fn profile(&self) -> Profile {
        Profile::named("preparing")
    }

    async fn choose(&self, turn: &Turn) -> Result<Choice, BotError> {
        Ok(letter(turn.ply).into())
    }

    fn started(&self, live: &Arc<LiveMatch>) {
        self.0.pass(&live.match_id);
    }
}

#[tokio::test]
async fn the_server_hears_once_the_bot_is_ready_for_a_match_that_waits() {
    let mut peer = Peer::start().await;
    let (gate, mut key) = Gate::new();
    let _playing = Playing::start(Preparing(gate), peer.options());
    let mut stream = peer.stream().await;
    assert_eq!(stream.meet().await.capabilities, ["ready"]);
    let waits = |phase: Phase| Item::Match(Match { phase: phase.into(), ..running("m1") });
    let said = |act: PlayAct| (act.match_id, act.act);
    let ready = ("m1".to_owned(), Some(Act::Ready(ReadyAct {})));
    stream.say([waits(Phase::Pending)]).await;
    key.ring().await;
    stream.ping(1).await; // and nothing else before it
    key.let_through();
    assert_eq!(said(stream.read().await), ready);
    stream.say([waits(Phase::Paused)]).await;
    assert_eq!(said(stream.read().await), ready);
    stream.say([Item::Match(running("m1")), Item::Turn(turn("m1", 0))]).await;
    stream.hear_move().await;
}

#[tokio::test]
async fn an_outage_is_one_line_when_it_begins_and_one_when_it_is_over_and_hooks_are_called() {
    logged::keep();
    let (mut peer, notes) = (Peer::start().await, Notes::default());
    let _playing = Playing::start(Noted::new(), peer.options().with_hooks(NotedHooks(notes.clone())));
    let mut stream = peer.stream().await;
    stream.meet().await;
    stream.say([Item::Match(running("m1")), Item::Turn(turn("m1", 0))]).await;
    let (act, _) = stream.hear_move().await;
    stream.refuse(&act, refusal(Reason::MoveIllegal, Code::FailedPrecondition, &[])).await;
    stream.hear_move().await;
    stream.fail(Status::unavailable("gone")).await;
    for _ in 0..3 {
        peer.stream().await.fail(Status::unavailable("away")).await;
    }
    let mut back = peer.stream().await;
    back.meet().await;
    back.hear_move().await;
    let mut lines = logged::lines();
    lines.retain(|line| line != "ERROR the hook disconnected panicked");
    let starts = ["INFO connected to ", "INFO m1 begins: ", "WARN refused in match m1: said MOVE_ILLEGAL"];
    assert!(starts.iter().zip(&lines).all(|(start, line)| line.starts_with(start)), "{lines:?}");
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(lines[3].starts_with("WARN connection lost, trying again at ") && lines[3].contains("gone"), "{lines:?}");
    assert!(lines[4].starts_with("WARN ") && lines[4].contains(" as alice again, after "), "{lines:?}");
    let told = [
        "connected as alice",
        "thought in m1 at 0",
        "refused in m1 at 0: said MOVE_ILLEGAL",
        "thought in m1 at 0",
        "disconnected: true",
        "connected as alice",
    ];
    assert_eq!(notes.all(), told);
}

#[tokio::test]
async fn a_match_in_which_the_bot_has_moved_goes_on() {
    logged::keep();
    let mut peer = Peer::start().await;
    let _playing = Playing::start(Noted::new(), peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    let after = |id, ply, turn| Item::Match(Match { ply, turn, opening_plies: 2, ..running(id) });
    stream.say([after("first", 3, 1), after("later", 3, 2), after("new", 2, 1)]).await; // in seat 1
    stream.ping(1).await;
    let told = || logged::lines().iter().filter(|line| line.contains(" seat 1 against bob")).count();
    soon(async {
        while told() < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let lines = logged::lines().concat();
    assert!(["first begins", "later goes on", "new begins"].iter().all(|part| lines.contains(part)), "{lines}");
}

#[tokio::test]
async fn a_bot_may_be_chosen_while_the_program_runs() {
    let bots: Vec<Box<dyn AnyBot>> = vec![Box::new(Noted::new()), Box::new(std::sync::Arc::new(Noted::new()))];
    for bot in bots {
        let mut peer = Peer::start().await;
        let _playing = Playing::start(bot, peer.options());
        let mut stream = peer.stream().await;
        assert_eq!(stream.meet().await.bot_name, "noted");
        stream.say([Item::Turn(turn("m1", 0))]).await;
        assert_eq!(stream.hear_move().await.1.r#move, "a");
    }
}

#[tokio::test]
async fn pings_are_answered_while_the_bot_thinks() {
    let mut peer = Peer::start().await;
    let (gate, mut key) = Gate::new();
    let bot = Noted::choosing(move |turn| {
        gate.pass(&turn.live.match_id);
        Ok("a".into())
    });
    let _playing = Playing::start(bot, peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    stream.say([Item::Turn(turn("m1", 0))]).await;
    key.ring().await;
    for number in 0..20 {
        stream.ping(number).await;
    }
    key.let_through();
    assert_eq!(stream.hear_move().await.1.r#move, "a");
}

#[tokio::test]
async fn an_unanswered_move_is_sent_again_under_the_same_id_and_no_turn_is_answered_twice() {
    let mut peer = Peer::start().await;
    let bot = Noted::new();
    let notes = bot.notes();
    let _playing = Playing::start(bot, peer.options());
    let mut first = peer.stream().await;
    first.meet().await;
    first.say([Item::Turn(turn("m1", 0))]).await;
    let sent = first.read().await;
    first.end(Reason::Draining, Code::Unavailable).await;
    let mut second = peer.stream().await;
    second.meet().await;
    second.say([Item::Match(running("m1")), Item::Turn(turn("m1", 0))]).await;
    let again = second.read().await;
    assert_eq!(again, sent);
    second.receipt(&again).await;
    second.receipt(&again).await; // told twice
    second.say([Item::Turn(turn("m1", 0))]).await; // told late
    second.say([Item::Turn(turn("m1", 2))]).await;
    assert_eq!(second.hear_move().await.1.ply, 2);
    let turns: Vec<_> = notes.all().into_iter().filter(|note| note.starts_with("turn")).collect();
    assert_eq!(turns, ["turn 0 of m1 in seat 1", "turn 2 of m1 in seat 1"]);
}

#[tokio::test]
async fn all_that_is_unanswered_is_sent_again_in_its_old_order_after_the_hello() {
    let mut peer = Peer::start().await;
    let _playing = Playing::start(Noted::new(), peer.options());
    let mut first = peer.stream().await;
    first.meet().await;
    let mut sent = Vec::new();
    for number in 0..12 {
        first.say([Item::Turn(turn(&format!("m{number}"), 0))]).await;
        sent.push(first.read().await);
    }
    first.receipt(&sent.remove(5)).await;
    first.ping(1).await; // the receipt has been read
    first.say([Item::Turn(turn("last", 0))]).await;
    sent.push(first.read().await);
    drop(first);
    let mut second = peer.stream().await;
    assert!(matches!(second.read().await.act, Some(Act::Hello(_))));
    second.ping(3).await; // the only thing beside the hello that goes out before the server's
    second.send_hello(60_000).await;
    for act in sent {
        assert_eq!(second.read().await, act);
    }
}

#[tokio::test]
async fn a_thought_outlives_its_stream_and_is_not_begun_again() {
    let mut peer = Peer::start().await;
    let (gate, mut key) = Gate::new();
    let bot = Noted::choosing(move |turn| {
        gate.pass(&turn.live.match_id);
        Ok("a".into())
    });
    let notes = bot.notes();
    let _playing = Playing::start(bot, peer.options());
    let mut first = peer.stream().await;
    first.meet().await;
    first.say([Item::Turn(turn("m1", 0))]).await;
    key.ring().await;
    drop(first);
    let mut second = peer.stream().await;
    second.meet().await;
    second.say([Item::Match(running("m1")), Item::Turn(turn("m1", 0))]).await;
    second.ping(1).await;
    key.let_through();
    assert_eq!(second.hear_move().await.1.r#move, "a");
    assert_eq!(notes.all(), ["started m1 in seat 1", "turn 0 of m1 in seat 1"]);
}

#[tokio::test]
async fn a_silent_server_is_left_and_connected_to_again() {
    let mut peer = Peer::start().await;
    let _playing = Playing::start(Noted::new(), peer.options());
    let mut first = peer.stream().await;
    first.meet_silent_for(20).await;
    let mut second = peer.stream().await;
    second.meet().await;
    drop(first);
}

#[tokio::test]
async fn a_session_that_the_server_does_not_want_ends_with_the_refusal() {
    for (reason, code) in [
        (Reason::SessionSuperseded, Code::Aborted),
        (Reason::TokenInvalid, Code::Unauthenticated),
        (Reason::ScopeMissing, Code::PermissionDenied),
        (Reason::PlayerSuspended, Code::PermissionDenied),
        (Reason::VersionUnsupported, Code::FailedPrecondition),
        (Reason::GameUnknown, Code::InvalidArgument),
        (Reason::MessageTooLarge, Code::ResourceExhausted),
    ] {
        let mut peer = Peer::start().await;
        let playing = Playing::start(Noted::new(), peer.options());
        let mut stream = peer.stream().await;
        stream.meet().await;
        stream.end(reason, code).await;
        let error = playing.ended().await.expect_err("the server does not want it");
        assert_eq!(error.reason(), Some(reason));
        assert!(error.to_string().starts_with("said "), "{error}");
        assert!(!peer.has_stream());
    }
}

#[tokio::test]
async fn a_session_that_was_ended_for_a_reason_that_passes_comes_back() {
    let mut peer = Peer::start().await;
    let _playing = Playing::start(Noted::new(), peer.options());
    for (reason, code) in [
        (Reason::ReaderTooSlow, Code::Aborted),
        (Reason::SessionSilent, Code::Aborted),
        (Reason::RateLimited, Code::ResourceExhausted),
        (Reason::Draining, Code::Unavailable),
        (Reason::StoreUnavailable, Code::Unavailable),
        (Reason::Unspecified, Code::Internal),
    ] {
        let mut stream = peer.stream().await;
        stream.meet().await;
        stream.end(reason, code).await;
    }
    peer.stream().await.meet().await;
}

#[tokio::test]
async fn a_notice_says_why_where_the_end_itself_does_not() {
    let mut peer = Peer::start().await;
    let playing = Playing::start(Noted::new(), peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    stream.say([Item::Notice(refusal(Reason::SessionSuperseded, Code::Aborted, &[]))]).await;
    stream.ping(1).await;
    drop(stream);
    let error = playing.ended().await.expect_err("it plays elsewhere");
    assert_eq!(error.reason(), Some(Reason::SessionSuperseded));
}

#[tokio::test]
async fn what_is_newer_than_the_client_is_passed_over() {
    let mut peer = Peer::start().await;
    let _playing = Playing::start(Noted::new(), peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    let unknown = b"\x0a\x06\xfa\x7f\x03abc"; // an item with field 2047
    let mut response = PlayResponse::decode(&unknown[..]).expect("it is a response");
    assert_eq!(response.items, [PlayItem { item: None }]);
    let stray = MoveAnswer { request_id: "nobody's".into(), match_id: "m7".into(), answer: None };
    response.items.extend([Item::Answer(stray), Item::Turn(turn("m1", 0))].map(|item| PlayItem { item: Some(item) }));
    stream.write(response).await;
    assert_eq!(stream.hear_move().await.1.r#move, "a");
}

#[tokio::test]
async fn moves_that_a_turn_does_not_carry_are_asked_for() {
    let mut peer = Peer::start().await;
    let mut whole = running("m1");
    whole.moves = (0..6).map(letter).collect();
    peer.lay().matches.insert("m1".into(), whole);
    peer.lay().refusals.push_back(refusal(Reason::Unspecified, Code::Internal, &[]));
    let bot = Noted::choosing(|turn| {
        let known = turn.moves.join("");
        assert_eq!((turn.line().moves.join(""), turn.live.moves().join("")), (known.clone(), known.clone()));
        Ok(known.into())
    });
    let _playing = Playing::start(bot, peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    let mut late = turn("m1", 4);
    late.last_moves.drain(..2);
    stream.say([Item::Turn(late)]).await;
    let (act, said) = stream.hear_move().await;
    assert_eq!(said.r#move, "abcd");
    for _ in 0..2 {
        assert_eq!(peer.asked_for().await, ("GetMatch", "m1".to_owned())); // the first time, the server failed
    }
    // The receipt brings the bot's own move, and the next turn the opponent's: nothing is missing any more.
    stream.receipt(&act).await;
    let mut next = turn("m1", 6);
    next.last_moves.drain(..5);
    next.last_moves[0].r#move = "x".into();
    stream.say([Item::Turn(next)]).await;
    assert_eq!(stream.hear_move().await.1.r#move, "abcdabcdx");
}

#[tokio::test]
async fn a_run_that_is_told_to_stop_says_the_rest_and_awaits_the_servers_end() {
    let mut peer = Peer::start().await;
    let (gate, mut key) = Gate::new();
    let bot = Noted::choosing(move |turn| {
        if turn.live.match_id == "m2" {
            gate.pass("m2");
            gate.pass(if turn.over() { "told" } else { "not told" });
        }
        Ok("a".into())
    });
    let mut playing = Playing::start(bot, peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    stream.say([Item::Turn(turn("m2", 0))]).await;
    key.ring().await;
    stream.say([Item::Turn(turn("m1", 0))]).await;
    stream.hear_move().await;
    playing.stop();
    stream.closed().await;
    playing.ended().await.expect("it was told to");
    key.let_through();
    assert_eq!(key.ring().await, "told");
}

#[tokio::test]
async fn a_run_that_is_told_to_stop_does_not_wait_for_a_server_that_is_gone() {
    let mut peer = Peer::start().await;
    let mut playing = Playing::start(Noted::new(), peer.options());
    peer.stream().await.meet().await;
    drop(peer);
    playing.stop();
    playing.ended().await.expect("it was told to");
}

#[tokio::test]
async fn no_server_is_one_clear_sentence() {
    let options = Options::default().with_server("127.0.0.1:1").with_token("t").with_patience(Duration::ZERO);
    let error = Playing::start(Noted::new(), options).ended().await.expect_err("there is no server");
    assert!(matches!(error, Error::ConnectionFailed(..)));
    assert!(error.to_string().starts_with("no arbiter answers at 127.0.0.1:1: is it running"), "{error}");
}

#[tokio::test]
async fn a_first_try_that_takes_longer_than_the_patience_is_not_the_last() {
    let mut peer = Peer::start().await;
    let patience = Duration::from_millis(200);
    let _playing = Playing::start(Noted::new(), peer.options().with_patience(patience));
    let stream = peer.stream().await;
    tokio::time::sleep(patience).await; // nothing to wait for: this is a slow machine
    stream.end(Reason::StoreUnavailable, Code::Unavailable).await;
    peer.stream().await.meet().await;
}

#[tokio::test]
async fn a_server_that_comes_late_is_waited_for() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("it listens").to_string();
    drop(free);
    let options = Options::default().with_server(&*address).with_token("t");
    let _playing = Playing::start(Noted::new(), options);
    let mut peer = Peer::start_at(&address).await;
    assert_eq!(peer.stream().await.meet().await.bot_name, "noted");
}

#[tokio::test]
async fn many_matches_are_played_at_once() {
    let mut peer = Peer::start().await;
    let _playing =
        Playing::start(Noted::choosing(|turn| Ok(Choice::from(turn.live.match_id.as_str()))), peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    let turns = (0..200).map(|number| Item::Turn(turn(&format!("m{number}"), 0)));
    stream.say(turns.chain([Item::Ping(Ping { number: 1 })])).await;
    let mut moves = std::collections::HashSet::new();
    while moves.len() < 200 {
        let act = stream.read().await;
        if let Some(Act::Move(said)) = act.act {
            assert_eq!(said.r#move, act.match_id);
            assert!(moves.insert(said.r#move), "no turn is answered twice");
        }
    }
}
