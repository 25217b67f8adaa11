//! Challenges, seeks and tournaments: what the profile decides, what the bot may decide, and the bot's own seeks.

use arbiter_client::proto::play_item::Item;
use arbiter_client::{
    Answer, Bot, BotError, Challenge, ChallengeClosed, Choice, Code, Profile, Reason, Terms, TournamentCall, Turn,
};

use crate::bots::{Noted, Playing};
use crate::peer::{PLAYER, Peer, Stream, refusal, running, soon, won};

fn terms(game: &str, time_control: &str) -> Terms {
    Terms { game: game.into(), time_control: time_control.into(), ..Terms::default() }
}

fn challenge(id: &str, from: &str, terms: Terms) -> Challenge {
    let (challenge_id, challenger) = (id.to_owned(), from.to_owned());
    Challenge { challenge_id, challenger, terms: Some(terms), ..Challenge::default() }
}

fn pods(id: &str) -> Challenge {
    challenge(id, "bob", terms("pods", "1m+1s"))
}

fn closed(id: &str, match_id: &str) -> Item {
    let (challenge_id, match_id) = (id.to_owned(), match_id.to_owned());
    Item::ChallengeClosed(ChallengeClosed { challenge_id, match_id, reason: String::new() })
}

async fn playing(bot: impl Bot) -> (Peer, Playing, Stream) {
    let mut peer = Peer::start().await;
    let playing = Playing::start(bot, peer.options());
    let mut stream = peer.stream().await;
    stream.meet().await;
    (peer, playing, stream)
}

#[tokio::test]
async fn challenges_are_answered_by_the_profile() {
    let bot = Noted::new().with(|profile| {
        profile.games = vec!["pods".into(), "hop-it(size=5)".into()];
        profile.time_controls = vec!["1m+1s".into(), "3m".into()];
        profile.opponents = vec!["bob".into(), "carol".into()];
        profile.most_matches = 1;
    });
    let (mut peer, _playing, stream) = playing(bot).await;
    let verdicts = [
        (
            challenge("c1", "bob", terms("hop-it", "3m")),
            ("DeclineChallenge", "c1: this bot plays pods, hop-it(size=5)"),
        ),
        (challenge("c2", "bob", terms("pods", "none")), ("DeclineChallenge", "c2: this bot plays at 1m+1s, 3m")),
        (challenge("c3", "dave", terms("pods", "3m")), ("DeclineChallenge", "c3: this bot plays against bob, carol")),
        (challenge("c4", "carol", terms("pods(size=5)", "3m")), ("AcceptChallenge", "c4")),
        (pods("c5"), ("DeclineChallenge", "c5: this bot plays 1 matches at once, and is playing them")),
    ];
    for (challenge, (method, about)) in verdicts {
        stream.say([Item::Challenge(challenge)]).await;
        assert_eq!(peer.asked_for().await, (method, about.to_owned()));
    }
    // The agreed match counts until it has ended.
    stream.say([Item::Ended(won("match-of-c4", "c1")), Item::Challenge(pods("c6"))]).await;
    assert_eq!(peer.asked_for().await, ("AcceptChallenge", "c6".to_owned()));
}

#[tokio::test]
async fn a_bot_may_accept_no_challenges_at_all_and_never_its_own() {
    let (mut peer, _playing, stream) = playing(Noted::new().with(|profile| profile.accept_challenges = false)).await;
    stream.say([Item::Challenge(challenge("c0", PLAYER, terms("pods", ""))), Item::Challenge(pods("c1"))]).await;
    assert_eq!(peer.asked_for().await, ("DeclineChallenge", "c1: this bot accepts no challenges".to_owned()));
}

