//! The shared vectors: the same questions that every client is asked, with the same answers.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use prost::Message;
use serde_json::{Map, Value, json};
use tonic::{Code, Status};

use crate::errors::{ArbiterError, Error, Reason, from_status};
use crate::opening_book::OpeningBook;
use crate::plain_text::plain_text;
use crate::profile::Profile;
use crate::proto::play_item::Item;
use crate::proto::{self, PlayResponse, RecentMove};
use crate::think_time::think_time_ms;
use crate::time_control::canonical;
use crate::values::{LiveMatch, joined};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors");

fn read(file: &str) -> Value {
    let text = std::fs::read_to_string(format!("{FOLDER}/{file}")).expect("the vectors are there");
    serde_json::from_str(&text).expect("they are JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn bytes(value: &Value) -> Vec<u8> {
    BASE64_STANDARD.decode(text(value)).expect("base64")
}

/// Returns a name of the protocol without the prefix that its enumeration has.
fn bare(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_owned()
}

fn code_name(code: Code) -> String {
    let camel = format!("{code:?}");
    let mut name = String::new();
    for letter in camel.chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name.replace("O_K", "OK")
}

fn code_of(name: &str) -> Code {
    (0..=16).map(Code::from_i32).find(|code| code_name(*code) == name).expect("a code")
}

fn told(refusal: &ArbiterError) -> Value {
    let reason = match refusal.reason {
        Reason::Unspecified => "UNKNOWN".to_owned(),
        known => bare(known.as_str_name(), "REFUSAL_REASON_"),
    };
    json!({
        "error": "ArbiterError",
        "reason": reason,
        "code": code_name(refusal.code),
        "message": refusal.message,
        "facts": refusal.facts,
        "temporary": refusal.temporary(),
        "retry_after_ms": u64::try_from(refusal.retry_after().as_millis()).expect("a number"),
    })
}

fn check(case: &Value, found: Value) {
    let expected = &case["expected"];
    for (name, value) in expected.as_object().expect("an object") {
        if name != "message" || !value.is_null() {
            assert_eq!(&found[name], value, "{name} of {}", case["name"]);
        }
    }
}

#[test]
fn refusals_become_errors() {
    let file = read("refusals.json");
    for case in list(&file["messages"]) {
        let refusal = proto::Refusal::decode(bytes(&case["refusal"]).as_slice()).expect("a refusal");
        check(case, told(&refusal.into()));
    }
    for case in list(&file["statuses"]) {
        let (code, message) = (code_of(text(&case["code"])), text(&case["status_message"]));
        let status = match &case["details"] {
            Value::Null => Status::new(code, message),
            details => Status::with_details(code, message, bytes(details).into()),
        };
        let found = match from_status(&status, "here:1") {
            Error::Arbiter(refusal) => told(&refusal),
            Error::ConnectionFailed(..) => json!({"error": "ConnectionFailed"}),
            other => panic!("{other:?}"),
        };
        check(case, found);
    }
}

#[test]
fn lines_are_joined_or_have_a_gap() {
    let file = read("lines.json");
    for case in list(&file) {
        let texts = |value: &Value| list(value).iter().map(|each| text(each).to_owned()).collect::<Vec<_>>();
        let number = |value: &Value| i32::try_from(value.as_i64().expect("a number")).expect("a small one");
        let recent = |value: &Value| RecentMove {
            ply: number(&value["ply"]),
            seat: number(&value["seat"]),
            r#move: text(&value["move"]).to_owned(),
        };
        let last_moves: Vec<_> = list(&case["last_moves"]).iter().map(recent).collect();
        let found = joined(&texts(&case["known"]), number(&case["ply"]), &last_moves);
        let expected = if case["gap"] == json!(true) { None } else { Some(texts(&case["moves"])) };
        assert_eq!(found, expected, "{}", case["name"]);
    }
}

#[test]
fn time_controls_have_a_canonical_form_or_are_none() {
    let file = read("time_controls.json");
    for case in list(&file) {
        let found = canonical(text(&case["text"])).ok();
        assert_eq!(json!(found), case["canonical"], "{}", case["name"]);
    }
}

#[test]
fn a_seat_has_a_time_control_of_its_own() {
    for case in list(&read("time_odds.json")) {
        let time_controls = list(&case["time_controls"]).iter().map(|each| text(each).to_owned()).collect();
        let time_control = text(&case["time_control"]).to_owned();
        let message = proto::Match { time_control, time_controls, ..proto::Match::default() };
        for (seat, own) in (1..).zip(list(&case["own"])) {
            let live = LiveMatch::new("m", "pods", seat, "bob");
            live.learn(&message);
            assert_eq!(live.time_control(), text(own), "{}", case["name"]);
            assert_eq!(live.match_time_control(), message.time_control);
        }
    }
}

#[test]
fn think_times_follow_the_rules() {
    for case in list(&read("think_times.json")) {
        let number = |name: &str| case[name].as_f64().expect("a number");
        let count = |name: &str| u32::try_from(case[name].as_u64().expect("a count")).expect("a small one");
        let found = think_time_ms(
            text(&case["time_control"]),
            number("left_ms"),
            number("main_ms"),
            count("moves_left"),
            count("expected_plies"),
            count("matches"),
        );
        assert!((found - number("think_ms")).abs() < 0.001, "{}: {found}", case["name"]);
    }
}

#[test]
fn texts_of_others_are_safe_to_show() {
    for case in list(&read("plain_texts.json")) {
        assert_eq!(plain_text(text(&case["text"])), text(&case["plain"]), "{}", case["name"]);
    }
}

#[test]
fn opening_books_have_the_moves_that_follow() {
    for case in list(&read("opening_books.json")) {
        let played: Vec<_> = list(&case["played"]).iter().map(|each| text(each).to_owned()).collect();
        match OpeningBook::parse(text(&case["text"])) {
            Ok(book) => assert_eq!(json!(book.moves(text(&case["game"]), &played)), case["moves"], "{}", case["name"]),
            Err(error) => {
                let refusal = error.refusal().expect("a refusal");
                assert_eq!(refusal.reason, Reason::ParameterInvalid);
                assert!(refusal.message.starts_with(&format!("line {} ", case["line"])), "{refusal}");
                assert_eq!(case["moves"], Value::Null, "{}", case["name"]);
            }
        }
    }
}

#[test]
fn settings_exclude_challenges() {
    for case in list(&read("filters.json")) {
        let (settings, challenge) = (&case["settings"], &case["challenge"]);
        let texts = |name: &str| list(&settings[name]).iter().map(|each| text(each).to_owned()).collect::<Vec<_>>();
        let small = |value: &Value| i32::try_from(value.as_i64().expect("a number")).expect("a small one");
        let profile = Profile {
            rated: settings["rated"].as_bool(),
            seat: small(&settings["seat"]),
            least_rating: settings["least_rating"].as_f64(),
            most_rating: settings["most_rating"].as_f64(),
            ..Profile::named("test")
        };
        let profile = profile.with_games(texts("games")).with_time_controls(texts("time_controls"));
        let profile = profile.with_opponents(texts("opponents"));
        let terms = proto::Terms {
            game: text(&challenge["game"]).to_owned(),
            time_control: text(&challenge["time_control"]).to_owned(),
            rated: challenge["rated"] == json!(true),
            seat: small(&challenge["seat"]),
            ..proto::Terms::default()
        };
        let challenger = text(&challenge["challenger"]).to_owned();
        let message = proto::Challenge { challenger, terms: Some(terms), ..proto::Challenge::default() };
        let found = profile.objection(&message, challenge["rating"].as_f64());
        assert_eq!(found.unwrap_or_default(), text(&case["objection"]), "{}", case["name"]);
    }
}

#[test]
fn boards_are_arrays() {
    for case in list(&read("board_arrays.json")) {
        let cells = |line: &Value| list(line).iter().map(|cell| text(cell).to_owned()).collect();
        let lines = list(&case["lines"]).iter().map(|line| proto::CellLine { cells: cells(line) }).collect();
        let board = proto::Board { lines, ..proto::Board::default() };
        let content = |value: &Value| proto::CellContent {
            cell: text(&value["cell"]).to_owned(),
            owner: i32::try_from(value["owner"].as_i64().expect("a seat")).expect("a seat"),
            piece: text(&value["piece"]).to_owned(),
            ..proto::CellContent::default()
        };
        let contents: Vec<_> = list(&case["contents"]).iter().map(content).collect();
        let shown = |it: Option<&proto::CellContent>| json!(it.map(|it| format!("{}{}", it.owner, it.piece)));
        let rows = board.array(&contents).into_iter().map(|row| row.into_iter().map(shown).collect::<Vec<_>>());
        assert_eq!(json!(rows.collect::<Vec<_>>()), case["array"], "{}", case["name"]);
    }
}

#[test]
fn items_are_read_and_what_is_newer_is_passed_over() {
    let file = read("items.json");
    let mut kinds = BTreeMap::<String, u32>::new();
    for case in list(&file) {
        let response = PlayResponse::decode(bytes(&case["response"]).as_slice()).expect("a response");
        let found: Vec<_> = response.items.into_iter().filter_map(|item| item.item).map(item).collect();
        let expected = list(&case["expected"]);
        assert_eq!(found.len(), expected.len(), "{}", case["name"]);
        for (found, expected) in found.iter().zip(expected) {
            *kinds.entry(text(&expected["kind"]).to_owned()).or_default() += 1;
            compare(found, expected, &case["name"]);
        }
    }
    assert_eq!(kinds.len(), 12, "each kind of item is there: {kinds:?}");
}

/// Compares what is found with what is expected of it; what the client does not keep is not in `found`.
fn compare(found: &Value, expected: &Value, case: &Value) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (name, value) in found {
                compare(value, &expected[name], &json!(format!("{name} of {case}")));
            }
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{case}");
            for (found, expected) in found.iter().zip(expected) {
                compare(found, expected, case);
            }
        }
        _ => assert_eq!(found, expected, "{case}"),
    }
}

