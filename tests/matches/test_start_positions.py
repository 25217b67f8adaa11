"""Matches that start from a given position: what is recorded, replayed, verified, written, and refused."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.matches import notation
from arbiter.matches.codec import own_fields
from arbiter.matches.commands import Create
from arbiter.matches.creation import create
from arbiter.matches.events import Created
from arbiter.matches.evolution import begin
from arbiter.matches.match import with_position
from tests.generators.transcripts import ScriptedMatch
from tests.refusals import refusing

CASTLING = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 4 30"
START = registry.game("chess").text(registry.game("chess").initial())


def created(position: str, opening: tuple[str, ...] = (), game: str = "chess") -> Created:
    command = Create(game, ("alice", "bob"), "1m", "organiser", "r", position=position, opening=opening)
    event = create("m-1", command, 1_000).events[0]
    assert isinstance(event, Created)
    return event


def test_a_match_begins_with_the_position_and_then_its_opening() -> None:
    event = created(CASTLING, ("e1g1",))
    match = begin(event)
    assert own_fields(event)["position"] == CASTLING
    assert match.text == "r3k2r/8/8/8/8/8/8/R4RK1 b kq - 5 30"
    assert (match.turn, match.ply, match.turns) == (2, 1, b"\x01")
    trusted = match.copy()
    trusted.position = None
    assert with_position(trusted).position == match.position


def test_the_games_own_start_leaves_no_trace_in_the_record() -> None:
    assert created(START) == created("")
    assert "position" not in own_fields(created(START))


def test_a_position_is_recorded_as_the_game_writes_it() -> None:
    passed = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"
    assert created(passed).position == passed.replace(" e3 ", " - ")


@pytest.mark.parametrize(
    ("position", "reason", "words"),
    [
        ("nonsense", Reason.POSITION_MALFORMED, "'nonsense' in the fields of a chess position"),
        ("7k/8/8/8/8/8/8/K7 w - - 0 1", Reason.ARGUMENT_INVALID, "draw dead_position"),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", Reason.ARGUMENT_INVALID, "draw stalemate"),
    ],
)
def test_other_texts_and_positions_that_are_over_are_refused(position: str, reason: Reason, words: str) -> None:
    with refusing(reason) as caught:
        created(position)
    assert words in caught.value.message


def test_an_illegal_opening_names_its_ply() -> None:
    with pytest.raises(Refusal) as caught:
        created(CASTLING, ("e1g1", "e8e7", "g1g3"))
    assert caught.value.facts["ply"] == "2"


def test_a_game_as_text_says_where_it_started() -> None:
    event = created(CASTLING, ("e1g1",))
    text = notation.write([event])
    assert f'[Position "{CASTLING}"]' in text
    assert notation.read(text).position == begin(event).text
    with pytest.raises(notation.NotationError, match="line 1"):
        notation.read(text.replace("KQkq", "KQkx"))


def test_bots_play_on_from_it_to_the_end() -> None:
    script = ScriptedMatch("start", "chess", "1m", position="7k/8/5K2/8/8/8/8/6Q1 w - - 0 1")
    script.arrive(1, 10)
    script.arrive(2, 10)
    script.play(100)
    assert script.match.ply == 1