#[tokio::test]
async fn the_bots_own_word_goes_before_the_profiles() {
    struct Choosy;

    impl Bot for Choosy {
        fn profile(&self) -> Profile {
            Profile::named("choosy").with_games(["pods"]).with_accept_seeks(true).with_enter_tournaments(true)
        }

        async fn choose(&self, _: &Turn) -> Result<Choice, BotError> {
            Err("it never gets a turn".into())
        }

        fn challenged(&self, challenge: &Challenge) -> Answer {
            match challenge.challenge_id.as_str() {
                "c1" => Answer::Accept,
                "c2" => Answer::Decline("é".repeat(300)),
                "c3" => panic!("ouch"),
                _ => Answer::ByProfile,
            }
        }

        fn sought(&self, seek: &Challenge) -> Answer {
            if seek.challenge_id == "s1" { Answer::Decline(String::new()) } else { Answer::Accept }
        }

        fn called(&self, tournament: &TournamentCall) -> Answer {
            if tournament.tournament_id == "t1" { Answer::Decline(String::new()) } else { Answer::Accept }
        }
    }

    let (mut peer, _playing, stream) = playing(Choosy).await;
    let hop_it = |id| challenge(id, "bob", terms("hop-it", ""));
    for (id, method, about) in [
        ("c1", "AcceptChallenge", "c1".to_owned()),
        ("c2", "DeclineChallenge", format!("c2: {}", "é".repeat(200))),
        ("c3", "DeclineChallenge", "c3: the bot failed to consider it".to_owned()),
        ("c4", "DeclineChallenge", "c4: this bot plays pods".to_owned()),
    ] {
        stream.say([Item::Challenge(hop_it(id))]).await;
        assert_eq!(peer.asked_for().await, (method, about));
    }
    stream.say([Item::Seek(hop_it("s1")), Item::Seek(hop_it("s2"))]).await;
    assert_eq!(peer.asked_for().await, ("AcceptChallenge", "s2".to_owned()));
    stream.say(["t1", "t2"].map(|id| Item::Tournament(call(id, "hop-it", "")))).await;
    assert_eq!(peer.asked_for().await, ("EnterTournament", "t2".to_owned()));
}

#[tokio::test]
async fn open_seeks_that_suit_are_accepted_where_the_profile_says_so() {
    let bot = Noted::new().with(|profile| {
        profile.accept_seeks = true;
        profile.games = vec!["pods".into()];
        profile.most_matches = 1;
    });
    let mut peer = Peer::start().await;
    let _playing = Playing::start(bot, peer.options());
    let mut stream = peer.stream().await;
    assert!(stream.meet().await.seeks);
    stream
        .say([
            Item::Seek(challenge("s1", "bob", terms("hop-it", ""))),
            Item::Seek(challenge("s2", PLAYER, terms("pods", ""))),
        ])
        .await;
    stream.say([Item::Seek(pods("s3"))]).await;
    assert_eq!(peer.asked_for().await, ("AcceptChallenge", "s3".to_owned()));
    stream.say([Item::Match(running("match-of-s3")), Item::Seek(pods("s4")), Item::Challenge(pods("c1"))]).await;
    let (method, about) = peer.asked_for().await;
    assert_eq!((method, about.starts_with("c1: this bot plays 1 matches")), ("DeclineChallenge", true));
}

fn call(id: &str, game: &str, time_control: &str) -> TournamentCall {
    TournamentCall {
        tournament_id: id.to_owned(),
        games: vec![game.to_owned()],
        time_control: time_control.to_owned(),
        ..TournamentCall::default()
    }
}

