//! Matches of two bots of one program, without a server that somebody runs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::{Arc, Mutex};

use arbiter_client::proto::{Cause, Terms};
use arbiter_client::{
    Bot, BotError, Choice, Error, Extras, FinishedMatch, LocalOptions, Move, OpeningBook, Profile, Reason, Turn,
    local_match,
};

use crate::arbiter::command;
use crate::bots::Noted;

/// Plays any legal move.
fn at_random() -> Noted {
    Noted::thinking(|turn| {
        Box::pin(async move {
            let moves = turn.legal_moves().await?;
            Ok(moves[fastrand::usize(..moves.len())].text.as_str().into())
        })
    })
}

/// Makes choices one after the other, and then resigns.
fn scripted(choices: &[Choice]) -> Noted {
    let left = Mutex::new(choices.iter().rev().cloned().collect::<Vec<_>>());
    let choosing = move |_: &Turn| Ok(left.lock().expect("no test panicked with it").pop().unwrap_or(Choice::Resign));
    Noted::choosing(choosing).with(|profile| {
        profile.games = vec!["hop-it".to_owned()];
        profile.seeks = vec![Terms { game: "pods".to_owned(), ..Default::default() }];
    })
}

fn options() -> LocalOptions {
    LocalOptions::default().with_program(command())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_match_is_played_to_its_end_and_one_bot_may_play_both_seats() {
    let names = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&names);
    let bot = Arc::new(Noted::thinking(move |turn| {
        let noted = Arc::clone(&noted);
        Box::pin(async move {
            let player = turn.client().myself().await?.player.unwrap_or_default();
            noted.lock().expect("no test panicked with it").insert((turn.seat, player.name));
            Ok(turn.legal_moves().await?[0].text.as_str().into())
        })
    }));
    let finished = local_match(Arc::clone(&bot), bot, "pods(size=3)", options()).await.expect("a match");
    assert_eq!(finished.result.cause(), Cause::Rules);
    assert_eq!(finished.opponent, "seat-2");
    assert!(!finished.live.expect("it was seen").moves().is_empty());
    let names = names.lock().expect("no test panicked with it").clone();
    assert_eq!(names, BTreeSet::from([(1, "seat-1".to_owned()), (2, "seat-2".to_owned())]));
}

/// Keeps what its first turn says, and resigns.
struct Curious(Arc<Mutex<Vec<Turn>>>);

impl Bot for Curious {
    fn profile(&self) -> Profile {
        let extras = Extras::default().with_board(true).with_legal_move_count(true).with_legal_moves_up_to(500);
        Profile::named("curious").with_extras(extras)
    }

    async fn choose(&self, turn: &Turn) -> Result<Choice, BotError> {
        assert_eq!((turn.ply, turn.live.opening_plies(), turn.clocks.len()), (2, 2, 2));
        assert_eq!((turn.live.time_control(), turn.live.match_time_control()), ("5m".into(), "5m:2m".into()));
        assert_eq!(turn.legal_move_count, Some(turn.legal_moves().await?.len() as i64));
        assert!(!turn.board.is_empty());
        self.0.lock().expect("no test panicked with it").push(turn.clone());
        Ok(Choice::Resign)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn its_bots_are_told_what_a_server_tells() {
    let turns = Arc::new(Mutex::new(Vec::new()));
    let second = scripted(&[]);
    let notes = second.notes();
    let terms = options().with_time_control("5m:2m").with_opening(["a1", "b1"]);
    let finished = local_match(Curious(turns.clone()), second, "pods(size=3)", terms).await.expect("a match");
    assert_eq!((finished.result.reason.as_str(), finished.score()), ("resignation", Some(0.0)));
    assert_eq!(turns.lock().expect("no test panicked with it").len(), 1);
    assert!(notes.all().contains(&format!("started {} in seat 2", finished.match_id)));
    assert!(notes.all().contains(&format!("ended {} with Some(1.0)", finished.match_id)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_begins_at_the_start_position() {
    let start = "7k/5Q2/6K1/8/8/8/8/8 w - - 0 1";
    let first = Noted::choosing(move |turn| {
        assert_eq!(turn.line().position, start);
        let book = OpeningBook::parse("chess e2e4").expect("a book");
        assert_eq!(book.move_for(turn), None);
        Ok("f7g7".into())
    });
    let finished = local_match(first, scripted(&[]), "chess", options().with_position(start)).await.expect("a match");
    assert_eq!(finished.result.reason, "checkmate");
}

#[tokio::test(flavor = "multi_thread")]
async fn illegal_moves_are_refused_and_draws_offered() {
    let first = scripted(&["nonsense".into(), Choice::OfferDraw(Move::from("e2e4"))]);
    let notes = first.notes();
    let second = Noted::thinking(|_| Box::pin(std::future::pending())).accepting_draws();
    let finished = local_match(first, second, "chess", options()).await.expect("a match");
    assert_eq!(finished.result.cause(), Cause::Agreement);
    assert!(notes.all().contains(&"refused REFUSAL_REASON_MOVE_MALFORMED".to_owned()), "{:?}", notes.all());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_match_of_the_readme() -> Result<(), Error> {
    let (first, second, arbiter) = (at_random(), scripted(&[]), command());
    let options = LocalOptions::default().with_time_control("1m+1s").with_program(arbiter);
    let finished = local_match(first, second, "pods", options).await?;
    assert_eq!(finished.score(), Some(1.0));
    Ok(())
}

async fn fails(first: Noted, game: &str, options: LocalOptions) -> Error {
    let failed: Result<FinishedMatch, Error> = local_match(first, scripted(&[]), game, options).await;
    failed.expect_err("an error")
}

#[tokio::test(flavor = "multi_thread")]
async fn its_errors_are_named() {
    assert_eq!(fails(scripted(&[]), "ludo", options()).await.reason(), Some(Reason::GameUnknown));
    let nowhere = fails(scripted(&[]), "pods", options().with_program("/no/arbiter/here")).await;
    assert!(matches!(nowhere, Error::ConnectionFailed(..)) && nowhere.to_string().contains("ARBITER_COMMAND"));
    let failing = Noted::choosing(|_| Err("no idea".into()));
    let failed = fails(failing, "pods", options()).await;
    assert!(matches!(failed, Error::BotFailed { .. }) && failed.to_string().contains("no idea"), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_are_killed_end_it_with_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let (program, noted) = (folder.path().join("arbiter"), folder.path().join("pid"));
    let script = format!("#!/bin/sh\necho $$ > {}\nexec {} \"$@\"\n", noted.display(), command());
    fs::write(&program, script).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it may be run");
    let killing = Noted::thinking(move |_| {
        let pid = fs::read_to_string(&noted).expect("its process id");
        let killed = Command::new("kill").args(["-9", pid.trim()]).status().expect("a signal");
        assert!(killed.success());
        Box::pin(std::future::pending())
    });
    let lost = fails(killing, "pods", options().with_program(program.to_str().expect("a path"))).await;
    assert!(matches!(lost, Error::ConnectionFailed(..)), "{lost}");
    assert!(lost.to_string().ends_with("has ended before the match: signal: 9 (SIGKILL)"), "{lost}");
}
