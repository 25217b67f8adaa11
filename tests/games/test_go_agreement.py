"""Go with `scoring=agreed`: marks, agreement, dispute, and positions whose dead stones are known."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from arbiter.drawing import text_drawing
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.line import follow
from arbiter.testing import laws
from arbiter.web.choices import choices
from tests.games.against import agree
from tests.games.reference_go import Reference
from tests.games.test_go import EMPTY, board
from tests.refusals import refusing

GAME = registry.game("go(scoring=agreed)")
ONE_EYE = board("SSSS.....", "sssS.....", ".ssS...s.", "sssS...s.")  #: White in the corner; two more stones are alone
BORDER = "....Ss..."


def after(text: str, *moves: str) -> Any:
    return follow(GAME, GAME.parse(text), moves).final


def agreeing() -> Any:
    """Return the position in which Black, who did not pass last, may mark stones."""
    return after(f"{ONE_EYE} 1 0 30 0 0", "pass", "pass")


def test_after_two_passes_whoever_did_not_pass_last_marks_and_stays_to_move() -> None:
    begun = agreeing()
    assert GAME.text(begun) == f"{ONE_EYE} 1 2 32 1 0"
    assert GAME.moves(begun) == ["dead-a1", "dead-a4", "dead-h1", "agree", "dispute"]
    marked = follow(GAME, begun, ["dead-a1", "dead-a4", "alive-a4"]).final
    corner = board("SSSS.....", "xxxS.....", ".xxS...s.", "xxxS...s.")
    assert GAME.text(marked) == f"{corner} 1 2 32 1 3"
    assert GAME.moves(marked) == ["alive-a1", "dead-a4", "dead-h1", "agree", "dispute"]


def test_the_game_ends_when_both_agree_in_succession_on_the_same_marks() -> None:
    line = follow(GAME, agreeing(), ["dead-a1", "agree", "dead-h1", "agree", "agree"])
    assert [position.turn for position in line.positions] == [1, 1, 2, 2, 1, 2]
    assert [position.passes for position in line.positions] == [2, 2, 3, 2, 3, 4]
    assert str(line.final.outcome) == "1 area"
    assert GAME.text(line.final) == f"{ONE_EYE.replace('s', '.')} 2 4 32 1 2"
    assert GAME.counters(line.final) == {"Black area": 81, "White area": 0}


def test_after_a_dispute_two_more_passes_end_the_game_as_it_stands() -> None:
    played_on = follow(GAME, agreeing(), ["dead-a1", "agree", "dispute"]).final
    assert GAME.text(played_on) == f"{ONE_EYE} 1 0 32 3 0"
    with pytest.raises(Refusal, match="two passes come first"):
        GAME.play(played_on, "agree")
    ended = follow(GAME, played_on, ["j9", "pass", "pass"]).final
    assert GAME.text(ended).endswith(" 2 2 35 3 0")
    assert str(ended.outcome) == "2 area"
    assert not GAME.moves(ended)


@pytest.mark.parametrize("last", [1, 2])
def test_whoever_did_not_pass_last_goes_on_after_a_dispute_of_either(last: int) -> None:
    begun = after(f"{ONE_EYE} {last} 1 31 0 0", "pass")
    assert begun.turn == 3 - last
    assert GAME.play(begun, "dispute").turn == 3 - last
    assert follow(GAME, begun, ["agree", "dispute"]).final.turn == 3 - last


def test_superko_holds_after_a_dispute() -> None:
    ko = board(".Ss.", "S.Ss", ".Ss.")
    line = follow(GAME, GAME.parse(f"{ko} 2 0 0 0 0"), ["b2", "pass", "pass", "dispute"])
    assert "c2" not in GAME.moves(line.final)


def test_a_dispute_after_the_last_ply_ends_the_game() -> None:
    begun = after(f"{ONE_EYE} 2 1 323 0 0", "pass")
    assert begun.outcome is None
    assert str(GAME.play(begun, "dispute").outcome) == "2 length"


def test_there_are_as_many_marks_as_intersections() -> None:
    position = follow(GAME, agreeing(), [*["dead-a1", "alive-a1"] * 40, "dead-a1"]).final
    assert GAME.moves(position) == ["agree", "dispute"]
    with pytest.raises(Refusal, match="81 marks are enough: agree or dispute"):
        GAME.play(position, "alive-a1")
    assert str(follow(GAME, position, ["agree", "agree"]).final.outcome) == "1 area"


@pytest.mark.parametrize(
    ("move", "why"),
    [
        ("dead-e5", "e5 is empty"),
        ("dead-c3", "this chain has the name a1"),
        ("alive-a1", "a1 counts as alive already"),
        ("e5", "both have passed"),
        ("pass", "both have passed"),
    ],
)
def test_what_nobody_can_do_while_players_agree(move: str, why: str) -> None:
    with pytest.raises(Refusal, match=why) as caught:
        GAME.play(agreeing(), move)
    assert caught.value.reason == Reason.MOVE_ILLEGAL


@pytest.mark.parametrize("move", ["agree", "dispute", "dead-a1", "alive-a1"])
def test_without_agreement_these_are_no_moves(move: str) -> None:
    usual = registry.game("go")
    for asked in (usual.play, usual.steps):
        with refusing(Reason.MOVE_MALFORMED):
            asked(usual.initial(), move)


@pytest.mark.parametrize(
    ("rows", "dead", "areas"),
    [
        pytest.param([BORDER] * 9, [], (45, 36), id="nothing"),
        pytest.param([*[BORDER] * 6, ".s..Ss...", BORDER, BORDER], ["b3"], (45, 36), id="a stone alone"),
        pytest.param(["....Ss.S.", *[BORDER] * 6, "ss..Ss...", BORDER], ["a2", "h9"], (45, 36), id="of both seats"),
        pytest.param([*[EMPTY] * 6, "sssss....", "SSSSs....", ".s.Ss...."], ["a2"], (0, 81), id="three in a row"),
        pytest.param(
            [*["...Ss...."] * 6, "SSSsss...", "ss.SSs...", "ss.SSs..."],
            [],
            (31, 48),
            id="alive in seki, two for nobody",
        ),
        pytest.param([*[EMPTY] * 6, "ssssss...", "SSSSSs...", ".S.S.s..."], [], (9, 71), id="alive with two eyes"),
    ],
)
def test_positions_whose_dead_stones_are_known(rows: list[str], dead: list[str], areas: tuple[int, int]) -> None:
    marked = after(f"{'/'.join(rows)} 2 1 99 0 0", "pass", *(f"dead-{name}" for name in dead))
    assert tuple(GAME.counters(marked).values()) == areas
    ended = follow(GAME, marked, ["agree", "agree"]).final
    assert tuple(GAME.counters(ended).values()) == areas
    assert str(ended.outcome) == ("1 area" if areas[0] > areas[1] + 7.5 else "2 area")
    unmarked = follow(GAME, marked, ["dispute", "pass", "pass"]).final
    assert (GAME.counters(unmarked) == GAME.counters(ended)) == (not dead)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ("1 0 30 0", "board, seat to move, passes, plies, agreement, marks"),
        ("1 2 30 0 0", "such a number with agreement 0"),
        ("1 1 30 1 0", "such a number with agreement 1"),
        ("1 4 30 3 0", "such a number with agreement 3"),
        ("1 5 30 1 0", "a number from 0 to 4"),
        ("1 2 30 4 0", "a number from 0 to 3"),
        ("1 2 30 1 82", "a number from 0 to 81"),
        ("1 0 30 3 1", "no marks but while players agree"),
    ],
)
def test_fields_that_cannot_be_are_refused(fields: str, complaint: str) -> None:
    with pytest.raises(Refusal, match=complaint) as caught:
        GAME.parse(f"{ONE_EYE} {fields}")
    assert caught.value.reason == Reason.POSITION_MALFORMED


def test_a_position_of_go_is_one_of_go_with_agreement() -> None:
    assert GAME.text(GAME.parse(f"{ONE_EYE} 1 1 30")) == f"{ONE_EYE} 1 1 30 0 0"
    with pytest.raises(Refusal, match="such a number with agreement 0"):
        GAME.parse(f"{ONE_EYE} 1 2 30")


def test_marked_stones_are_whole_chains_and_only_while_players_agree() -> None:
    with pytest.raises(Refusal, match="of which all stones are marked, or none"):
        GAME.parse(f"{board('sx')} 1 2 30 1 1")
    for fields in ("1 0 30 0 0", "1 4 30 1 1", "1 0 30 3 0"):
        with pytest.raises(Refusal, match="no marks but while players agree"):
            GAME.parse(f"{board('xx')} {fields}")
    with pytest.raises(Refusal, match="one of S s"):
        registry.game("go").parse(f"{board('xx')} 1 0 30")


def test_people_read_it_and_any_stone_of_a_chain_is_clicked() -> None:
    begun = agreeing()
    assert GAME.notation(begun, "dead-a1") == "dead-A1"
    assert GAME.canonical("Dead-A1") == "dead-a1"
    assert GAME.canonical("AGREE") == "agree"
    found = choices(GAME, ((move, GAME.steps(begun, move)) for move in GAME.moves(begun)))
    clicks = {
        (GAME.board.names[cell], text) for text, (number,) in found["moves"] for _, cell, _ in [found["picks"][number]]
    }
    assert {("a1", "dead-a1"), ("c3", "dead-a1"), ("h2", "dead-h1"), ("d4", "dead-a4")} <= clicks
    shown = text_drawing.draw(GAME, GAME.play(begun, "dead-h1"))
    assert "Black to mark dead stones, agree or dispute" in shown
    assert "×: marked as dead" in shown
    assert shown.count("s×") == 2


def often_passing(moves: list[str], random: Random) -> str:
    """Return a move that leads to an agreement soon, and through it slowly."""
    answers = [move for move in moves if move in ("pass", "agree", "dispute")]
    weights = {"pass": 0.4, "agree": 0.25, "dispute": 0.1}
    chance = random.random()
    return next((move for move in answers if chance < weights[move]), random.choice(moves))


@pytest.mark.parametrize("seed", range(6))
def test_random_games_agree_with_the_reference(seed: int) -> None:
    agree(GAME, Reference(9, Fraction("7.5"), {}, agreed=True), seed, 500, 5, often_passing)


@pytest.mark.soak
def test_many_random_games_agree_with_the_reference() -> None:
    for seed in range(2_000):
        agree(GAME, Reference(9, Fraction("7.5"), {}, agreed=True), seed, 500, 5, often_passing)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_laws_hold_where_players_pass_early(law: Callable[[Any, laws.Choose], None]) -> None:
    """The last of the listed moves is the pass, or to dispute, so that this choice leads through agreements."""
    random = Random(7)
    law(GAME, lambda count: count - 1 if random.random() < 0.25 else random.randrange(count))