#[tokio::test]
async fn tournaments_that_suit_are_entered_and_one_that_refuses_is_left() {
    let bot = Noted::new().with(|profile| {
        profile.enter_tournaments = true;
        profile.games = vec!["pods".into()];
        profile.time_controls = vec!["3m".into()];
    });
    let (mut peer, _playing, stream) = playing(bot).await;
    peer.lay().refusals.push_back(refusal(Reason::TournamentClosed, Code::FailedPrecondition, &[]));
    let entered = TournamentCall { entered: true, ..call("t3", "pods", "3m") };
    stream.say([Item::Tournament(call("t1", "hop-it", "3m")), Item::Tournament(call("t2", "pods", "1m"))]).await;
    stream.say([Item::Tournament(entered), Item::Tournament(call("t4", "pods(size=5)", "3m"))]).await;
    assert_eq!(peer.asked_for().await, ("EnterTournament", "t4".to_owned()));
    // The refusal of the first is known once the second has been entered: then it is not tried again.
    stream.say([Item::Tournament(call("t5", "pods", "3m"))]).await;
    assert_eq!(peer.asked_for().await, ("EnterTournament", "t5".to_owned()));
    stream.say([Item::Tournament(call("t4", "pods", "3m")), Item::Tournament(call("t6", "pods", "3m"))]).await;
    assert_eq!(peer.asked_for().await, ("EnterTournament", "t6".to_owned()));
}

fn seeking(most_matches: u32, seeks: &[&str]) -> Noted {
    Noted::new().with(|profile| {
        profile.most_matches = most_matches;
        profile.seeks = seeks.iter().map(|game| terms(game, "")).collect();
    })
}

#[tokio::test]
async fn seeks_are_kept_open_while_there_is_room_for_a_match() {
    let bot = seeking(1, &["pods", "hop-it"]);
    let notes = bot.notes();
    let (mut peer, mut playing, stream) = playing(bot).await;
    assert_eq!(peer.asked_for().await, ("ListChallenges", String::new()));
    assert_eq!(peer.asked_for().await, ("CreateSeek", "pods".to_owned()));
    assert_eq!(peer.asked_for().await, ("CreateSeek", "hop-it".to_owned()));
    // Somebody accepts the first: the bot has its match, and the other one is withdrawn.
    stream.say([closed("seek-1", "m1"), Item::Match(running("m1"))]).await;
    assert_eq!(peer.asked_for().await, ("DeclineChallenge", "seek-2: ".to_owned()));
    stream.say([closed("seek-2", ""), Item::Ended(won("m1", "c1"))]).await;
    assert_eq!(peer.asked_for().await, ("CreateSeek", "pods".to_owned()));
    assert_eq!(peer.asked_for().await, ("CreateSeek", "hop-it".to_owned()));
    soon(notes.has("closed seek-1")).await;
    // At the end of the run nobody shall wait for a bot that is gone.
    playing.stop();
    assert_eq!(peer.asked_for().await, ("DeclineChallenge", "seek-3: ".to_owned()));
    assert_eq!(peer.asked_for().await, ("DeclineChallenge", "seek-4: ".to_owned()));
    drop(stream);
    playing.ended().await.expect("it was told to");
}

#[tokio::test]
async fn a_bot_plays_at_the_same_time_control_in_another_form() {
    let bot = Noted::new().with(|profile| profile.time_controls = vec!["60s+2s".into(), "120s".into()]);
    let (mut peer, _playing, stream) = playing(bot).await;
    for (control, method) in [
        ("1m+2s", "AcceptChallenge"),
        ("2m", "AcceptChallenge"),
        ("1m+2sd", "DeclineChallenge"),
        ("of a newer arbiter", "DeclineChallenge"),
    ] {
        stream.say([Item::Challenge(challenge(control, "bob", terms("pods", control)))]).await;
        assert_eq!(peer.asked_for().await.0, method, "{control}");
    }
}

#[tokio::test]
async fn a_bot_with_limits_for_ratings_asks_for_the_challengers() {
    let bot = Noted::new().with(|profile| profile.least_rating = Some(1500.0));
    let (mut peer, _playing, stream) = playing(bot).await;
    peer.lay().ratings.insert("carol".into(), 1600.0);
    for (from, method) in [("carol", "AcceptChallenge"), ("bob", "DeclineChallenge")] {
        stream.say([Item::Challenge(challenge(from, from, terms("pods", "1m")))]).await;
        assert_eq!(peer.asked_for().await, ("GetRating", format!("{from} in pods")));
        assert_eq!(peer.asked_for().await.0, method);
    }
}

