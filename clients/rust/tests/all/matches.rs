//! Whole matches on a real arbiter: kills and restarts in the middle, refusals, sessions, TLS, seeks and tournaments.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arbiter_client::proto::match_event::Event as What;
use arbiter_client::proto::{
    CreateTournamentRequest, ResultKind, StartTournamentRequest, TournamentFormat, TournamentSpec,
};
use arbiter_client::{Bot, BotError, Choice, Client, FinishedMatch, Line, Profile, Reason, Terms, Turn};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::arbiter::{Arbiter, pair};
use crate::bots::{Gate, Noted, Playing};
use crate::peer::soon;
use crate::tls::Papers;

/// Plays the first legal move, and notes what it has chosen and how its matches ended.
struct Simple {
    profile: Profile,
    chosen: Arc<Mutex<HashMap<i32, u32>>>,
    ended: UnboundedSender<FinishedMatch>,
    gate: Option<Arc<Gate>>,
}

type Ended = UnboundedReceiver<FinishedMatch>;

impl Simple {
    fn new() -> (Simple, Ended) {
        let (ended, ends) = unbounded_channel();
        (Simple { profile: Profile::named("simple"), chosen: Arc::default(), ended, gate: None }, ends)
    }

    fn with(mut self, change: impl FnOnce(&mut Profile)) -> Simple {
        change(&mut self.profile);
        self
    }
}

impl Bot for Simple {
    fn profile(&self) -> Profile {
        self.profile.clone()
    }

    async fn choose(&self, turn: &Turn) -> Result<Choice, BotError> {
        let moves = turn.legal_moves().await?; // or the server is away, and the choice is made again
        *self.chosen.lock().expect("nobody panicked with it").entry(turn.ply).or_default() += 1;
        assert_eq!(turn.moves.len(), usize::try_from(turn.ply)?);
        if let Some(gate) = &self.gate
            && turn.ply % 8 < 2
        {
            gate.pass(&turn.ply.to_string());
        }
        Ok(moves[0].text.as_str().into())
    }

    fn ended(&self, finished: &FinishedMatch) {
        let _ = self.ended.send(finished.clone()); // the test is over
    }
}

async fn next(ends: &mut Ended) -> FinishedMatch {
    soon(ends.recv()).await.expect("the bot is there")
}