/// Returns an object of a message's fields, by their names; a field may have another value than its own.
macro_rules! fields {
    ($message:expr, $($name:ident $(= $value:expr)?),* $(,)?) => {{
        let mut object = Map::new();
        $( object.insert(stringify!($name).trim_start_matches("r#").to_owned(), fields!(@ $message, $name $(= $value)?)); )*
        Value::Object(object)
    }};
    (@ $message:expr, $name:ident = $value:expr) => { json!($value) };
    (@ $message:expr, $name:ident) => { json!($message.$name) };
}

fn item(item: Item) -> Value {
    let (kind, mut value) = match item {
        Item::Hello(it) => (
            "hello",
            fields!(it, protocol_version, software, software_version, capabilities, player, now_ms, silence_most_ms),
        ),
        Item::Match(it) => ("match", game_match(&it)),
        Item::Turn(it) => ("turn", turn(&it)),
        Item::Answer(it) => ("answer", answer(&it)),
        Item::Ended(it) => {
            let result = it.result.as_ref().map(result);
            ("ended", fields!(it, match_id, game, seat, opponent, result = result, position, cursor))
        }
        Item::DrawOffered(it) => ("draw_offered", fields!(it, match_id, ply)),
        Item::Challenge(it) => ("challenge", challenge(&it)),
        Item::ChallengeClosed(it) => ("challenge_closed", fields!(it, challenge_id, match_id, reason)),
        Item::Ping(it) => ("ping", fields!(it, number)),
        Item::Notice(it) => ("notice", refusal(&it)),
        Item::Seek(it) => ("seek", challenge(&it)),
        Item::Tournament(it) => {
            let format = bare(it.format().as_str_name(), "TOURNAMENT_FORMAT_");
            let phase = bare(it.phase().as_str_name(), "TOURNAMENT_PHASE_");
            let rest = fields!(
                it,
                tournament_id,
                name,
                format = format,
                games,
                time_control,
                rated,
                phase = phase,
                entered,
                creator,
                start_ms,
                entry_closes_ms,
            );
            ("tournament", rest)
        }
    };
    value["kind"] = json!(kind);
    value
}