#[tokio::test]
async fn what_is_no_time_control_is_refused_at_the_start() {
    let peer = Peer::start().await;
    let at = |controls: &[&str]| {
        let controls = controls.iter().map(|text| (*text).to_owned()).collect();
        Noted::new().with(|profile| profile.time_controls = controls)
    };
    for (bot, told) in [
        (at(&["1m", "5 min"]), "noted: \"5 min\" is no time control: expected 5m, 5m+3s"),
        (at(&["200h"]), "noted: 200h in the time control \"200h\" is more than 168h"),
        (Noted::new().with(|profile| profile.seeks = vec![terms("pods", "60")]), "\"60\" is no time control"),
    ] {
        let refused = Playing::start(bot, peer.options()).ended().await.expect_err("it is none");
        assert!(refused.to_string().contains(told), "{refused}");
        assert_eq!(refused.reason(), Some(Reason::ParameterInvalid));
    }
}

#[tokio::test]
async fn a_seek_in_another_form_is_found_again_after_a_kill() {
    let mut peer = Peer::start().await;
    peer.lay().open = vec![challenge("own", PLAYER, terms("pods", "1m"))]; // as the arbiter writes it
    let bot = Noted::new().with(|profile| profile.seeks = vec![terms("pods", "60s"), terms("hop-it", "60s")]);
    let _playing = Playing::start(bot, peer.options());
    peer.stream().await.meet().await;
    assert_eq!(peer.asked_for().await, ("ListChallenges", String::new()));
    assert_eq!(peer.asked_for().await, ("CreateSeek", "hop-it".to_owned()));
}

#[tokio::test]
async fn seeks_that_are_open_already_are_found_again() {
    let mut peer = Peer::start().await;
    peer.lay().open = vec![
        challenge("of-bob", "bob", terms("pods", "")),
        Challenge { opponent: "bob".into(), ..challenge("to-bob", PLAYER, terms("pods", "")) },
        challenge("own", PLAYER, terms("hop-it", "5m")),
    ];
    let _playing = Playing::start(seeking(0, &["pods", "hop-it"]), peer.options());
    let mut first = peer.stream().await;
    first.meet().await;
    assert_eq!(peer.asked_for().await, ("ListChallenges", String::new()));
    assert_eq!(peer.asked_for().await, ("CreateSeek", "pods".to_owned()));
    // A server that has forgotten one of them while the bot was away is asked for another.
    peer.lay().open.retain(|seek| seek.challenge_id != "own");
    drop(first);
    peer.stream().await.meet().await;
    assert_eq!(peer.asked_for().await, ("ListChallenges", String::new()));
    assert_eq!(peer.asked_for().await, ("CreateSeek", "hop-it".to_owned()));
}

#[tokio::test]
async fn a_seek_that_the_server_does_not_take_ends_the_run_and_one_that_it_can_not_take_now_is_tried_again() {
    let mut peer = Peer::start().await;
    peer.lay().refusals.extend([
        refusal(Reason::StoreUnavailable, Code::Unavailable, &[("retry_after_ms", "1")]),
        refusal(Reason::GameUnknown, Code::InvalidArgument, &[]),
    ]);
    let options = peer.options().with_patience(std::time::Duration::ZERO);
    let playing = Playing::start(seeking(0, &["chess"]), options);
    let mut stream = peer.stream().await;
    stream.meet().await;
    assert_eq!(peer.asked_for().await, ("ListChallenges", String::new()));
    for game in ["chess", "chess"] {
        assert_eq!(peer.asked_for().await, ("CreateSeek", game.to_owned()));
    }
    drop(stream);
    let refused = playing.ended().await.expect_err("there is no such game");
    assert_eq!(refused.reason(), Some(Reason::GameUnknown));
}

