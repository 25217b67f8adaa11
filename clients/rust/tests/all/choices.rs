//! The bot's methods: what its answers become, and what its errors and refusals cost.

use arbiter_client::proto::move_answer::Answer;
use arbiter_client::proto::play_act::Act;
use arbiter_client::proto::play_item::Item;
use arbiter_client::proto::{AnswerDrawAct, DrawOffered, MoveComment, Refusal};
use arbiter_client::{BotError, Choice, Code, Error, Move, OnError, Options, Reason, Turn};

use crate::bots::{Noted, Notes, Playing};
use crate::peer::{Peer, Stream, refusal, running, soon, turn, won};

/// Plays a bot on a peer, up to the two hellos.
async fn playing(bot: Noted, change: impl FnOnce(&mut Options)) -> (Peer, Playing, Stream) {
    let mut peer = Peer::start().await;
    let mut options = peer.options();
    change(&mut options);
    let playing = Playing::start(bot, options);
    let mut stream = peer.stream().await;
    stream.meet().await;
    (peer, playing, stream)
}

fn illegal() -> Refusal {
    refusal(Reason::MoveIllegal, Code::FailedPrecondition, &[("move", "bad"), ("strikes_left", "3")])
}

/// Returns a bot whose choice is bad unless it has been refused.
fn hasty() -> Noted {
    Noted::choosing(|turn| {
        let Some(refusal) = &turn.refused else { return Ok("bad".into()) };
        assert_eq!((refusal.reason, refusal.facts["strikes_left"].as_str()), (Reason::MoveIllegal, "3"));
        Ok("good".into())
    })
}

#[tokio::test]
async fn a_bot_says_what_it_expects() {
    let bot = Noted::choosing(|turn| {
        let expecting = |text: &str| Move::from(text).with_line([text]);
        Ok(match turn.ply {
            0 => expecting("a").with_evaluation(612).into(),
            2 => Choice::OfferDraw(expecting("c")),
            _ => "e".into(),
        })
    });
    let (_peer, _playing, mut stream) = playing(bot, |_| {}).await;
    let comment =
        |evaluation, text: &str| Some(MoveComment { evaluation, line: vec![text.into()], ..MoveComment::default() });
    for (ply, expected) in [(0, comment(Some(612), "a")), (2, comment(None, "c")), (4, None)] {
        stream.say([Item::Turn(turn("m1", ply))]).await;
        if ply == 2 {
            let offer = stream.read().await;
            assert!(matches!(offer.act, Some(Act::OfferDraw(_))));
            stream.receipt(&offer).await;
        }
        let (act, said) = stream.hear_move().await;
        assert_eq!(said.comment, expected);
        stream.receipt(&act).await;
    }
}