fn game_match(it: &proto::Match) -> Value {
    let phase = bare(it.phase().as_str_name(), "PHASE_");
    let clocks: Vec<_> = it.clocks.iter().map(clock).collect();
    let result = it.result.as_ref().map(result);
    fields!(
        it,
        match_id,
        game,
        players,
        time_control,
        rated,
        label,
        phase = phase,
        revision,
        ply,
        turn,
        position,
        moves,
        clocks = clocks,
        turn_started_ms,
        draw_offered_by,
        result = result,
        created_ms,
        ended_ms,
        opening_plies,
    )
}

fn turn(it: &proto::Turn) -> Value {
    let clocks: Vec<_> = it.clocks.iter().map(clock).collect();
    let last_moves: Vec<_> = it.last_moves.iter().map(|it| fields!(it, ply, seat, r#move)).collect();
    let board: Vec<_> = it.board.iter().map(|it| fields!(it, cell, owner, piece, facing, height, mark)).collect();
    let step = |it: &proto::Step| fields!(it, action, source, target, piece, facing);
    let legal = |it: &proto::LegalMove| {
        let steps: Vec<_> = it.steps.iter().map(step).collect();
        fields!(it, text, steps = steps)
    };
    let legal_moves: Vec<_> = it.legal_moves.iter().map(legal).collect();
    fields!(
        it,
        match_id,
        game,
        seat,
        ply,
        position,
        last_moves = last_moves,
        clocks = clocks,
        started_ms,
        now_ms,
        draw_claim,
        draw_offered,
        opponent,
        board = board,
        legal_move_count,
        legal_moves = legal_moves,
        available_ms,
        revision,
    )
}

fn clock(it: &proto::Clock) -> Value {
    fields!(it, remaining_ms, available_ms, periods_left, moves_left)
}

fn result(it: &proto::Result) -> Value {
    let kind = bare(it.kind().as_str_name(), "RESULT_KIND_");
    let cause = bare(it.cause().as_str_name(), "CAUSE_");
    let party = bare(it.party().as_str_name(), "PARTY_");
    fields!(it, kind = kind, winner, reason, cause = cause, party = party, responsible_seat, note)
}

fn challenge(it: &proto::Challenge) -> Value {
    let terms = it.terms.as_ref().map(|it| fields!(it, game, time_control, rated, seat));
    fields!(it, challenge_id, challenger, opponent, terms = terms, created_ms)
}

fn refusal(it: &proto::Refusal) -> Value {
    fields!(it, reason = bare(it.reason().as_str_name(), "REFUSAL_REASON_"), code, message, facts)
}

fn answer(it: &proto::MoveAnswer) -> Value {
    use proto::move_answer::Answer;
    let (receipt, refused) = match &it.answer {
        None => (Value::Null, Value::Null),
        Some(Answer::Refusal(it)) => (Value::Null, refusal(it)),
        Some(Answer::Receipt(it)) => {
            let ledger = it.ledger.as_ref().map(|it| {
                fields!(it, started_ms, handed_over_ms, arrived_ms, credited_ms, charged_ms, left_ms, round_trip_ms)
            });
            let result = it.result.as_ref().map(result);
            let receipt = fields!(it, request_id, match_id, revision, ply, ledger = ledger, result = result);
            (receipt, Value::Null)
        }
    };
    fields!(it, request_id, match_id, receipt = receipt, refusal = refused)
}