#[tokio::test]
async fn a_seek_that_became_a_match_is_not_made_again_where_another_one_may_become_the_last_match() {
    let mut peer = Peer::start().await;
    let options = peer.options().with_matches(2u64);
    let bot = seeking(0, &["pods", "hop-it"]);
    let notes = bot.notes();
    let playing = Playing::start(bot, options);
    let mut stream = peer.stream().await;
    stream.meet().await;
    assert_eq!(peer.asked_for().await, ("ListChallenges", String::new()));
    for game in ["pods", "hop-it"] {
        assert_eq!(peer.asked_for().await, ("CreateSeek", game.to_owned()));
    }
    stream.say([closed("seek-1", "m1"), Item::Match(running("m1"))]).await; // the second seek may become the last match
    soon(notes.has("closed seek-1")).await;
    stream.say([closed("seek-2", "m2"), Item::Match(running("m2"))]).await;
    soon(notes.has("closed seek-2")).await;
    stream.say([Item::Ended(won("m1", "c1")), Item::Ended(won("m2", "c2"))]).await;
    drop(stream);
    playing.ended().await.expect("it has played what it was to play");
    assert!(peer.asked_nothing_more(), "no third seek was made");
}

#[tokio::test]
async fn a_challenge_is_accepted_once_the_seek_for_the_last_match_is_withdrawn() {
    for (taken, answer) in [(false, "AcceptChallenge"), (true, "DeclineChallenge")] {
        let mut peer = Peer::start().await;
        let options = peer.options().with_matches(1u64);
        let _playing = Playing::start(seeking(0, &["pods"]), options);
        let mut stream = peer.stream().await;
        stream.meet().await;
        assert_eq!(peer.asked_for().await, ("ListChallenges", String::new()));
        assert_eq!(peer.asked_for().await, ("CreateSeek", "pods".to_owned()));
        if taken {
            peer.lay().open.clear();
        }
        stream.say([Item::Challenge(pods("c1"))]).await;
        let mut asked = peer.asked_for().await;
        assert_eq!(asked, ("DeclineChallenge", "seek-1: ".to_owned()));
        while asked.1 == "seek-1: " {
            asked = peer.asked_for().await; // the seek may be withdrawn in vain once more
        }
        assert_eq!((asked.0, &asked.1[..2]), (answer, "c1"));
    }
}

#[tokio::test]
async fn no_more_matches_are_agreed_on_than_are_played_and_those_are_finished() {
    let mut peer = Peer::start().await;
    let options = peer.options().with_matches(2u64);
    let playing = Playing::start(seeking(0, &["pods", "hop-it", "pondlife"]), options);
    let mut stream = peer.stream().await;
    stream.meet().await;
    assert_eq!(peer.asked_for().await, ("ListChallenges", String::new()));
    for game in ["pods", "hop-it"] {
        assert_eq!(peer.asked_for().await, ("CreateSeek", game.to_owned()));
    }
    stream.say([closed("seek-1", "m1"), Item::Match(running("m1"))]).await;
    stream.say([closed("seek-2", "m2"), Item::Match(running("m2")), Item::Match(running("m3"))]).await;
    stream.say([Item::Challenge(challenge("c1", "bob", terms("pods", "")))]).await;
    let declined = peer.asked_for().await;
    assert!(declined.0 == "DeclineChallenge" && declined.1.contains("as many matches"), "{declined:?}");
    stream.say([Item::Ended(won("m1", "c1")), Item::Ended(won("m2", "c2"))]).await;
    stream.say([Item::Turn(crate::peer::turn("m3", 0))]).await; // an organiser's: it is under way, and is finished
    while stream.read().await.match_id != "m3" {}
    stream.say([Item::Ended(won("m3", "c3"))]).await;
    drop(stream);
    playing.ended().await.expect("it has played what it was to play");
}
