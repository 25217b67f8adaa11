"""Go: capture, ko, superko, suicide, scoring, komi, and the comparison with the reference."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.line import follow
from tests.games.against import agree
from tests.games.reference_go import Reference

GAME = registry.game("go")
EMPTY = "." * 9


def board(*low: str) -> str:
    """Return the text of a board whose lowest rows are given, the highest of them first."""
    rows = [row.ljust(9, ".") for row in low]
    return "/".join([EMPTY] * (9 - len(rows)) + rows)


def played(text: str, *moves: str) -> str:
    position = follow(GAME, GAME.parse(text), moves).final
    return str(GAME.text(position).split(" ")[0])


def test_there_is_no_column_i() -> None:
    assert [name for name in GAME.board.names if name.endswith("1")] == [f"{file}1" for file in "abcdefghj"]
    assert GAME.notation(GAME.initial(), "j9") == "J9"


@pytest.mark.parametrize(
    ("before", "turn", "move", "after"),
    [
        (board("S.", "s."), 1, "b1", board("S.", ".S")),
        (board("SS.", "ssS", "S.."), 1, "c1", board("SS.", "ssS", "S.S")),
        (board("SSS", "ssS", "S.s"), 1, "b1", board("SSS", "..S", "SSs")),
        (board("S", "ss.", "S.S"), 2, "b1", board("S", "ss.", ".sS")),
    ],
)
def test_stones_without_a_liberty_are_taken(before: str, turn: int, move: str, after: str) -> None:
    assert played(f"{before} {turn} 0 0", move) == after


def test_a_ko_may_not_be_taken_back_at_once_but_after_an_exchange() -> None:
    ko = f"{board('.Ss.', 'S.Ss', '.Ss.')} 2 0 0"
    after = follow(GAME, GAME.parse(ko), ["b2"]).final
    assert GAME.text(after).startswith(board(".Ss.", "Ss.s", ".Ss."))
    assert "c2" not in GAME.moves(after)
    with pytest.raises(Refusal, match="an earlier position of the board") as caught:
        GAME.play(after, "c2")
    assert caught.value.reason == Reason.MOVE_ILLEGAL
    assert "c2" in GAME.moves(follow(GAME, after, ["j9", "j1"]).final)


def test_superko_looks_at_the_board_alone_whoever_is_to_move() -> None:
    ko = f"{board('.Ss.', 'S.Ss', '.Ss.')} 2 0 0"
    after = follow(GAME, GAME.parse(ko), ["b2", "pass", "pass"]).final
    assert str(after.outcome) != "None"
    after = follow(GAME, GAME.parse(ko), ["b2", "pass", "a9"]).final
    assert "c2" in GAME.moves(after)


def test_a_single_stone_may_not_take_itself_but_several_may() -> None:
    assert "a1" not in GAME.moves(GAME.parse(f"{board('s', '.s')} 1 0 0"))
    two = f"{board('ss', 'S.s')} 1 0 0"
    assert played(two, "b1") == board("ss", "..s")


def test_two_passes_end_the_game_by_area_and_komi() -> None:
    assert str(follow(GAME, GAME.initial(), ["pass", "pass"]).final.outcome) == "2 area"
    assert str(follow(GAME, GAME.initial(), ["e5", "pass", "pass"]).final.outcome) == "1 area"
    even = registry.game("go(komi=81)")
    assert str(follow(even, even.initial(), ["e5", "pass", "pass"]).final.outcome) == "draw equal_area"
    shared = GAME.parse("/".join(["....Ss..."] * 9) + " 1 1 4")
    assert GAME.counters(shared) == {"Black area": 45, "White area": 36}
    assert str(GAME.play(shared, "pass").outcome) == "1 area"
    assert str(registry.game("go(komi=9)").play(shared, "pass").outcome) == "draw equal_area"
    assert str(registry.game("go(komi=9.5)").play(shared, "pass").outcome) == "2 area"


def test_a_game_without_end_is_counted_after_four_plies_for_each_intersection() -> None:
    late = GAME.parse(f"{board('S')} 1 0 323")
    assert str(GAME.play(late, "j9").outcome) == "1 length"
    assert str(GAME.play(late, "pass").outcome) == "1 length"


def test_a_stone_without_a_liberty_is_no_position() -> None:
    with pytest.raises(Refusal, match="no stones without a liberty"):
        GAME.parse(f"{board('S', 'sS')} 1 0 0")


def test_aliases() -> None:
    assert follow(GAME, GAME.initial(), ["D4", "PASS"]).moves == ("d4", "pass")
    assert GAME.canonical("I4") == "I4"


def rarely_passing(moves: list[str], random: Random) -> str:
    return random.choice(moves[:-1] or moves) if random.random() < 0.98 else "pass"


def test_random_games_agree_with_the_reference() -> None:
    game = registry.game("go(komi=0.5)")
    agree(game, Reference(9, Fraction("0.5"), {}), 1, 120, 20, rarely_passing)


@pytest.mark.long
def test_longer_random_games_agree_with_the_reference() -> None:
    agree(GAME, Reference(9, Fraction("7.5"), {}), 2, 330, 30, rarely_passing)


@pytest.mark.soak
def test_many_random_games_agree_with_the_reference() -> None:
    for seed in range(40):
        agree(GAME, Reference(9, Fraction("7.5"), {}), seed, 330, 3, rarely_passing)
