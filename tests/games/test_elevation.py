"""Elevation: the rules one by one, and the engine compared with the reference."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from arbiter.errors import Reason
from arbiter.games import registry
from arbiter.games.contract import Outcome, Piece, Step
from arbiter.games.elevation import Elevation, ElevationPosition
from tests.games.reference_elevation import Reference
from tests.refusals import refused

GAME = Elevation()
NAMES = GAME.board.names
START = "3f,3d,3s,3s,3d,3f/3,3,3,3,3,3/3,3,3,3,3,3/3,3,3,3,3,3/3,3,3,3,3,3/3F,3D,3S,3S,3D,3F 1 0"
VARIANTS: dict[str, dict[str, Any]] = {
    "elevation": {},
    "elevation(tiles=0)": {"tiles": 0},
    "elevation(tiles=1,start=SSDDFF)": {"tiles": 1, "start": "SSDDFF"},
    "elevation(tiles=20)": {"tiles": 20},
}


def text(men: str, heights: str = "", turn: int = 1, plies: int = 0, ground: int = 0) -> str:
    """Return the text of a position.

    `men` and `heights` list squares: `Da1 fc3`, `a1=2 b2=10`; other squares are ground.
    """
    letters = {word[1:]: word[0] for word in men.split()}
    tall = dict(word.split("=") for word in heights.split())
    rows = [",".join(f"{tall.get(f + r, ground)}{letters.get(f + r, '')}" for f in "abcdef") for r in "654321"]
    return f"{'/'.join(rows)} {turn} {plies}"


def at(men: str, heights: str = "", turn: int = 1, plies: int = 0, ground: int = 0) -> ElevationPosition:
    return GAME.parse(text(men, heights, turn, plies, ground))


def legal(position: ElevationPosition, move: str) -> bool:
    """Return whether a move is legal; assert that playing it and the list of legal moves agree."""
    listed = move in GAME.moves(position)
    if not listed:
        assert refused(GAME.play, position, move).reason == Reason.MOVE_ILLEGAL
    else:
        GAME.play(position, move)
    return listed


def play(position: ElevationPosition, *moves: str) -> ElevationPosition:
    for move in moves:
        position = GAME.play(position, move)
    return position


def swap(position_text: str) -> str:
    """Return the same position from the other side of the board: ranks reversed, seats exchanged."""
    rows, turn, plies = position_text.split(" ")
    return f"{'/'.join(reversed(rows.split('/'))).swapcase()} {3 - int(turn)} {plies}"


def swap_move(move: str) -> str:
    return move.translate(str.maketrans("123456", "654321"))


def flip(position_text: str) -> str:
    """Return the position reflected: files reversed."""
    rows, rest = position_text.split(" ", 1)
    return f"{'/'.join(','.join(reversed(row.split(','))) for row in rows.split('/'))} {rest}"


def flip_move(move: str) -> str:
    """Return the move reflected. A file's letter is followed by a rank's number; the `d` of a dig is not."""
    return "".join(
        "fedcba"["abcdef".index(char)] if move[place + 1 : place + 2] in tuple("123456") and char in "abcdef" else char
        for place, char in enumerate(move)
    )


def random_text(rng: Random) -> str:
    """Draw a position of any kind, reachable or not: sparse or crowded, flat or steep, low or nine digits high."""
    steep, ground = rng.choice((0, 1, 2, 2, 3, 4, 9)), rng.choice((0, 0, 0, 0, 999_999_980))
    density, letters = rng.choice((0.05, 0.1, 0.2, 0.4, 0.8)), rng.choice(("FDSfds", "SSSsss", "FSfs", "DSds", "FFFd"))
    rows = [
        ",".join(
            f"{ground + rng.randint(0, steep)}{rng.choice(letters) if rng.random() < density else ''}" for _ in range(6)
        )
        for _ in range(6)
    ]
    return f"{'/'.join(rows)} {rng.choice((1, 2))} {rng.choice((0, 0, 7, 198, 199, 200, 999_999_999))}"


# The start


def test_the_start_is_the_one_of_the_rules() -> None:
    assert GAME.text(GAME.initial()) == START
    assert GAME.initial() == GAME.parse(START)
    assert len(GAME.moves(GAME.initial())) == 1150


def test_parameters_set_heights_and_pieces() -> None:
    game = registry.game("elevation(start=SSDDFF,tiles=20)")
    flat = "20,20,20,20,20,20/" * 4
    assert game.text(game.initial()) == f"20s,20s,20d,20d,20f,20f/{flat}20S,20S,20D,20D,20F,20F 1 0"
    assert game.variant == "elevation(tiles=20,start=SSDDFF)"
    assert registry.game("elevation(tiles=3,start=FDSSDF)").variant == "elevation"


@pytest.mark.parametrize(
    "call", ["tiles=21", "tiles=-1", "tiles=03", "tiles=", "start=FDSSDD", "start=FDSSD", "start=fdssdf", "start="]
)
def test_parameters_out_of_bounds_are_refused(call: str) -> None:
    assert refused(registry.game, f"elevation({call})").reason == Reason.PARAMETER_INVALID


def test_without_tiles_only_dragons_with_two_moves_can_act() -> None:
    game = Elevation(tiles=0)
    moves = game.moves(game.initial())
    assert {move[:4] for move in moves} == {"b1:m", "e1:m"}
    assert {move[7] for move in moves} == {"m"}


# Digs


@pytest.mark.parametrize(
    ("move", "may"),
    [
        ("b2:da2a1,mb1", True),
        ("b2:da1a2,mb1", False),  # no tile on a1
        ("b2:dc2a1,mb1", True),  # an own piece sinks
        ("b2:dc3a1,mb1", False),  # an enemy piece may not be dug away
        ("b2:da2c2,mb1", False),  # no tile on to an own piece
        ("b2:da2c3,mb1", False),  # nor on to an enemy
        ("b2:da2a2,mb1", False),  # on to a different square
        ("b2:da2b2,mb1", False),  # a piece's own square is not adjacent to it
        ("b2:db2a2,mb1", False),
        ("b2:da2a4,mb1", False),
        ("b2:dd4a1,mb1", False),
        ("b2:mb1,da2a1", True),
        ("b2:mb1,da2a3", False),  # adjacent to where the piece is after its move
        ("b2:mb1,da2b2", True),  # the square that it left is empty
        ("b2:mb1,db2a1", True),
    ],
)
def test_digs(move: str, may: bool) -> None:
    assert legal(at("Sb2 Sc2 sc3", "b2=1 a2=1 c2=2 c3=2 a4=1 d4=1"), move) == may


def test_a_dig_changes_two_heights_and_nothing_else() -> None:
    after = GAME.play(at("Sb2 Sc2 se5", "b2=1 c2=1"), "b2:dc2a1,mb1")
    assert GAME.text(after) == text("Sb1 Sc2 se5", "b2=1 c2=0 a1=1", turn=2, plies=1)


def test_heights_of_nine_digits_are_numbers_like_others() -> None:
    position = at("Sa1 sf6", "b2=999999999 a1=999999997 f5=1 b1=999999996")
    assert not legal(position, "a1:da2b1,mb2")
    after = GAME.play(position, "a1:db2b1,mb2")
    assert GAME.text(after) == text("Sb2 sf6", "b2=999999998 a1=999999997 f5=1 b1=999999997", turn=2, plies=1)


# Moves


@pytest.mark.parametrize(
    ("move", "may"),
    [
        ("b2:da1a2,mb3", True),  # one up
        ("b2:da1a2,mc2", False),  # two up
        ("b2:da1a2,ma3", True),  # down by any amount
        ("b2:da1a2,mb1", False),  # an own piece
        ("b2:da1a2,mc1", True),  # an enemy two below
        ("b2:da1a2,mc3", False),  # an enemy only one below
        ("b2:da1a2,mb4", False),  # not adjacent
        ("b2:da1a2,md4", False),
        ("b2:da1a2,mb2", False),
        ("b2:db3c2,mb3", True),  # judged after the dig
        ("b2:dc2b3,mc2", True),
        ("b2:dc2b3,mb3", False),
        ("b2:mc1,db2c2", True),  # capture, then dig
        ("b2:mc1,dc1b2", False),
    ],
)
def test_moves(move: str, may: bool) -> None:
    assert legal(at("Sb2 Sb1 sc1 sc3 sf6", "b2=5 a1=9 a2=9 b1=5 b3=6 c2=7 c1=3 c3=4"), move) == may


def test_a_capture_takes_the_piece_and_resets_the_plies() -> None:
    after = GAME.play(at("Sb2 sc1 sf6", "b2=3 c1=1 a1=1 f5=1", plies=77), "b2:mc1,db2b1")
    assert GAME.text(after) == text("Sc1 sf6", "b2=2 c1=1 a1=1 b1=1 f5=1", turn=2)


def test_a_dig_next_to_the_piece_can_not_make_the_drop_of_a_capture() -> None:
    position = at("Fb2 sc1 se6", "b2=2 c1=1 a1=1 e5=1")
    assert not legal(position, "b2:da1a2,mc1")
    assert not legal(position, "b2:dc1a2,mc1")  # an enemy occupies the square
    assert legal(at("Fb2 sc1 se6", "b2=3 c1=1 a1=1 e5=1"), "b2:da1a2,mc1")


@pytest.mark.parametrize("move", ["b2:da1a2", "b2:mb3", "b2:mb3,mb4", "b2:da1a2,da2a1", "b2:mb3,mb2"])
@pytest.mark.parametrize("kind", "FS")
def test_others_than_dragons_dig_once_and_move_once(kind: str, move: str) -> None:
    assert not legal(at(f"{kind}b2 sf6", "a1=2 b3=2 f5=1"), move)


# Fish


@pytest.mark.parametrize(
    ("men", "heights", "move", "may"),
    [
        ("Fb2 sf6", "a1=1", "b2:da1a2,md4", True),
        ("Fb2 sf6", "a1=1", "b2:md4,da1a2", False),  # the dig is made from d4
        ("Fb2 sf6", "d5=1", "b2:md4,dd5d3", True),
        ("Fb2 sf6", "a1=1", "b2:da1a2,mb4", False),  # diagonals only
        ("Fb2 sf6", "a1=1", "b2:da1a2,md2", False),
        ("Fb2 sf6", "a1=1", "b2:da1a2,mc4", False),
        ("Fb2 sf6", "a1=1", "b2:da1a2,me5", False),
        ("Fb2 Sc3 sf6", "a1=1", "b2:da1a2,md4", False),  # the middle is taken by an own piece
        ("Fb2 sc3 sf6", "b2=5 c3=2 a1=1", "b2:da1a2,md4", False),  # by an enemy, who could be captured
        ("Fb2 Sd4 sf6", "a1=1", "b2:da1a2,md4", False),
        ("Fb2 sf6", "a1=1 c3=1 d4=2", "b2:da1a2,md4", True),  # up, and up again
        ("Fb2 sf6", "a1=1 c3=1 d4=3", "b2:da1a2,md4", False),
        ("Fb2 sf6", "a1=1 c3=2 d4=2", "b2:da1a2,md4", False),
        ("Fb2 sf6", "c3=2 d4=2", "b2:dc3b3,md4", True),  # the dig clears the middle
        ("Fb2 sf6", "a1=2 c3=1", "b2:da1c3,md4", False),
        ("Fb2 sd4 sf6", "a1=1 b2=1 c3=2", "b2:da1a2,md4", True),  # captured from the middle square
        ("Fb2 sd4 sf6", "a1=1 b2=2 c3=1", "b2:da1a2,md4", False),
        ("Fb2 sd4 sf6", "a1=1 b2=3 c3=1", "b2:da1c3,md4", True),  # the dig raises the middle
        ("Fb2 sd4 sf6", "d3=1 b2=1 c3=2", "b2:md4,dd3c4", True),
        ("Sb2 sf6", "a1=1", "b2:da1a2,md4", False),
        ("Db2 sf6", "a1=1", "b2:da1a2,md4", False),
        ("Db2 sf6", "d5=1", "b2:md4,dd5d3", False),
    ],
)
def test_double_moves(men: str, heights: str, move: str, may: bool) -> None:
    assert legal(at(men, heights), move) == may


# Dragons


@pytest.mark.parametrize(
    ("move", "may"),
    [
        ("b2:da1a2,da1a2", True),  # twice the same
        ("b2:da1a2,da2b1", True),  # the same tile goes on
        ("b2:da1a2,da2a1", False),  # and back: nothing changed
        ("b2:dc2a2,da1a3", True),
        ("b2:dc2a2,dc2a3", False),  # the only tile is gone
        ("b2:dc2c1,dc1a1", True),  # a tile that was just put there
        ("b2:da1a2,da1c3", False),
        ("b2:da1a2", False),
    ],
)
def test_two_digs(move: str, may: bool) -> None:
    assert legal(at("Db2 sc3 sf6", "a1=2 c2=1 c3=1"), move) == may


@pytest.mark.parametrize(
    ("move", "may"),
    [
        ("b2:mb1,mc1", True),
        ("b2:mb1,mb2", False),  # back: nothing changed
        ("b2:mc3,md4", True),  # two captures
        ("b2:mc3,mb2", False),  # too steep
        ("b2:mc3,mc4", False),  # an enemy on the same height
        ("b2:mb1,mb3", False),  # adjacent to where the dragon stands by then
        ("b2:mb3,mb4", True),  # one up, and one up
        ("b2:ma3,ma4", False),
    ],
)
def test_two_moves(move: str, may: bool) -> None:
    men = "Db2 sc3 sd4 sc4 sf6"
    heights = "a1=4 a2=4 b1=4 c1=4 c2=4 b2=4 c3=2 d4=0 c4=2 b3=5 b4=6 a3=6 f5=1"
    assert legal(at(men, heights), move) == may


def test_two_captures_in_one_turn_can_end_the_game() -> None:
    after = GAME.play(at("Db2 sc3 sd4", "b2=4 c3=2"), "b2:mc3,md4")
    assert GAME.text(after) == text("Dd4", "b2=4 c3=2", turn=2)
    assert after.outcome == Outcome(1, "all_captured")


@pytest.mark.parametrize(
    ("move", "may"),
    [
        ("b2:ma1", True),
        ("b2:mb1", False),  # one up
        ("b2:mc1", False),  # three up
        ("b2:ma2", False),
        ("b2:mc3", False),  # an enemy exactly two up
        ("b2:ma3", False),  # an own piece
        ("b2:md4", False),
        ("b2:ma1,da2a3", False),  # and nothing else
        ("b2:db1c2,ma1", False),
    ],
)
def test_the_climb_of_a_dragon(move: str, may: bool) -> None:
    assert legal(at("Db2 Sa3 sc3 sf6", "b2=1 a1=3 b1=2 c1=4 c3=3 a3=3 d4=3 a2=1"), move) == may


def test_eighteen_sequences_at_the_start_change_nothing() -> None:
    start = GAME.initial()
    back = [f"{s}:d{a}{b},d{b}{a}" for s, row in (("b1", "abc"), ("e1", "def")) for a, b in _pairs(row)]
    back += [f"{s}:m{f}2,m{s}" for s, row in (("b1", "abc"), ("e1", "def")) for f in row]
    assert len(back) == 18
    assert not any(legal(start, move) for move in back)


def _pairs(row: str) -> list[tuple[str, str]]:
    return [(f"{one}2", f"{other}2") for one in row for other in row if one != other]


# The end


def test_who_has_no_pieces_has_lost() -> None:
    assert at("Sa1", "b1=1", turn=2).outcome == Outcome(1, "all_captured")
    assert at("sa1", "b1=1", turn=1).outcome == Outcome(2, "all_captured")
    assert at("", turn=1).outcome == Outcome(2, "all_captured")


def test_only_the_opponent_of_the_last_mover_can_have_lost() -> None:
    assert at("Sa1", "b1=1", turn=1).outcome is None


def test_who_has_no_legal_turn_has_lost() -> None:
    assert at("Sa1 sf6", turn=1).outcome == Outcome(2, "no_moves")
    assert at("Sa1 sf6", turn=2).outcome == Outcome(1, "no_moves")
    after = GAME.play(at("Da1 sf6", turn=1), "a1:ma2,ma3")
    assert after.outcome == Outcome(1, "no_moves")
    assert list(GAME.moves(after)) == []


def test_a_dragon_that_could_only_come_back_has_no_legal_turn() -> None:
    assert at("Da1 Sa2 Sb2 Sc1 Sc2 sf6").outcome == Outcome(2, "no_moves")  # there is a1:mb1,ma1, which changes nothing
    assert list(GAME.moves(at("Da1 Sa2 Sb2 Sc1 sf6"))) == ["a1:mb1,mc2"]


def test_no_moves_is_tested_before_no_progress() -> None:
    assert at("Sa1 sf6", plies=200).outcome == Outcome(2, "no_moves")
    assert at("", plies=200).outcome == Outcome(2, "all_captured")


def test_200_plies_without_a_capture_are_a_draw() -> None:
    position = at("Da1 df6", plies=199)
    assert position.outcome is None
    after = GAME.play(position, "a1:ma2,ma3")
    assert after.outcome == Outcome(0, "no_progress")
    assert refused(GAME.play, after, "f6:mf5,mf4").reason == Reason.MOVE_ILLEGAL
    assert at("Da1 df6", plies=200).outcome == Outcome(0, "no_progress")
    assert at("Da1 df6", plies=999_999_999).outcome == Outcome(0, "no_progress")


def test_a_capture_on_the_last_ply_keeps_the_game_alive() -> None:
    after = GAME.play(at("Da1 sb1 df6", "a1=2", plies=199), "a1:mb1,mc1")
    assert after.plies == 0
    assert after.outcome is None


ROUND = ("a1:ma2,ma3", "f6:mf5,mf4", "a3:ma2,ma1", "f4:mf5,mf6")


def test_the_third_time_is_a_draw() -> None:
    position = at("Da1 df6")
    position = play(position, *ROUND, *ROUND[:3])
    assert position.outcome is None
    assert GAME.play(position, ROUND[3]).outcome == Outcome(0, "repetition")


def test_repetition_looks_at_the_seat_to_move() -> None:
    # Each of the dragons loses a ply: pieces and heights come again with the other seat to move.
    around = ("a1:ma2,mb1", "f6:mf5,mf4", "b1:ma2,ma1", "f4:mf5,me6", "a1:ma2,mb1", "e6:mf5,mf6")
    position = play(at("Da1 df6"), *around)
    assert GAME.text(position).split(" ")[1] == "1"
    assert position.outcome is None
    again = play(position, "b1:ma2,ma1", "f6:mf5,mf4", "a1:ma2,ma3", "f4:mf5,mf6", "a3:ma2,ma1")
    assert again.turn == 2
    assert (again.men, again.heights) == (at("Da1 df6").men, at("Da1 df6").heights)
    assert again.outcome is None


def test_repetition_looks_at_heights() -> None:
    position = at("Da1 df6", "b1=9")
    seen = {position.look}
    for move in 2 * ("a1:db1a2,db1a2", "f6:mf5,mf4", "a1:db1b2,db1b2", "f4:mf5,mf6"):
        position = GAME.play(position, move)
        assert position.look not in seen
        seen.add(position.look)
    assert position.outcome is None


def test_repetition_comes_before_no_progress() -> None:
    position = play(at("Da1 df6", plies=192), *ROUND, *ROUND)
    assert position.plies == 200
    assert position.outcome == Outcome(0, "repetition")


def test_the_reasons_have_the_order_of_the_rules() -> None:
    assert [reason.name for reason in GAME.facts.reasons] == ["all_captured", "no_moves", "repetition", "no_progress"]


def test_a_position_set_from_text_begins_a_new_history() -> None:
    position = play(at("Da1 df6"), *ROUND)
    assert play(GAME.parse(GAME.text(position)), *ROUND).outcome is None


def test_a_capture_ends_what_repetition_looks_back_on() -> None:
    position = play(at("Da1 Sc1 sd1 df6", "c1=2"), "a1:ma2,ma3", "f6:mf5,mf4", "a3:ma2,ma1", "f4:mf5,mf6")
    assert len(position.past) == 4
    after = GAME.play(position, "c1:md1,dc1d2")
    assert after.past == ()


# Texts


@pytest.mark.parametrize(
    "move",
    [
        "", "a1", "a1:", "a1:d", "a1:da2", "a1:m", "a1:da2b1,", "a1:da2b1,ma2,mb3", "a1:da2b1,ma2 ", " a1:da2b1,ma2",
        "a1:da2b1, ma2", "A1:da2b1,ma2", "a1:Da2b1,ma2", "a1:da2b1,mA2", "a0:da2b1,ma2", "a7:da2b1,ma2", "g1:da2b1,ma2",
        "a1:da2g1,ma2", "a1:da2b1,ma7", "a1:da2b1;ma2", "a1da2b1,ma2", "a1:da2b1,ma2\n", "a1:da2b1,m٢2",
        "a1:da2-b1,ma2", "a1:xa2,ma2", "a1:ma2b1,da2b1", "pass", "a1:da2b1ma2", "a1:da2b1,ma²",
        "a" * 100_000, "a1:da2b1,ma2" * 10_000,
    ],
)  # fmt: skip
def test_malformed_moves(move: str) -> None:
    assert refused(GAME.play, GAME.initial(), move).reason == Reason.MOVE_MALFORMED
    assert refused(GAME.steps, GAME.initial(), move).reason == Reason.MOVE_MALFORMED


@pytest.mark.parametrize("move", ["a2:da3b3,mb2", "a6:da5b5,ma5", "a1:ma2"])
def test_squares_without_an_own_piece_and_too_short_turns(move: str) -> None:
    assert not legal(GAME.initial(), move)


def test_a_refusal_says_what_prevents_the_move() -> None:
    position = at("Sb2 Sc2 sc3", "b2=1 a2=1 c2=2 c3=2 b3=3 c1=1")
    for move, why in {
        "b2:da1a2,mb1": "a1 has no tile",
        "b2:dc3a1,mb1": "c3 holds an enemy piece",
        "b2:da2c2,mb1": "c2 holds a piece",
        "b2:da2a1,mc2": "c2 holds an own piece",
        "b2:da2a1,mb3": "from b2 to b3 the height changes by 2: a move goes up by at most 1",
        "b2:da2a1,mc3": "from b2 to c3 the height changes by 1: a capture goes down by at least 2",
        "b2:da2a1": "these operations do not make a turn of a samurai",
        "e5:da2a1,mb1": "no piece of seat 1 stands on e5",
    }.items():
        refusal = refused(GAME.play, position, move)
        assert refusal.message.endswith(why)
        assert refusal.facts["position"] == GAME.text(position)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda t: "", "the text"),
        (lambda t: t + " ", "the text"),
        (lambda t: " " + t, "the text"),
        (lambda t: t.replace(" 1 ", "  1 "), "the text"),
        (lambda t: t.rsplit(" ", 1)[0], "the text"),
        (lambda t: t + " 0", "the text"),
        (lambda t: t * 30, "the text"),
        (lambda t: t.replace("/", " ", 1), "the text"),
        (lambda t: t.replace("/3,3,3,3,3,3", "", 1), "the board"),
        (lambda t: "3,3,3,3,3,3/" + t, "the board"),
        (lambda t: t.replace("3,3,3,3,3,3/", "3,3,3,3,3/", 1), "row 5"),
        (lambda t: t.replace("3,3,3,3,3,3/", "3,3,3,3,3,3,3/", 1), "row 5"),
        (lambda t: t.replace("3f", "f", 1), "a6"),
        (lambda t: t.replace("3f", "", 1), "a6"),
        (lambda t: t.replace("3f", ".", 1), "a6"),
        (lambda t: t.replace("3f", "3x", 1), "a6"),
        (lambda t: t.replace("3f", "3ff", 1), "a6"),
        (lambda t: t.replace("3f", "f3", 1), "a6"),
        (lambda t: t.replace("3f", "3.", 1), "a6"),
        (lambda t: t.replace("3f", "03f", 1), "a6"),
        (lambda t: t.replace("3f", "00", 1), "a6"),
        (lambda t: t.replace("3f", "-1f", 1), "a6"),
        (lambda t: t.replace("3f", "+1f", 1), "a6"),
        (lambda t: t.replace("3f", "1_0f", 1), "a6"),
        (lambda t: t.replace("3f", "1000000000f", 1), "a6"),
        (lambda t: t.replace("3f", "٣f", 1), "a6"),
        (lambda t: t.replace("3f", "²f", 1), "a6"),
        (lambda t: t.replace("3F 1", "3F\n 1"), "f1"),
        (lambda t: t.replace(" 1 ", " 0 "), "the seat to move"),
        (lambda t: t.replace(" 1 ", " 3 "), "the seat to move"),
        (lambda t: t.replace(" 1 ", " 01 "), "the seat to move"),
        (lambda t: t[:-1], "the plies without capture"),
        (lambda t: t + "0", "the plies without capture"),
        (lambda t: t[:-1] + "01", "the plies without capture"),
        (lambda t: t[:-1] + "-1", "the plies without capture"),
        (lambda t: t[:-1] + "1000000000", "the plies without capture"),
        (lambda t: t[:-1] + "٣", "the plies without capture"),
        (lambda t: t + "\n", "the plies without capture"),
    ],
)
def test_malformed_positions(change: Callable[..., Any], where: str) -> None:
    refusal = refused(GAME.parse, change(START))
    assert refusal.reason == Reason.POSITION_MALFORMED
    assert refusal.facts["where"] == where


def test_the_longest_text_is_read() -> None:
    longest = "/".join([",".join(["999999999D"] * 6)] * 6) + " 1 999999999"
    assert GAME.text(GAME.parse(longest)) == longest


def test_pieces_steps_and_counters() -> None:
    position = at("Fb2 sd4 sf6", "b2=12 c3=2 a1=1", plies=5)
    pieces = dict(zip(NAMES, GAME.pieces(position), strict=True))
    assert pieces["b2"] == Piece(1, "F", height=12)
    assert pieces["d4"] == Piece(2, "s", height=0)
    assert pieces["c3"] == Piece(0, "", height=2)
    assert GAME.steps(position, "b2:da1a2,md4") == [
        Step("dig", "a1", "a2"), Step("move", "b2", "c3"), Step("move", "c3", "d4"),
    ]  # fmt: skip
    assert GAME.steps(position, "b2:mb3,da2a3") == [Step("move", "b2", "b3"), Step("dig", "a2", "a3")]
    assert GAME.counters(position) == {"plies without capture": 5}
    assert GAME.claim(position) is None
    assert GAME.facts.draw_offers


def test_positions_are_values() -> None:
    position = play(at("Da1 df6"), *ROUND)
    twin = play(at("Da1 df6"), *ROUND)
    assert position == twin
    assert hash(position) == hash(twin)
    assert position != at("Da1 df6", plies=4)  # they have different histories
    assert pickle.loads(pickle.dumps(position)) == position


# Comparison with the reference


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_games_agree_with_the_reference(variant: str) -> None:
    rng = random.Random(variant)
    game = Elevation(**VARIANTS[variant])
    position = game.initial()
    reference = Reference(game.text(position))
    for _ in range(10):
        moves = game.moves(position)
        assert set(moves) == reference.moves()
        assert len(moves) == len(set(moves))
        move = rng.choice(moves)
        position = game.play(position, move)
        reference.play(move)
        assert game.text(position) == reference.text()
        assert str(position.outcome) == str(reference.outcome)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_repetition_agrees_with_the_reference(seed: int) -> None:
    rng = random.Random(seed)
    position = at("Da1 Sa3 Sb3 Sc3 Sc2 Sc1 df6 sf4 se4 sd4 sd5 sd6")  # two dragons, each in a pen of four squares
    reference = Reference(GAME.text(position))
    while position.outcome is None:
        move = rng.choice(GAME.moves(position))
        position = GAME.play(position, move)
        reference.play(move)
        assert str(position.outcome) == str(reference.outcome)
    assert position.outcome == Outcome(0, "repetition")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_set_positions_agree_with_the_reference(seed: int) -> None:
    rng = random.Random(seed)
    position = GAME.parse(random_text(rng))
    reference = Reference(GAME.text(position))
    for _ in range(3):
        moves = GAME.moves(position)
        assert str(position.outcome or None) == str(reference.outcome)
        assert set(moves) == reference.moves()
        if not moves:
            break
        for move in rng.sample(moves, min(12, len(moves))):
            changed = _mutated(move, rng)
            assert legal(position, changed) == (changed in set(moves))
        move = rng.choice(moves)
        position = GAME.play(position, move)
        reference.play(move)
        assert GAME.text(position) == reference.text()


def _mutated(move: str, rng: Random) -> str:
    """Return a move with one of its squares exchanged for any other."""
    places = [place for place, char in enumerate(move) if char in "123456"]
    place = rng.choice(places)
    return move[: place - 1] + rng.choice(NAMES) + move[place + 1 :]


@pytest.mark.parametrize("seed", range(20))
def test_seats_and_reflections_are_treated_alike(seed: int) -> None:
    rng = random.Random(1000 + seed)
    for turned, turn_move in ((swap, swap_move), (flip, flip_move)):
        position = GAME.parse(random_text(rng))
        other = GAME.parse(turned(GAME.text(position)))
        moves = GAME.moves(position)
        assert {turn_move(move) for move in moves} == set(GAME.moves(other))
        assert (position.outcome is None) == (other.outcome is None)
        for move in rng.sample(moves, min(10, len(moves))):
            after, other_after = GAME.play(position, move), GAME.play(other, turn_move(move))
            assert turned(GAME.text(after)) == GAME.text(other_after)
            assert (after.outcome and after.outcome.reason) == (other_after.outcome and other_after.outcome.reason)