/// Starts a bot that plays for a player of its own.
async fn start(arbiter: &Arbiter, bot: impl Bot, name: &str, matches: Option<u64>) -> Playing {
    let mut options = arbiter.registered(name, None).await;
    options.matches = matches;
    Playing::start(bot, options)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_bots_play_several_games_at_once() {
    let arbiter = Arbiter::start();
    let admin = arbiter.admin(None);
    let games: Vec<String> = admin.list_games().await.expect("games").into_iter().map(|game| game.id).collect();
    let quick = ["pods(size=3)", "hop-it", "circle-of-life(target=1)"];
    assert!(quick.iter().all(|game| games.iter().any(|id| game.starts_with(id.as_str()))), "{games:?}");
    let (alice, mut ends_of_alice) = Simple::new();
    let (bob, mut ends_of_bob) = Simple::new();
    let runs = [start(&arbiter, alice, "alice", Some(3)).await, start(&arbiter, bob, "bob", Some(3)).await];
    for game in quick {
        pair(&admin, game, "alice", "bob").await;
    }
    let mut scores = HashMap::<String, f64>::new();
    for _ in 0..3 {
        for ends in [&mut ends_of_alice, &mut ends_of_bob] {
            let finished = next(ends).await;
            assert_eq!(finished.live.as_ref().map(|live| live.over()), Some(true));
            *scores.entry(finished.match_id.clone()).or_default() += finished.score().expect("it counts");
        }
    }
    assert_eq!(scores.into_values().collect::<Vec<_>>(), [1.0; 3]);
    for run in runs {
        run.ended().await.expect("the run has done what it was to do");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_match_goes_on_after_kills_and_every_move_is_played_once() {
    let mut arbiter = Arbiter::start();
    let (alice, mut ends) = Simple::new();
    let (bob, _) = Simple::new();
    let (gate, mut key) = Gate::new();
    let chosen = alice.chosen.clone();
    let alice = Simple { gate: Some(gate), ..alice };
    let _bob = start(&arbiter, bob, "bob", None).await;
    let alice = start(&arbiter, alice, "alice", Some(1)).await;
    let admin = arbiter.admin(None);
    let made = arbiter.pair("pods(size=3)", "alice", "bob").await;
    let watcher = admin.clone();
    let watched = made.match_id.clone();
    let watching = tokio::spawn(async move {
        let mut events = watcher.observe(&watched, 0);
        let mut seen = Vec::new();
        while let Some(observed) = events.next().await.expect("watching goes on") {
            seen.push(observed.event);
        }
        seen
    });
    assert_eq!(key.ring().await, "0");
    arbiter.restart(); // while the bot thinks
    key.let_through();
    assert_eq!(key.ring().await, "8");
    key.let_through();
    arbiter.kill(); // while the move is on its way, or soon after
    arbiter.restart();
    drop(key);
    let finished = tokio::select! {
        biased; // the run ends with its match: where both have, it is the match that counts
        finished = next(&mut ends) => finished,
        error = alice.ended() => panic!("the run ended: {error:?}"),
    };
    assert_eq!(finished.match_id, made.match_id);
    assert_eq!(finished.result.reason, "territory");
    let whole = admin.get_match(&made.match_id, true).await.expect("it is on record");
    for (ply, times) in chosen.lock().expect("nobody panicked with it").iter() {
        assert_eq!(*times, 1, "at ply {ply}");
    }
    let seen = soon(watching).await.expect("the watcher does not panic");
    let revisions: Vec<_> = seen.iter().map(|event| event.revision).collect();
    assert_eq!(revisions, (1..=whole.revision).collect::<Vec<_>>());
    let played = |event: &arbiter_client::proto::MatchEvent| match &event.event {
        Some(What::Moved(moved)) => Some(moved.r#move.clone()),
        _ => None,
    };
    assert_eq!(seen.iter().filter_map(played).collect::<Vec<_>>(), whole.moves);
    let transcript = admin.transcript(&made.match_id).await.expect("it is on record");
    assert_eq!(transcript.split(|byte| *byte == b'\n').count(), seen.len() + 2); // the signature, and the last line's end
}

#[tokio::test]
async fn an_illegal_move_is_refused_and_the_second_one_resigns() {
    let arbiter = Arbiter::start();
    let hasty = Noted::choosing(|turn| Ok(if turn.refused.is_some() { "zz99" } else { "no move" }.into()));
    let notes = hasty.notes();
    let (bob, mut ends) = Simple::new();
    let _runs = [start(&arbiter, hasty, "alice", None).await, start(&arbiter, bob, "bob", None).await];
    arbiter.pair("pods", "alice", "bob").await;
    let finished = next(&mut ends).await;
    assert_eq!((finished.result.reason.as_str(), finished.score()), ("resignation", Some(1.0)));
    assert!(notes.all().contains(&"refused REFUSAL_REASON_MOVE_MALFORMED".to_owned()), "{:?}", notes.all());
}

#[tokio::test]
async fn the_older_of_two_sessions_of_a_player_ends() {
    let arbiter = Arbiter::start();
    let older = Playing::start(Noted::new(), arbiter.player("alice"));
    arbiter.present("alice").await;
    let mut newer = Playing::start(Noted::new(), arbiter.player("alice"));
    let error = older.ended().await.expect_err("it plays elsewhere");
    assert_eq!(error.reason(), Some(Reason::SessionSuperseded));
    newer.stop();
    newer.ended().await.expect("it was told to");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_match_is_played_over_tls_with_certificates_on_both_sides() {
    let papers = Papers::make();
    let file = |name: &str| papers.file(name).display().to_string();
    let (certificate, key, root) = (file("server.pem"), file("server.key"), file("root.pem"));
    let arguments = ["--tls-certificate", &certificate, "--tls-key", &key, "--tls-client-authority", &root];
    let arbiter = Arbiter::start_with(&arguments);
    let tls = Some(papers.mutual());
    let (alice, mut ends) = Simple::new();
    let (bob, _) = Simple::new();
    let _alice = Playing::start(alice, arbiter.registered("alice", tls.clone()).await);
    let _bob = Playing::start(bob, arbiter.registered("bob", tls.clone()).await);
    let admin = arbiter.admin(tls);
    pair(&admin, "pods(size=3)", "alice", "bob").await;
    assert_eq!(next(&mut ends).await.result.kind(), ResultKind::Win);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bots_find_each_other_by_a_seek() {
    let arbiter = Arbiter::start();
    let (alice, mut ends) = Simple::new();
    let (bob, _) = Simple::new();
    let alice = alice.with(|profile| {
        profile.most_matches = 1;
        profile.seeks = vec![Terms { game: "pods(size=3)".into(), time_control: "1m".into(), ..Terms::default() }];
    });
    let bob = bob.with(|profile| profile.accept_seeks = true);
    let alice = start(&arbiter, alice, "alice", Some(2)).await;
    let _bob = start(&arbiter, bob, "bob", None).await;
    for _ in 0..2 {
        assert_eq!(next(&mut ends).await.opponent, "bob");
    }
    alice.ended().await.expect("the run has done what it was to do");
    let open = arbiter.admin(None).list_challenges(10).await.expect("listed");
    assert!(open.iter().all(|seek| seek.challenger != "alice"), "{open:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bots_enter_a_tournament_and_play_it() {
    let arbiter = Arbiter::start();
    let admin = arbiter.admin(None);
    let (alice, mut ends) = Simple::new();
    let (bob, _) = Simple::new();
    let entering = |bot: Simple| bot.with(|profile| profile.enter_tournaments = true);
    let _runs =
        [start(&arbiter, entering(alice), "alice", None).await, start(&arbiter, entering(bob), "bob", None).await];
    let spec = TournamentSpec {
        name: "cup".into(),
        format: TournamentFormat::RoundRobin.into(),
        games: vec!["pods(size=3)".into()],
        time: "1m".into(),
        ..TournamentSpec::default()
    };
    let request = CreateTournamentRequest { request_id: "r1".into(), spec: Some(spec) };
    let made = admin.tournaments().create_tournament(request).await.map_err(|status| admin.error(&status));
    let id = made.expect("made").into_inner().tournament.expect("a tournament").tournament_id;
    soon(async {
        while admin.get_tournament(&id).await.expect("it is there").entrants.len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
    let request = StartTournamentRequest { request_id: "r2".into(), tournament_id: id.clone() };
    admin.tournaments().start_tournament(request).await.expect("it starts");
    assert_eq!(next(&mut ends).await.opponent, "bob");
    let standings = admin.get_standings(&id).await.expect("standings");
    assert_eq!(standings.rows.len(), 2);
    let listed = admin.list_tournaments(&Default::default(), 10).await.expect("listed");
    assert_eq!(listed.iter().map(|each| each.name.as_str()).collect::<Vec<_>>(), ["cup"]);
    let refused = admin.enter_tournament("nowhere").await.expect_err("it is not there");
    assert_eq!(refused.reason(), Some(Reason::TournamentNotFound));
    let refused = admin.withdraw_from_tournament(&id).await.expect_err("it does not play");
    assert_eq!(refused.reason(), Some(Reason::TournamentClosed));
}

#[tokio::test]
async fn rules_and_challenges_are_asked_for() {
    let arbiter = Arbiter::start();
    let admin = arbiter.admin(None);
    assert!(admin.server_info().await.expect("answered").protocol_version.starts_with("1."));
    let game = admin.get_game("pods(size=3)").await.expect("it is one");
    assert_eq!(game.game, "pods(size=3)");
    let start = Line::of("pods(size=3)");
    let moves = admin.legal_moves(&start).await.expect("listed");
    assert!(moves.is_sorted_by_key(|found| found.text.clone()));
    assert!(!admin.legal_moves_with_steps(&start).await.expect("listed")[0].steps.is_empty());
    let line = start.then(&moves[0].text);
    let played = admin.play_moves(&line, 1, true).await.expect("it is legal");
    assert_eq!((played.positions.len(), played.positions[0].ply), (1, 1));
    let error = admin.legal_moves(start.then("zz99")).await.expect_err("it is none");
    assert_eq!(error.reason(), Some(Reason::MoveMalformed));
    let alice = Client::new(&arbiter.registered("alice", None).await).expect("a client");
    let bob = Client::new(&arbiter.registered("bob", None).await).expect("a client");
    assert_eq!(bob.myself().await.expect("known").player.map(|player| player.name).as_deref(), Some("bob"));
    let terms = || Terms { game: "pods".into(), ..Terms::default() };
    let first = alice.create_challenge("bob", terms()).await.expect("challenged");
    let second = alice.create_challenge("bob", terms()).await.expect("challenged");
    let seek = alice.create_seek(terms()).await.expect("sought");
    assert_eq!(bob.list_challenges(10).await.expect("listed").len(), 3);
    bob.decline_challenge(&first.challenge_id, "no").await.expect("declined");
    let made = bob.accept_challenge(&second.challenge_id).await.expect("accepted");
    alice.decline_challenge(&seek.challenge_id, "").await.expect("withdrawn");
    let found = alice.get_match(&made.match_id, false).await.expect("it is there");
    assert!(found.players.contains(&"bob".to_owned()));
    assert!(bob.list_challenges(10).await.expect("listed").is_empty());
}