#[tokio::test]
async fn a_refused_move_is_chosen_again_with_the_refusal() {
    let bot = hasty();
    let notes = bot.notes();
    let (_peer, _playing, mut stream) = playing(bot, |_| {}).await;
    stream.say([Item::Turn(turn("m1", 0))]).await;
    let (bad, _) = stream.hear_move().await;
    stream.refuse(&bad, illegal()).await;
    let (good, said) = stream.hear_move().await;
    assert_eq!((said.r#move.as_str(), said.ply), ("good", 0));
    assert_ne!(good.request_id, bad.request_id);
    assert_eq!(notes.all()[2], "refused REFUSAL_REASON_MOVE_ILLEGAL");
}

#[tokio::test]
async fn the_second_refusal_of_a_turn_resigns() {
    let (_peer, _playing, mut stream) = playing(hasty(), |_| {}).await;
    stream.say([Item::Turn(turn("m1", 0))]).await;
    for _ in 0..2 {
        let (act, _) = stream.hear_move().await;
        stream.refuse(&act, illegal()).await;
    }
    let act = stream.read().await;
    assert_eq!((act.match_id.as_str(), matches!(act.act, Some(Act::Resign(_)))), ("m1", true));
}

#[tokio::test]
async fn the_bots_own_answer_to_a_refusal_is_sent() {
    let (_peer, _playing, mut stream) = playing(hasty().answering_refusals("other".into()), |_| {}).await;
    stream.say([Item::Turn(turn("m1", 0))]).await;
    let (bad, _) = stream.hear_move().await;
    stream.refuse(&bad, illegal()).await;
    assert_eq!(stream.hear_move().await.1.r#move, "other");
}

#[tokio::test]
async fn a_refusal_that_passes_sends_the_same_request_again_whatever_its_reason() {
    let (_peer, _playing, mut stream) = playing(Noted::new(), |_| {}).await;
    stream.say([Item::Turn(turn("m1", 0))]).await;
    let sent = stream.read().await;
    stream.refuse(&sent, refusal(Reason::StoreUnavailable, Code::Unavailable, &[("retry_after_ms", "1")])).await;
    assert_eq!(stream.read().await, sent);
    let mut unknown = refusal(Reason::Unspecified, Code::ResourceExhausted, &[("retry_after_ms", "1")]);
    unknown.reason = 999;
    stream.refuse(&sent, unknown).await;
    assert_eq!(stream.read().await, sent);
    stream.refuse(&sent, refusal(Reason::Draining, Code::Unavailable, &[])).await; // without a word when: 0.5 s
    assert_eq!(stream.read().await, sent);
}

#[tokio::test]
async fn a_move_that_came_too_late_costs_nothing() {
    let (_peer, _playing, mut stream) = playing(Noted::new(), |_| {}).await;
    for (ply, reason, code) in [
        (0, Reason::PlyMismatch, Code::Aborted),
        (2, Reason::NotYourTurn, Code::FailedPrecondition),
        (4, Reason::MatchNotActive, Code::FailedPrecondition),
    ] {
        stream.say([Item::Turn(turn("m1", ply))]).await;
        let (act, said) = stream.hear_move().await;
        assert_eq!(said.ply, ply);
        stream.refuse(&act, refusal(reason, code, &[])).await;
    }
    stream.say([Item::Turn(turn("m1", 6))]).await;
    assert_eq!(stream.hear_move().await.1.ply, 6);
}

/// Fails in one match and plays in all others.
fn failing(turn: &Turn) -> Result<Choice, arbiter_client::BotError> {
    match turn.live.match_id.as_str() {
        "error" => Err("oops".into()),
        "panic" => panic!("ouch"),
        "nothing" => Ok("".into()),
        _ => Ok("a".into()),
    }
}

#[tokio::test]
async fn a_bots_error_costs_one_match() {
    let (_peer, _playing, mut stream) = playing(Noted::choosing(failing), |_| {}).await;
    for match_id in ["error", "panic", "nothing"] {
        stream.say([Item::Turn(turn(match_id, 0))]).await;
        let act = stream.read().await;
        assert_eq!((act.match_id.as_str(), matches!(act.act, Some(Act::Resign(_)))), (match_id, true));
    }
    stream.say([Item::Turn(turn("good", 0))]).await;
    assert_eq!(stream.hear_move().await.0.match_id, "good");
}

#[tokio::test]
async fn a_bots_error_may_leave_the_clock_running() {
    let wait = |options: &mut Options| options.on_error = OnError::Wait;
    let (_peer, _playing, mut stream) = playing(Noted::choosing(failing), wait).await;
    stream.say([Item::Turn(turn("error", 0)), Item::Turn(turn("panic", 0)), Item::Turn(turn("good", 0))]).await;
    assert_eq!(stream.hear_move().await.0.match_id, "good");
    stream.ping(1).await;
}

#[tokio::test]
async fn a_bots_error_ends_the_run_where_that_is_wanted() {
    for (match_id, words) in [("error", "oops"), ("panic", "it panicked: ouch")] {
        let raise = |options: &mut Options| options.on_error = OnError::Raise;
        let (_peer, playing, mut stream) = playing(Noted::choosing(failing), raise).await;
        stream.say([Item::Turn(turn(match_id, 3))]).await;
        stream.ping(1).await;
        stream.closed().await;
        let error = playing.ended().await.expect_err("the bot failed");
        assert!(matches!(error, Error::BotFailed { .. }));
        assert_eq!(error.to_string(), format!("noted failed in match {match_id} at ply 3: {words}"));
        assert_eq!(std::error::Error::source(&error).map(ToString::to_string).as_deref(), Some(words));
    }
}

#[tokio::test]
async fn draws_are_offered_claimed_and_answered() {
    let bot = Noted::choosing(|turn| {
        Ok(match (turn.ply, turn.draw_claim.as_str()) {
            (0, _) => Choice::OfferDraw("a".into()),
            (_, "repetition") if turn.refused.is_none() => Choice::ClaimDraw,
            _ => Choice::Resign,
        })
    });
    let bot = bot.accepting_draws();
    let notes = bot.notes();
    let (_peer, _playing, mut stream) = playing(bot, |_| {}).await;
    stream.say([Item::Turn(turn("m1", 0))]).await;
    assert!(matches!(stream.read().await.act, Some(Act::OfferDraw(_))));
    let (act, _) = stream.hear_move().await;
    stream.receipt(&act).await;
    stream.say([Item::DrawOffered(DrawOffered { match_id: "m1".into(), ply: 1 })]).await;
    let accepted = Some(Act::AnswerDraw(AnswerDrawAct { accept: true }));
    assert_eq!(stream.read().await.act, accepted);
    let mut claimed = turn("m1", 2);
    claimed.draw_claim = "repetition".into();
    claimed.draw_offered = true; // it has been answered
    stream.say([Item::Turn(claimed)]).await;
    let claim = stream.read().await;
    assert!(matches!(claim.act, Some(Act::ClaimDraw(_))));
    stream.refuse(&claim, refusal(Reason::DrawNotAvailable, Code::FailedPrecondition, &[("why", "no claim")])).await;
    assert!(matches!(stream.read().await.act, Some(Act::Resign(_))));
    assert_eq!(notes.all().iter().filter(|note| *note == "draw offered by bob").count(), 1);
}

#[tokio::test]
async fn an_offer_is_declined_by_default_also_one_that_stood_before() {
    let (_peer, _playing, mut stream) = playing(Noted::new(), |_| {}).await;
    let mut offered = running("m1");
    offered.draw_offered_by = 2;
    stream.say([Item::Match(offered)]).await;
    assert_eq!(stream.read().await.act, Some(Act::AnswerDraw(AnswerDrawAct { accept: false })));
}

#[tokio::test]
async fn an_answer_of_a_newer_kind_settles_the_request() {
    let (_peer, _playing, mut stream) = playing(Noted::new(), |_| {}).await;
    stream.say([Item::Turn(turn("m1", 0))]).await;
    let (act, _) = stream.hear_move().await;
    let newer = arbiter_client::proto::MoveAnswer {
        request_id: act.request_id.clone(),
        match_id: act.match_id.clone(),
        answer: None::<Answer>,
    };
    stream.say([Item::Answer(newer), Item::Turn(turn("m1", 2))]).await;
    assert_eq!(stream.hear_move().await.1.ply, 2);
}

#[tokio::test]
async fn legal_moves_are_those_of_the_turn_or_else_the_servers() {
    let bot = Noted::thinking(|turn| {
        Box::pin(async { Ok(turn.legal_moves().await?.last().expect("there is one").text.clone().into()) })
    });
    let (mut peer, _playing, mut stream) = playing(bot, |_| {}).await;
    peer.lay().legal = vec!["x".into(), "y".into()];
    stream.say([Item::Turn(turn("m1", 4))]).await;
    assert_eq!(stream.hear_move().await.1.r#move, "y");
    let asked = peer.asked().await;
    assert_eq!((asked.method, asked.about.as_str()), ("LegalMoves", "m1 at Some(4)"));
    assert_eq!(asked.authorization, "Bearer secret");
    let mut told = turn("m2", 0);
    told.legal_moves = vec![arbiter_client::LegalMove { text: "z".into(), steps: Vec::new() }];
    stream.say([Item::Turn(told)]).await;
    assert_eq!(stream.hear_move().await.1.r#move, "z");
}

#[tokio::test]
async fn a_turn_knows_how_long_the_bot_may_think() {
    let bot = Noted::choosing(|turn| {
        let left = turn.time_left().map(|left| left.as_millis());
        Ok(match left {
            None => "endless".into(),
            Some(0) => "none".into(),
            Some(left) if (3_000..=4_800).contains(&left) => "some".into(),
            Some(left) => left.to_string().into(),
        })
    });
    let (_peer, _playing, mut stream) = playing(bot, |_| {}).await;
    for (match_id, available_ms, expected) in [("m1", 0, "endless"), ("m2", 5_000, "some"), ("m3", 100, "none")] {
        let mut told = turn(match_id, 0);
        (told.started_ms, told.now_ms, told.available_ms) = (1_000, 1_200, available_ms);
        stream.say([Item::Turn(told)]).await;
        assert_eq!(stream.hear_move().await.1.r#move, expected);
    }
}

/// An error of a bot's own, with the client's behind it.
#[derive(Debug)]
struct NoMove(Error);

impl std::fmt::Display for NoMove {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("no move")
    }
}

impl std::error::Error for NoMove {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[tokio::test]
async fn an_outage_costs_no_match_however_the_bot_wraps_its_error() {
    let ways: [fn(Error) -> BotError; 5] = [
        |error| error.into(),
        |error| NoMove(error).into(),
        |error| std::io::Error::other(NoMove(error)).into(),
        |error| error.to_string().into(),
        |error| panic!("{error}"),
    ];
    for wrapped in ways {
        for refused_first in [false, true] {
            let bot = Noted::thinking(move |turn| {
                Box::pin(async move {
                    if refused_first && turn.refused.is_none() {
                        return Ok("bad".into());
                    }
                    Ok(turn.legal_moves().await.map_err(wrapped)?[0].text.clone().into())
                })
            });
            let impatient = |options: &mut Options| options.patience = Some(std::time::Duration::ZERO);
            let (peer, _playing, mut stream) = playing(bot, impatient).await;
            peer.lay().legal = vec!["x".into()];
            let away = refusal(Reason::StoreUnavailable, Code::Unavailable, &[("retry_after_ms", "1")]);
            peer.lay().refusals.push_back(away);
            stream.say([Item::Turn(turn("m1", 0))]).await;
            if refused_first {
                let (act, _) = stream.hear_move().await;
                stream.refuse(&act, refusal(Reason::MoveIllegal, Code::FailedPrecondition, &[])).await;
            }
            assert_eq!(stream.hear_move().await.1.r#move, "x");
        }
    }
}

/// Notes that it is dropped.
struct Dropped(Notes);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.add("dropped".to_owned());
    }
}

#[tokio::test]
async fn what_a_bot_awaits_is_dropped_when_nobody_waits_for_its_choice_any_more() {
    let notes = Notes::default();
    let seen = notes.clone();
    let bot = Noted::thinking(move |turn| {
        let dropped = Dropped(seen.clone());
        Box::pin(async move {
            if turn.live.match_id == "m1" {
                dropped.0.add(format!("thinks at {}", turn.ply));
                std::future::pending::<()>().await;
            }
            std::mem::forget(dropped);
            Ok("a".into())
        })
    });
    let one = |options: &mut Options| options.thinkers = 1;
    let (_peer, _playing, mut stream) = playing(bot, one).await;
    stream.say([Item::Turn(turn("m1", 0))]).await;
    until(&notes, &["thinks at 0"]).await;
    stream.say([Item::Turn(turn("m1", 2))]).await; // a later turn
    until(&notes, &["thinks at 0", "dropped", "thinks at 2"]).await;
    stream.say([Item::Ended(won("m1", "c1")), Item::Turn(turn("m2", 0))]).await; // and the end of the match
    let mut acts = vec![stream.read().await, stream.read().await];
    acts.sort_by_key(|act| act.match_id.clone()); // an acknowledgement is of no match
    assert!(matches!(acts[1].act, Some(Act::Move(_))), "the one place to think is free again: {acts:?}");
    until(&notes, &["thinks at 0", "dropped", "thinks at 2", "dropped"]).await;
}

/// Waits until these are the notes.
async fn until(notes: &Notes, expected: &[&str]) {
    soon(async {
        while notes.all() != expected {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn one_bot_plays_in_several_runs_at_once_and_one_after_the_other() {
    let bot = std::sync::Arc::new(Noted::new());
    let notes = bot.notes();
    let mut others = Vec::new();
    for match_id in ["m1", "m2", "m3"] {
        let mut peer = Peer::start().await;
        let playing = Playing::start(bot.clone(), peer.options().with_matches(1u64));
        let mut stream = peer.stream().await;
        stream.meet().await;
        stream.say([Item::Turn(turn(match_id, 0))]).await;
        assert_eq!(stream.hear_move().await.0.match_id, match_id);
        if match_id == "m1" {
            others.push((peer, playing, stream)); // its run goes on
            continue;
        }
        stream.say([Item::Ended(won(match_id, "c1"))]).await;
        assert!(matches!(stream.read().await.act, Some(Act::Acknowledge(_))));
        stream.closed().await;
        playing.ended().await.expect("its match has ended");
    }
    let (_peer, playing, mut stream) = others.remove(0);
    stream.say([Item::Ended(won("m1", "c1"))]).await;
    assert!(matches!(stream.read().await.act, Some(Act::Acknowledge(_))));
    stream.closed().await;
    playing.ended().await.expect("its match has ended");
    let ends: Vec<_> = notes.all().into_iter().filter(|note| note.starts_with("ended")).collect();
    assert_eq!(ends.iter().map(|note| &note[6..8]).collect::<Vec<_>>(), ["m2", "m3", "m1"]);
}
