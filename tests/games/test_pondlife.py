"""Pondlife: the rules one by one, and the engine compared with the reference."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import Outcome, Piece, Step
from arbiter.games.pondlife import Pondlife
from arbiter.games.pondlife_position import PondlifePosition
from arbiter.games.pondlife_tables import BOARD
from tests.games import reference_pondlife as reference
from tests.refusals import refused

GAME = Pondlife()
START = "t3...T0/t3....T0/t3.....T0/t3......T0/n.......N/t3......T0/t3.....T0/t3....T0/t3...T0"
VARIANTS: list[dict[str, Any]] = [
    {},
    {"eel": True},
    {"lines": 3, "eel": True},
    {"handicap": 3},
    {"handicap": 9, "without": "FFH", "eel": True, "lines": 3},
]


def text(
    pieces: str,
    turn: int = 1,
    off: str = "- -",
    eggs: str = "1 1",
    hatched: str = "0 0",
    quiet: int | str = 0,
    handicap: int = 0,
) -> str:
    """Return the text of a position with pieces such as `e1N` or `e5t3`; by default both nests have an egg."""
    on = {word[:2]: word[2:] for word in pieces.split()}
    assert set(on) <= set(BOARD.names)
    files = "/".join("".join(on.get(BOARD.names[cell], ".") for cell in line) for line in BOARD.lines)
    return f"{files} {turn} {off} {eggs} {hatched} {quiet} {handicap}"


def at(pieces: str, game: Pondlife = GAME, **rest: Any) -> PondlifePosition:
    return game.parse(text(pieces, **rest))


def goals(position: PondlifePosition, source: str, game: Pondlife = GAME) -> set[str]:
    """Return the cells to which the piece on a cell may go; of a nest, each cell once."""
    return {move[3:5] for move in game.moves(position) if move.startswith(source)}


def illegal(position: PondlifePosition, move: str, why: str, game: Pondlife = GAME) -> None:
    refusal = refused(game.play, position, move)
    assert refusal.reason == Reason.MOVE_ILLEGAL
    assert why in refusal.message
    assert move not in game.moves(position)


def after(position: PondlifePosition, *moves: str, game: Pondlife = GAME) -> PondlifePosition:
    for move in moves:
        position = game.play(position, move)
    return position


def board_of(position: PondlifePosition, game: Pondlife = GAME) -> str:
    return game.text(position).split(" ")[0]


# The table of moves, from the middle of an empty board

NESTS = "a2N i2n"


@pytest.mark.parametrize(
    ("piece", "lines", "expected"),
    [
        ("T0", 2, "d5 e6 f5"),
        ("T2", 2, "f5 f4 e4"),
        ("F3", 2, "e7 g5 g3 e3 c3 c5"),
        ("F4", 2, "f6 g4 f3 d3 c4 d6"),
        ("W0", 2, "d4 c3 b2 a1 d5 c5 b5 a5 f5 g5 h5 i5 f4 g3 h2 i1"),
        ("S", 2, "e6 e7 e8 e9 f5 g5 h5 i5 f4 g3 h2 i1 e4 e3 e2 e1 d4 c3 b2 a1 d5 c5 b5 a5"),
        ("D0", 2, "c5 b5 a5 g5 h5 i5"),
        ("D0", 3, "c5 b5 a5 g5 h5 i5 e7 e8 e9"),
        ("E0", 2, "c3 b2 a1 g3 h2 i1"),
        ("E0", 3, "c3 b2 a1 g3 h2 i1 e3 e2 e1"),
        ("H", 2, "e6 f5 f4 e4 d4 d5 f6 g7 g4 i3 f3 g1 d3 c1 c4 a3 d6 c7"),
    ],
)
def test_every_piece_goes_to_the_cells_of_the_table(piece: str, lines: int, expected: str) -> None:
    game = Pondlife(lines=lines)
    assert goals(at(f"{NESTS} e5{piece}", game), "e5", game) == set(expected.split())


def test_a_tadpole_goes_straight_to_an_empty_cell_only_and_captures_aside() -> None:
    position = at(f"{NESTS} e5T0 e6t3 d5t3 f5T0")
    assert goals(position, "e5") == {"d5"}
    illegal(position, "e5-e6", "a piece stands in the way")
    assert board_of(after(position, "e5-d5")) == text(f"{NESTS} e6t3 d5T5 f5T0").split(" ")[0]


@pytest.mark.parametrize(("before", "move", "behind"), [("F3", "e5-e7", "e7F4"), ("F4", "e5-f6", "f6F3")])
def test_a_frog_jumps_over_everything_and_flips(before: str, move: str, behind: str) -> None:
    around = "e6t3 f5T0 f4s e4T0 d4t3 d5f3 a1n i5N"
    position = at(f"e5{before} {around}")
    assert len(goals(position, "e5")) == 6
    assert board_of(after(position, move)) == text(f"{around} {behind}").split(" ")[0]


def test_a_slide_ends_on_the_first_enemy_piece_and_before_an_own_one() -> None:
    position = at(f"{NESTS} e5W0 g5t0 d4T0 f4T0 c5T0")
    assert goals(position, "e5") == {"f5", "g5", "d5"}
    assert board_of(after(position, "e5-g5")) == text(f"{NESTS} g5W1 d4T0 f4T0 c5T0").split(" ")[0]
    illegal(position, "e5-h5", "a piece stands in the way")
    illegal(position, "e5-d4", "a piece of the same player")


def test_a_long_slide_jumps_over_its_first_cell_whatever_is_on_it() -> None:
    position = at(f"{NESTS} e5D0 f5t3 d5T0 b5t0", GAME)
    assert goals(position, "e5") == {"g5", "h5", "i5", "c5", "b5"}
    illegal(position, "e5-f5", "does not move like that")


def test_a_long_slide_needs_its_further_cells_empty() -> None:
    assert goals(at(f"{NESTS} e5E0 g3t0 c3T0"), "e5") == {"g3"}


def test_only_the_cells_of_the_diagonal_block_a_fish() -> None:
    position = at(f"{NESTS} e5H e6t0 f5T0 g4t0 d3T0")
    assert " ".join(sorted(goals(position, "e5"))) == "a3 c4 c7 d4 d5 d6 e4 e6 f3 f4 f6 g1 g4 g7"


# The nest


def test_a_nest_hatches_with_any_facing_or_face_or_pays_an_egg() -> None:
    position = at("e1N e9n", off="FWSDH -", hatched="4 0")
    words = {move[6:] for move in GAME.moves(position) if move.startswith("e1-e2=")}
    facings = {f"{letter}{facing}" for letter in "WD" for facing in range(6)}
    assert words == {"egg", "F3", "F4", "S", "H"} | facings
    assert goals(position, "e1") == {"e2", "d1", "f1"}


def test_hatching_removes_the_piece_from_the_reserve_and_counts_it() -> None:
    position = after(at("e1N e9n", off="FFW -", quiet=7), "e1-e2=F4")
    assert GAME.text(position) == text("e2N e1F4 e9n", turn=2, off="FW -", hatched="1 0")


def test_an_egg_is_paid_once() -> None:
    position = after(at("e1N e9n a1T0", turn=1), "e1-e2=egg", "e9-e8=egg")
    assert GAME.text(position) == text("e2N e8n a1T0", eggs="0 0")
    illegal(position, "e2-e1=egg", "there is no egg left")
    assert goals(position, "e2") == set()


def test_the_fish_hatches_only_after_four_others() -> None:
    assert "e1-e2=H" not in GAME.moves(at("e1N e9n", off="H -", hatched="3 9"))
    assert "e1-e2=H" in GAME.moves(at("e1N e9n", off="H -", hatched="4 0"))
    illegal(at("e1N e9n", off="H -", hatched="3 9"), "e1-e2=H", "H may not be hatched now")


def test_a_nest_captures_anything_but_a_tadpole() -> None:
    position = at("e5N a1n e6t5 f5h f4f3", eggs="1 0")
    assert "f5" in goals(position, "e5")
    illegal(position, "e5-e6=egg", "does not move on to a tadpole")
    assert GAME.text(after(position, "e5-f5=egg")).split(" ")[4:] == ["0", "0", "0", "0", "0", "0"]


def test_an_enemy_nest_attacks_only_if_it_can_hatch_or_pay() -> None:
    for off, eggs, hatched, able in (
        ("- -", "0 0", "0 0", False),
        ("- -", "0 1", "0 0", True),
        ("- F", "0 0", "0 0", True),
        ("- H", "0 0", "0 3", False),
        ("- H", "0 0", "0 4", True),
    ):
        position = at("e5N e6n a1T0", off=off, eggs=eggs, hatched=hatched)
        assert (position.outcome == Outcome(2, "nest_trapped")) == able


# Check


def test_a_pinned_piece_keeps_to_the_line() -> None:
    position = at("e1N a5n e4T0 e8s", eggs="0 1")
    assert GAME.moves(position) == ["e4-e5"]
    illegal(position, "e4-d4", "the nest would be under attack")


def test_check_is_answered_by_a_block_a_capture_or_a_move_of_the_nest() -> None:
    position = at("e1N a5n e8s d3S c6F3")
    assert set(GAME.moves(position)) == {"d3-e4", "d3-e3", "c6-e8", "c6-e6", "e1-d1=egg", "e1-f1=egg"}


def test_a_hatched_piece_blocks_a_check_and_an_egg_does_not() -> None:
    position = at("e2N a5n e9s", off="F -")
    assert {move for move in GAME.moves(position) if move.startswith("e2-e1")} == {"e2-e1=F3", "e2-e1=F4"}
    illegal(position, "e2-e1=egg", "the nest would be under attack")


def test_a_long_slide_gives_check_over_the_piece_between() -> None:
    position = at("e1N a5n e2T0 e3d4")
    assert {move[:2] for move in GAME.moves(position)} == {"e1"}
    assert at("e1N a5n e2T0 e3d4", eggs="0 1").outcome == Outcome(2, "nest_trapped")


def test_a_line_with_two_pieces_on_it_pins_neither() -> None:
    position = at("e1N a5n e3T0 e5T0 e8s", eggs="0 0")
    assert {"e3-d3", "e5-d5"} <= set(GAME.moves(position))


def test_a_pinned_piece_attacks_nevertheless() -> None:
    # The snake on e2 pins the snake on e7, which gives check nevertheless.
    assert GAME.moves(at("c7N e9n e7s e2S", eggs="0 1")) == ["e2-e7"]


def test_a_tadpole_attacks_aside_and_never_straight_ahead() -> None:
    assert at("e5N a1n e6t3", eggs="0 1").outcome == Outcome(2, "no_moves")
    assert at("e5N a1n f5t3", eggs="0 1").outcome == Outcome(2, "nest_trapped")


# Repetition

SNAKES = "a2N i2n c4S g4s"


def test_a_board_that_occurred_before_is_illegal_including_the_initial_one() -> None:
    position = after(at(SNAKES), "c4-c5", "g4-g5", "c5-c4")
    illegal(position, "g5-g4", "the board that it makes has stood before")


def test_it_does_not_matter_who_was_to_move() -> None:
    position = after(at(SNAKES), "c4-c5", "g4-g5", "c5-d5", "g5-g4")
    illegal(position, "d5-c4", "the board that it makes has stood before")
    illegal(position, "d5-c5", "the board that it makes has stood before")


def test_eggs_are_no_part_of_the_board() -> None:
    position = after(at("a2N i2n c4S g4s", eggs="5 5"), "a2-a3=egg", "i2-i3=egg", "a3-a2=egg")
    illegal(position, "i3-i2=egg", "the board that it makes has stood before")


def test_a_captured_and_hatched_piece_can_restore_a_board() -> None:
    # Yellow's frog captures the snake on e5 and goes home; Blue's nest goes round and hatches another one there.
    start = at("a2N e6n e5s e3F3", off="- S", eggs="1 9")
    position = after(start, "e3-e5", "e6-f5=egg", "e5-g4", "f5-f4=egg", "g4-g2", "f4-e5=egg", "g2-e3")
    illegal(position, "e5-e6=S", "the board that it makes has stood before")
    assert "e5-e4=S" in GAME.moves(position)


def test_the_capture_of_a_tadpole_forgets_boards_that_cannot_occur_again() -> None:
    position = after(at("a2N i2n c4S g4s c6t3"), "c4-c5", "g4-g5", "c5-c6")
    assert len(position.stood) == 1
    assert "g5-g4" in GAME.moves(position)


def test_handicap_moves_do_not_repeat_either() -> None:
    position = after(at(SNAKES, turn=2, handicap=3), "g4-g5")
    illegal(position, "g5-g4", "the board that it makes has stood before")


# The end


def test_the_ends_by_lack_of_moves_have_their_reasons() -> None:
    assert at("a2N i2n", eggs="0 1").outcome == Outcome(2, "no_moves")
    assert at("a2N i2n a5s", eggs="0 1").outcome == Outcome(2, "nest_trapped")
    assert at("a2N i2n i5S", eggs="1 0", turn=2).outcome == Outcome(1, "nest_trapped")


def test_a_move_that_leaves_the_opponent_none_wins_even_at_the_last_ply() -> None:
    position = after(at("a2N i2n h5S", eggs="0 0", quiet=119), "h5-i5")
    assert position.outcome == Outcome(1, "nest_trapped")
    assert GAME.moves(position) == []
    assert position.turn == 2


def test_sixty_quiet_plies_may_be_claimed_and_120_are_a_draw() -> None:
    assert GAME.claim(at(SNAKES, quiet=59)) is None
    assert GAME.claim(after(at(SNAKES, quiet=59), "c4-c5")) == "sixty_moves"
    assert GAME.claim(at(SNAKES, quiet=119)) == "sixty_moves"
    drawn = after(at(SNAKES, quiet=119), "c4-c5")
    assert drawn.outcome == Outcome(0, "sixty_moves")
    assert drawn.turn == 2
    assert GAME.moves(drawn) == []
    assert GAME.claim(drawn) is None
    illegal(drawn, "g4-g5", "the game is over")


@pytest.mark.parametrize(
    ("pieces", "move", "quiet"),
    [
        (SNAKES, "c4-c5", 51),
        (f"{SNAKES} c6t3", "c4-c5", 51),
        (f"{SNAKES} c5t3", "c4-c5", 0),
        (SNAKES, "a2-a3=egg", 0),
    ],
)
def test_captures_and_nest_moves_are_progress(pieces: str, move: str, quiet: int) -> None:
    assert after(at(pieces, quiet=50), move).quiet == quiet


# Handicap


def test_blue_makes_its_handicap_moves_before_yellow() -> None:
    game = Pondlife(handicap=2)
    position = game.initial()
    assert (position.turn, position.handicap) == (2, 2)
    position = after(position, "a5-a4", game=game)
    assert (position.turn, position.handicap) == (2, 1)
    position = after(position, "a4-a3", game=game)
    assert (position.turn, position.handicap) == (1, 0)


def test_handicap_moves_do_not_capture() -> None:
    position = at("a2N i2n g4s g6T0", turn=2, handicap=1)
    assert "g6" not in goals(position, "g4")
    illegal(position, "g4-g6", "handicap moves do not capture")
    assert "g6" in goals(at("a2N i2n g4s g6T0", turn=2), "g4")


def test_handicap_moves_may_attack_and_yellow_answers_after_the_last() -> None:
    position = after(at("a2N i2n g4s b1T0", turn=2, handicap=2, eggs="0 1"), "g4-c2", "i2-i3=egg")
    assert set(GAME.moves(position)) == {"b1-b2", "b1-c2"}


def test_a_handicap_without_a_legal_move_is_over_and_the_text_says_so() -> None:
    blocked = at("a5N e1n e2t3 d1T0 f1T0", turn=2, handicap=4, eggs="1 0")
    assert (blocked.turn, blocked.handicap, blocked.outcome) == (1, 0, None)
    assert GAME.text(blocked).endswith(" 0 0")
    # Also after a handicap move: the tadpole reaches the edge.
    position = after(at("a5N i1n e2t3", turn=2, handicap=4, eggs="1 0"), "e2-e1")
    assert (position.turn, position.handicap, position.outcome) == (1, 0, None)


def test_a_handicap_that_is_over_can_end_the_game() -> None:
    assert at("a5N i1n e1t3", turn=2, handicap=4, eggs="0 0").outcome == Outcome(2, "no_moves")


def test_yellows_nest_may_be_attacked_while_handicap_moves_are_left() -> None:
    assert at("a2N i2n a5s", turn=2, handicap=1).handicap == 1
    assert refused(at, "a2N i2n i5S", GAME).reason == Reason.POSITION_MALFORMED


# Parameters


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("pondlife(without=none)", "pondlife"),
        ("pondlife(eel=false,lines=2,handicap=0)", "pondlife"),
        ("pondlife(without=FFH,eel=true)", "pondlife(eel=true,without=FFH)"),
        ("pondlife(without=FFFWWSDEH,eel=true)", "pondlife(eel=true,without=FFFWWSDEH)"),
        ("pondlife(handicap=9,lines=3)", "pondlife(lines=3,handicap=9)"),
    ],
)
def test_variants_have_one_name(given: str, canonical: str) -> None:
    assert registry.game(given).variant == canonical


@pytest.mark.parametrize(
    "parameters",
    [
        *("without=", "without=FFFF", "without=WF", "without=E", "without=T", "without=f", "without=None"),
        *("lines=1", "lines=4", "handicap=10", "handicap=-1", "handicap=01", "eel=1", "eel=True"),
    ],
)
def test_parameters_out_of_bounds_are_refused(parameters: str) -> None:
    assert refused(registry.game, f"pondlife({parameters})").reason == Reason.PARAMETER_INVALID


def test_unhatched_pieces_follow_from_the_parameters() -> None:
    assert GAME.text(GAME.initial()) == f"{START} 1 FFFWWSDH FFFWWSDH 7 8 0 0 0 0"
    game = registry.game("pondlife(eel=true,handicap=3,without=FWSH)")
    assert game.text(game.initial()) == f"{START} 2 FFWDE FFFWWSDEH 7 8 0 0 0 3"
    assert registry.game("pondlife(without=FFFWWSDH)").initial().armies[0].unhatched == ""


def test_random_games_stay_far_within_the_bound() -> None:
    assert GAME.bound == 120 * (15 + 16 + 16 + 16 + 1)
    assert Pondlife(eel=True, without="FF").bound == 120 * (15 + 16 + 16 + 16 + 1)


# Notation


@pytest.mark.parametrize(
    "move",
    [
        *("", "e1", "e1e2", "e1-e2 ", "E1-E2", "e1-e2=", "e1-e2=T0", "e1-e2=F2", "e1-e2=F5", "e1-e2=W6", "e1-e2=S0"),
        *("e1-e2=f3", "e1-e2=N", "e1-e2=EGG", "a6-a5", "e0-e1", "j1-i1", "e1-e10", "e1-e2\n", "e1-e٢", "x" * 9999),
    ],
)
def test_malformed_moves_are_refused(move: str) -> None:
    assert refused(GAME.play, GAME.initial(), move).reason == Reason.MOVE_MALFORMED


@pytest.mark.parametrize(
    ("move", "why"),
    [
        ("e2-e3", "no piece of seat 1 stands on e2"),
        ("e9-e8=egg", "no piece of seat 1 stands on e9"),
        ("e1-e1", "does not move like that"),
        ("e1-e3=egg", "does not move like that"),
        ("e1-e2", "must leave a hatched piece or pay an egg"),
        ("e1-e2=H", "H may not be hatched now"),
        ("e1-e2=E0", "E0 may not be hatched now"),
        ("e1-d1=egg", "a piece of the same player"),
        ("a1-a2=egg", "a tadpole leaves nothing behind"),
        ("a1-a2=F3", "a tadpole leaves nothing behind"),
    ],
)
def test_illegal_moves_are_refused_with_a_reason(move: str, why: str) -> None:
    illegal(GAME.initial(), move, why)


FIELDS = "1 FFFWWSDH FFFWWSDH 7 8 0 0 0 0"


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        ("", "the fields"),
        (f"{START} {FIELDS} ", "the fields"),
        (f" {START} {FIELDS}", "the fields"),
        (f"{START}  {FIELDS}", "the fields"),
        (f"{START} {FIELDS} 0", "the fields"),
        (f"{START} {FIELDS}".replace(" ", "\t", 1), "the fields"),
        (f"{START}/. {FIELDS}", "the board"),
        (f"{START[:-9]} {FIELDS}", "the board"),
        (f"{START.replace('t3...T0', 't3..T0', 1)} {FIELDS}", "file a of the board"),
        (f"{START.replace('t3....T0', 't3.....T0', 1)} {FIELDS}", "file b of the board"),
        (f"{START.replace('t3...T0', 't6...T0', 1)} {FIELDS}", "file a of the board"),
        (f"{START.replace('t3...T0', 't...T0', 1)} {FIELDS}", "file a of the board"),
        (f"{START.replace('t3...T0', 't3...f2', 1)} {FIELDS}", "file a of the board"),
        (f"{START.replace('t3...T0', 't3...H0', 1)} {FIELDS}", "file a of the board"),
        (f"{START.replace('t3...T0', 't3...t٣', 1)} {FIELDS}", "file a of the board"),
        (f"{START.replace('t3...T0', 't3...', 1)} {FIELDS}", "file a of the board"),
        (f"{START.replace('N', '.')} {FIELDS}", "the nests of seat 1"),
        (f"{START.replace('t3...T0', 'n...T0', 1)} {FIELDS}", "the nests of seat 2"),
        (f"{START} 3 {FIELDS[2:]}", "the seat to move"),
        (f"{START} 01 {FIELDS[2:]}", "the seat to move"),
        (f"{START} 1 WF - 7 8 0 0 0 0", "the unhatched pieces of seat 1"),
        (f"{START} 1 F- - 7 8 0 0 0 0", "the unhatched pieces of seat 1"),
        (f"{START} 1 - f 7 8 0 0 0 0", "the unhatched pieces of seat 2"),
        (f"{START} 1 - T 7 8 0 0 0 0", "the unhatched pieces of seat 2"),
        (f"{START} 1 - - 07 8 0 0 0 0", "the eggs of seat 1"),
        (f"{START} 1 - - 7 ٨ 0 0 0 0", "the eggs of seat 2"),
        (f"{START} 1 - - 7 8 -1 0 0 0", "the pieces hatched by seat 1"),
        (f"{START} 1 - - 7 8 0 +0 0 0", "the pieces hatched by seat 2"),
        (f"{START} 1 - - 7 8 0 0 1234567890 0", "the plies without capture or nest move"),
        (f"{START} 1 - - 7 8 0 0 0 1\n", "the handicap moves left"),
        (f"{START} 1 - - 7 8 0 0 0 1", "the handicap moves left"),
        (text("a2N i2n i5S"), "the nest of seat 2"),
        (text("a2N i2n a5s", turn=2), "the nest of seat 1"),
        (text("e5N e6n"), "the nest of seat 2"),
        (text("e9N e1n h1S", turn=2, handicap=4, eggs="1 0"), "the nest of seat 2"),
        (f"{START} 1 {'F' * 1000} - 7 8 0 0 0 0", "the length"),
    ],
)
def test_malformed_positions_are_refused_with_a_place(bad: str, where: str) -> None:
    refusal = refused(GAME.parse, bad)
    assert refusal.reason == Reason.POSITION_MALFORMED
    assert refusal.facts["where"] == where


def test_a_position_need_not_be_reachable() -> None:
    odd = text("a2N i2n e5E0", off="FFFFFFFFFF EEH", eggs="999999999 0", hatched="999999999 7", quiet=3)
    position = GAME.parse(odd)
    assert GAME.text(position) == odd
    assert GAME.parse(GAME.text(after(position, "a2-a3=F3"))).armies[0].hatched == 999_999_999


def test_pieces_are_shown_in_the_order_of_the_cells() -> None:
    pieces = dict(zip(BOARD.names, GAME.pieces(at("a2N i2n e5f4 c3W5 d1s")), strict=True))
    shown = {name: piece for name, piece in pieces.items() if piece.owner}
    assert shown == {
        "a2": Piece(1, "N"),
        "i2": Piece(2, "N"),
        "e5": Piece(2, "F", 4),
        "c3": Piece(1, "W", 5),
        "d1": Piece(2, "S"),
    }
    assert pieces["a1"] == Piece(0, "")


def test_steps_show_arrivals_hatched_pieces_and_paid_eggs() -> None:
    position = at("a2N i2n e5F3", off="W -")
    assert GAME.steps(position, "e5-e7") == [Step("move", "e5", "e7", "F", 4)]
    assert GAME.steps(position, "a2-a3=egg") == [Step("move", "a2", "a3", "N"), Step("pay", "", "a3", "N")]
    assert GAME.steps(position, "a2-a3=W5") == [Step("move", "a2", "a3", "N"), Step("hatch", "", "a2", "W", 5)]
    assert refused(GAME.steps, position, "a2").reason == Reason.MOVE_MALFORMED
    assert refused(GAME.steps, position, "b2-b3").reason == Reason.MOVE_ILLEGAL


def test_counters_show_the_reserve() -> None:
    counters = GAME.counters(GAME.initial())
    assert counters["Yellow eggs"] == 7
    assert counters["Blue eggs"] == 8
    assert counters["Yellow frogs to hatch"] == 3
    assert counters["Blue fish to hatch"] == 1
    assert counters["plies without progress"] == 0


# Against the reference, and against itself with the seats exchanged


def random_text(rng: Random) -> str:
    """Draw a position: few or many pieces, odd counters, sometimes with handicap moves left."""
    cells = list(BOARD.names)
    rng.shuffle(cells)
    words = [f"{cells.pop()}N", f"{cells.pop()}n"]
    for _ in range(rng.randrange(rng.choice((4, 10, 25, 45)))):
        letter = rng.choice("TTTFFWWSDEH")
        word = letter + {"F": rng.choice("34"), "S": "", "H": ""}.get(letter, str(rng.randrange(6)))
        words.append(cells.pop() + rng.choice((word, word.lower())))
    off = ["".join(letter * rng.choice((0, 0, 1, 2)) for letter in "FWSDEH") or "-" for _ in range(2)]
    turn = rng.choice((1, 2))
    return text(
        " ".join(words),
        turn=turn,
        off=" ".join(off if rng.random() < 0.5 else ("-", "-")),
        eggs=f"{rng.choice((0, 0, 1, 3))} {rng.choice((0, 0, 1, 3))}",
        hatched=f"{rng.choice((0, 3, 4, 5))} {rng.choice((0, 3, 4, 5))}",
        quiet=rng.choice((0, 0, 58, 59, 118, 119, 120)),
        handicap=rng.choice((0, 0, 1, 3)) if turn == 2 else 0,
    )


def compare(
    game: Pondlife,
    naive: reference.Reference,
    position: PondlifePosition,
    state: reference.State,
    rng: Random,
    plies: int,
) -> None:
    """Play on in both, and compare text, moves and outcome after every ply."""
    for _ in range(plies):
        assert game.text(position) == naive.text(state)
        moves = game.moves(position)
        assert len(moves) == len(set(moves))
        assert set(moves) == naive.moves(state), game.text(position)
        assert str(position.outcome or "none") == naive.outcome(state), game.text(position)
        if not moves:
            return
        move = rng.choice(moves)
        position, state = game.play(position, move), naive.play(state, move)


@pytest.mark.long
@pytest.mark.parametrize("values", VARIANTS, ids=str)
def test_games_agree_with_the_reference(values: dict[str, Any]) -> None:
    rng = Random(11)
    game, naive = Pondlife(**values), reference.Reference(**values)
    compare(game, naive, game.initial(), naive.initial(), rng, 30)


@pytest.mark.long
@pytest.mark.parametrize("values", VARIANTS[:3], ids=str)
def test_random_positions_agree_with_the_reference(values: dict[str, Any]) -> None:
    rng = Random(12)
    game, naive = Pondlife(**values), reference.Reference(**values)
    seen: Counter[str] = Counter()
    for _ in range(40):
        line = random_text(rng)
        try:
            state = naive.parse(line)
        except ValueError:
            assert refused(game.parse, line).reason == Reason.POSITION_MALFORMED
            seen["malformed"] += 1
            continue
        compare(game, naive, game.parse(line), state, rng, 2)
        seen["read"] += 1
    assert min(seen["malformed"], seen["read"]) > 5


@pytest.mark.long
def test_games_that_go_back_and_forth_agree_with_the_reference() -> None:
    """Seats take back their moves when they can, so that boards repeat all the time."""
    rng = Random(14)
    naive = reference.Reference()
    forbidden = 0
    while forbidden < 10:
        words = [f"{cell}{piece}" for cell, piece in zip(rng.sample(BOARD.names, 7), "NnSsHhF", strict=True)]
        line = text(" ".join(words).replace("F", "F3"), off="- S", eggs="2 2")
        try:
            position, state = GAME.parse(line), naive.parse(line)
        except Refusal:
            continue
        last = {1: "", 2: ""}
        for _ in range(20):
            moves = GAME.moves(position)
            assert set(moves) == naive.moves(state)
            if not moves:
                break
            forbidden += set(GAME.moves(GAME.parse(GAME.text(position)))) > set(moves)
            back = "-".join(reversed(last[position.turn].split("-")))
            move = back if back in moves else rng.choice([move for move in moves if "=" not in move] or moves)
            last[position.turn] = move
            position, state = GAME.play(position, move), naive.play(state, move)


def swap_cell(cell: str) -> str:
    file = "abcdefghi".index(cell[0])
    return f"{'abcdefghi'[8 - file]}{10 - abs(4 - file) - int(cell[1])}"


def swap_word(word: str) -> str:
    turned = word[0].swapcase()
    return turned + (word[1:] if word[0] in "Ff" else str((int(word[1]) + 3) % 6)) if word[1:] else turned


def swap_move(move: str) -> str:
    cells, equals, word = move.partition("=")
    source, target = cells.split("-")
    left = word if word == "egg" else swap_word(word).swapcase() if word else ""
    return f"{swap_cell(source)}-{swap_cell(target)}{equals}{left}"


def swap_text(line: str) -> str:
    """Return the same position with the board rotated by half a turn and the seats exchanged."""
    _, turn, off_1, off_2, eggs_1, eggs_2, hatched_1, hatched_2, quiet, handicap = line.split(" ")
    assert handicap == "0"
    pieces = zip(BOARD.names, GAME.pieces(GAME.parse(line)), strict=True)
    words = {
        name: swap_word((p.letter if p.owner == 1 else p.letter.lower()) + (str(p.facing) if p.facing >= 0 else ""))
        for name, p in pieces
        if p.owner
    }
    return text(
        " ".join(swap_cell(name) + word for name, word in words.items()),
        turn=3 - int(turn),
        off=f"{off_2} {off_1}",
        eggs=f"{eggs_2} {eggs_1}",
        hatched=f"{hatched_2} {hatched_1}",
        quiet=quiet,
    )


def test_both_seats_are_judged_alike() -> None:
    rng = Random(13)
    compared: Counter[str | None] = Counter()
    while compared.total() < 150:
        line = random_text(rng)
        try:
            position = GAME.parse(line)
        except Refusal:
            continue
        if position.handicap:
            continue
        swapped = GAME.parse(swap_text(GAME.text(position)))
        assert {swap_move(move) for move in GAME.moves(position)} == set(GAME.moves(swapped))
        expected = position.outcome and position.outcome._replace(winner=(0, 2, 1)[position.outcome.winner])
        assert swapped.outcome == expected
        compared[position.outcome and position.outcome.reason] += 1
    assert set(compared) == {None, "nest_trapped", "no_moves", "sixty_moves"}


def test_an_attacked_nest_is_threatened() -> None:
    game, lots, seen = Pondlife(handicap=3), Random(3), 0
    rules = reference.Reference(handicap=3)
    for _ in range(6):
        position = game.initial()
        while moves := game.moves(position):
            position = game.play(position, lots.choice(moves))
            state = rules.parse(game.text(position))
            attacked = rules.attacked(state, state.board, position.turn)
            regions = game.regions(position)
            assert [region.owner for region in regions] == [position.turn] * attacked
            assert all(game.pieces(position)[cell].letter.upper() == "N" for region in regions for cell in region.cells)
            seen += attacked
    assert seen
