"""Hop It!: the rules one by one, and the engine compared with the reference."""

from __future__ import annotations

import random
from random import Random

import pytest

from arbiter.errors import Reason
from arbiter.games.contract import Piece, Step
from arbiter.games.hop_it import LONGEST_MOVE, LONGEST_TEXT, HopIt, HopPosition
from tests.games import reference_hop_it as reference
from tests.refusals import refused

EMPTY = "_...._/_....._/_...._/_....._/_...._/_....._/_...._"
START = "_ffff_/_ttttt_/_...._/_....._/_...._/_TTTTT_/_FFFF_ 1 0"
GAME = HopIt()
FREE = HopIt(duty="none")
BOARD = GAME.board


def text(pieces: str, turn: int = 1, quiet: int = 0) -> str:
    """Return the text of a position with pieces given like `Fd3 ta2`."""
    signs = {item[1:]: item[0] for item in pieces.split()}
    empty = {name: "_" if name in reference.LILIES else "." for name in BOARD.names}
    rows = "/".join("".join({**empty, **signs}[BOARD.names[cell]] for cell in line) for line in BOARD.lines)
    return f"{rows} {turn} {quiet}"


def at(pieces: str, turn: int = 1, quiet: int = 0, game: HopIt = GAME) -> HopPosition:
    return game.parse(text(pieces, turn, quiet))


def played(pieces: str, *moves: str, game: HopIt = GAME, turn: int = 1, quiet: int = 0) -> HopPosition:
    position = at(pieces, turn, quiet, game)
    for move in moves:
        position = game.play(position, move)
    return position


def swap(position_text: str) -> str:
    """Return the same position with the seats exchanged and the board upside down."""
    rows, turn, quiet = position_text.split(" ")
    return f"{'/'.join(reversed(rows.split('/'))).swapcase()} {3 - int(turn)} {quiet}"


def swap_move(move: str) -> str:
    return move if move == "pass" else "".join(dict(zip("abcdefg", "gfedcba", strict=True)).get(c, c) for c in move)


# The pond and the start


def test_forty_five_cells_with_fourteen_lilies() -> None:
    pieces = GAME.pieces(GAME.parse(f"{EMPTY} 1 0"))
    assert len(pieces) == 45
    assert {BOARD.names[cell] for cell, piece in enumerate(pieces) if piece.mark == "lily"} == reference.LILIES
    assert len(reference.LILIES) == 14


def test_neighbours_agree_with_the_coordinates_of_the_rule_sheet() -> None:
    for cell, name in enumerate(BOARD.names):
        around = [reference.step(name, direction) for direction in reference.DIRECTIONS]
        assert {BOARD.names[other] for other in BOARD.adjacent(cell)} == {other for other in around if other}


@pytest.mark.parametrize(
    ("start", "expected", "bound"),
    [
        ("frogs-behind", START, 2500),
        ("frogs-ahead", "_tttt_/_fffff_/_...._/_....._/_...._/_FFFFF_/_TTTT_ 1 0", 2300),
        ("frogs", "_ffff_/_fffff_/_...._/_....._/_...._/_FFFFF_/_FFFF_ 1 0", 1500),
    ],
)
def test_starts(start: str, expected: str, bound: int) -> None:
    game = HopIt(start=start)
    assert game.text(game.initial()) == expected
    assert game.bound == bound


# Swims and hops


def test_any_piece_swims_to_empty_water_and_never_to_a_lily() -> None:
    moves = set(GAME.moves(at("Tb2 Fe2 fg4 fg5")))
    assert {move for move in moves if move.startswith("b2")} == {"b2-a2", "b2-b3", "b2-c2"}
    assert {move for move in moves if move.startswith("e2")} == {"e2-e3", "e2-d2", "e2-d3", "e2-f2", "e2-f3"}
    refusal = refused(GAME.play, at("Tb2 Fe2 fg4 fg5"), "b2-b1")
    assert refusal.reason is Reason.MOVE_ILLEGAL
    assert "no water cell" in refusal.message


def test_a_frog_hops_onto_a_lily_and_leaves_it_by_swimming() -> None:
    after = played("Fa3 Fa2 Fe4 fg4 fg5", "a3xa1", "g4-g3", "a1-b2")
    assert GAME.text(after) == text("Fb2 Fa2 Fe4 fg3 fg5", turn=2, quiet=3)


def test_tadpoles_do_not_hop() -> None:
    position = at("Tb2 Tb3 Td4 fg4 fg5")
    assert refused(GAME.play, position, "b2xb4").reason is Reason.MOVE_ILLEGAL
    assert not [move for move in GAME.moves(position) if "x" in move]


@pytest.mark.parametrize(("tadpole", "frog"), [("Tb3", "Fb3"), ("tb3", "fb3")])
def test_a_tadpole_of_either_colour_matures_when_hopped_over(tadpole: str, frog: str) -> None:
    after = played(f"Fb2 {tadpole} Fe3 fg4 fg5", "b2xb4", quiet=40)
    assert GAME.text(after) == text(f"Fb4 {frog} Fe3 fg4 fg5", turn=2)


def test_an_enemy_frog_leaves_and_an_own_frog_is_unharmed() -> None:
    after = played("Fb2 fb3 Fb5 Fe3 fg4 fg5", "b2xb4xb6", quiet=40)
    assert GAME.text(after) == text("Fb6 Fb5 Fe3 fg4 fg5", turn=2)


def test_a_frog_may_stop_after_any_hop() -> None:
    moves = set(GAME.moves(at("Fb2 Tb3 Tb5 fg4 fg5")))
    assert {"b2xb4", "b2xb4xb6"} <= moves


def test_no_piece_is_hopped_over_twice() -> None:
    position = at("Fb2 Tb3 Te3 fg4 fg5")
    refusal = refused(GAME.play, position, "b2xb4xb2")
    assert refusal.reason is Reason.MOVE_ILLEGAL
    assert "before" in refusal.message


def test_an_enemy_frog_that_left_can_not_be_hopped_over_again() -> None:
    position = at("Fb2 fb3 Te3 fg4 fg5")
    refusal = refused(GAME.play, position, "b2xb4xb2")
    assert "before" in refusal.message


def test_a_round_trip_ends_on_the_cell_that_it_began_on() -> None:
    position = at("Fc3 Fc4 Fd5 Fd4 fg4 fg5")
    move = next(move for move in GAME.moves(position) if move.startswith("c3x") and move.endswith("xc3"))
    after = GAME.play(position, move)
    assert GAME.text(after) == text("Fc3 Fc4 Fd5 Fd4 fg4 fg5", turn=2, quiet=1)


# Duty


DUTY = "Fb2 tb3 Fd3 Fe4 fg4 fg5"


def test_the_duty_binds_the_player() -> None:
    position = at(DUTY)
    assert set(GAME.moves(position)) == {"b2xb4"}
    refusal = refused(GAME.play, position, "d3-d4")
    assert refusal.reason is Reason.MOVE_ILLEGAL
    assert "enemy" in refusal.message


def test_the_duty_binds_only_the_frog_that_can_fulfil_it() -> None:
    game = HopIt(duty="frog")
    position = at(DUTY, game=game)
    moves = set(game.moves(position))
    assert {move for move in moves if move.startswith("b2")} == {"b2xb4"}
    assert "d3-d4" in moves
    assert refused(game.play, position, "b2-a2").reason is Reason.MOVE_ILLEGAL
    assert game.play(position, "d3-d4").outcome is None


def test_without_duty_nothing_is_forced() -> None:
    moves = set(FREE.moves(at(DUTY, game=FREE)))
    assert {"b2xb4", "b2-a2", "d3-d4"} <= moves


def test_the_duty_looks_along_paths_of_several_hops() -> None:
    # b2 hops over its own b3 first, and only then, from b4, over the enemy on b5.
    position = at("Fb2 Tb3 tb5 Fe4 fg4 fg5")
    assert set(GAME.moves(position)) == {"b2xb4xb6"}
    assert refused(GAME.play, position, "b2xb4").reason is Reason.MOVE_ILLEGAL
    assert refused(GAME.play, position, "e4-e3").reason is Reason.MOVE_ILLEGAL


def test_an_enemy_with_no_cell_behind_it_binds_nobody() -> None:
    assert "d3-d4" in GAME.moves(at("Fb2 tb3 Fb4 Fd3 Fe4 fg4 fg5"))


# Lilies


def test_a_frog_that_stays_on_a_lily_is_removed() -> None:
    assert GAME.text(played("Fa1 Fd3 Fe4 fg4 fg5", "d3-d4", quiet=9)) == text("Fd4 Fe4 fg4 fg5", turn=2)


def test_only_frogs_of_the_mover_are_removed() -> None:
    assert GAME.text(played("fa1 Fd3 Fe4 fg4 fg5", "d3-d4")) == text("fa1 Fd4 Fe4 fg4 fg5", turn=2, quiet=1)


def test_a_frog_that_hopped_onto_a_lily_this_turn_stays() -> None:
    after = played("Fb3 Fb2 Fe4 fg4 fg5", "b3xb1")
    assert GAME.text(after) == text("Fb1 Fb2 Fe4 fg4 fg5", turn=2, quiet=1)


def test_a_frog_back_on_the_same_lily_has_moved() -> None:
    position = at("Fd1 Fd2 Fe2 Fe1 Fc4 fg4 fg5", game=FREE)
    move = next(move for move in FREE.moves(position) if move.startswith("d1x") and move.endswith("xd1"))
    after = FREE.play(position, move)
    assert FREE.pieces(after)[BOARD.index["d1"]] == Piece(1, "F", mark="lily")
    assert FREE.pieces(after)[BOARD.index["e1"]] == Piece(0, "", mark="lily")


def test_the_lily_rule_can_lose_the_game() -> None:
    after = played("Fa1 Fd3 fg4 fg5", "d3-d4")
    assert str(after.outcome) == "2 extinction"


# Pass


BLOCKED = "Ta2 Ta3 Ta4 Ta5 tb2 tb3 tb4 tb5 tb6 fg4"


def test_a_player_with_no_other_move_passes() -> None:
    position = at(BLOCKED)
    assert list(GAME.moves(position)) == ["pass"]
    after = GAME.play(position, "pass")
    assert GAME.text(after) == text(BLOCKED, turn=2, quiet=1)
    assert GAME.steps(position, "pass") == [Step("pass", "", "")]


def test_pass_is_illegal_while_there_is_a_move() -> None:
    assert refused(GAME.play, GAME.initial(), "pass").reason is Reason.MOVE_ILLEGAL


def test_the_lily_rule_applies_to_a_pass() -> None:
    # The frog on a1 can't leave: b1 is a lily, a2 and b2 are occupied, and so are the cells behind those.
    pieces = "Fa1 Ta2 Ta3 Ta4 Ta5 tb2 tb3 tb4 tb5 tb6 tc2 fg4"
    position = at(pieces)
    assert list(GAME.moves(position)) == ["pass"]
    assert GAME.text(GAME.play(position, "pass")) == text(pieces.replace("Fa1 ", ""), turn=2)


# The end


def test_extinction_ends_the_move_at_once() -> None:
    # The second hop leaves one enemy; a third hop, over the own tadpole on c5, would be possible.
    pieces = "Fb2 fb3 fb5 Tc5 tg4 Ta5 Fa1"
    position = at(pieces)
    assert "b2xb4xb6" in GAME.moves(position)
    after = GAME.play(position, "b2xb4xb6")
    assert str(after.outcome) == "1 extinction"
    # The lily rule is not applied: the frog on a1 is still on the board.
    assert GAME.text(after) == text("Fb6 Tc5 tg4 Ta5 Fa1", turn=2)
    refusal = refused(GAME.play, position, "b2xb4xb6xd5")
    assert "no further" in refusal.message
    assert not [move for move in GAME.moves(position) if move.startswith("b2xb4xb6x")]


def test_the_same_path_goes_on_when_enough_enemies_are_left() -> None:
    position = at("Fb2 fb3 fb5 Tc5 tg4 tg3 Ta5 Fa1")
    assert "b2xb4xb6xd5" in GAME.moves(position)


def test_hops_over_tadpoles_alone_do_not_end_the_game() -> None:
    assert played("Fb2 tb3 Fe4 tg4", "b2xb4").outcome is None


@pytest.mark.parametrize(
    ("pieces", "turn", "outcome"),
    [
        ("Fd3 Fd4 fg4", 1, "1 extinction"),  # the last mover has one piece left: after the lily rule, the opponent wins
        ("Fd3 Fd4 fg4", 2, "1 extinction"),  # the seat to move has one piece left: the last mover wins
        ("Fd3 fg4", 1, "2 extinction"),  # both: the last mover is tested first
        ("Fd3 fg4", 2, "1 extinction"),
        ("Fd3 Fd4", 1, "1 extinction"),
        ("", 1, "2 extinction"),
        ("Ta2 Ta3 tg2 tg3", 1, None),
    ],
)
def test_the_outcome_of_a_position_from_text(pieces: str, turn: int, outcome: str | None) -> None:
    position = at(pieces, turn)
    assert (str(position.outcome) if position.outcome else None) == outcome
    assert (len(GAME.moves(position)) == 0) is (outcome is not None)


def full_board(turn: int = 1, quiet: int = 0) -> str:
    """Return a position with tadpoles on all water and nothing on the lilies: nobody has a move."""
    rows = "/".join(
        "".join("_" if BOARD.names[c] in reference.LILIES else "T" if BOARD.names[c] < "d" else "t" for c in line)
        for line in BOARD.lines
    )
    return f"{rows} {turn} {quiet}"


def test_neither_player_has_a_move() -> None:
    for turn in (1, 2):
        position = GAME.parse(full_board(turn, quiet=100))
        assert str(position.outcome) == "draw blocked"
        assert refused(GAME.play, position, "pass").reason is Reason.MOVE_ILLEGAL


def test_the_third_occurrence_of_a_board_is_a_draw() -> None:
    position = GAME.initial()
    shuffle = ["b4-c3", "f4-e3", "c3-b4", "e3-f4"]
    for move in shuffle + shuffle[:-1]:
        position = GAME.play(position, move)
        assert position.outcome is None
    position = GAME.play(position, shuffle[-1])
    assert str(position.outcome) == "draw repetition"
    assert position.quiet == 8
    assert GAME.parse(GAME.text(position)).outcome is None  # a text has no history


def test_the_same_board_with_the_other_player_to_move_is_another_position() -> None:
    # White passes each time, so boards occur with either player to move.
    position = at(BLOCKED + " fg3")
    seen = [GAME.text(position)[:-2]]
    while position.outcome is None:
        move = "pass" if position.turn == 1 else "g4-f4" if "g4-f4" in GAME.moves(position) else "f4-g4"
        position = GAME.play(position, move)
        seen.append(GAME.text(position).rsplit(" ", 1)[0])
    assert str(position.outcome) == "draw repetition"
    assert seen.count(seen[-1]) == 3
    assert sum(board[:-2] == seen[-1][:-2] for board in seen) > 3


def test_one_hundred_plies_without_progress_are_a_draw() -> None:
    assert played("Fd3 Fd4 fg4 fg5", "d3-c2", quiet=98).outcome is None
    assert str(played("Fd3 Fd4 fg4 fg5", "d3-c2", quiet=99).outcome) == "draw no_progress"
    assert str(at("Fd3 Fd4 fg4 fg5", quiet=100).outcome) == "draw no_progress"
    assert str(at("Fd3 Fd4 fg4 fg5", quiet=999_999_999).outcome) == "draw no_progress"
    after = played("Fd3 Td4 Fd6 fg4 fg5", "d3xd5", quiet=99)
    assert (after.outcome, after.quiet) == (None, 0)


def test_repetition_is_tested_before_no_progress() -> None:
    position = at("Fd3 Fd4 fg3 fg5", quiet=92)
    for move in ["d3-c2", "g3-g4", "c2-d3", "g4-g3"] * 2:
        position = GAME.play(position, move)
    assert (str(position.outcome), position.quiet) == ("draw repetition", 100)


def test_nothing_is_legal_after_the_end() -> None:
    position = at("Fd3 Fd4 fg4")
    refusal = refused(GAME.play, position, "d3-c2")
    assert refusal.reason is Reason.MOVE_ILLEGAL
    assert "over" in refusal.message


# Notation


@pytest.mark.parametrize(
    "move",
    [
        "", "b2", "b2-", "b2-c2 ", " b2-c2", "b2-c2-d2", "B2-C2", "b2xc3-d4", "b2-c2xd3", "b2x", "xb2", "b2xx", "Pass",
        "pass pass", "a7-b7", "a0-a1", "h1-g1", "b2—c2", "b٢-c2", "b2-c2\n", "b2xb4\n", "e10-e11",
        "b2" + "xb4xb2" * 30, "x" * 1_000_000,
    ],
)  # fmt: skip
def test_malformed_moves(move: str) -> None:
    assert refused(GAME.play, GAME.initial(), move).reason is Reason.MOVE_MALFORMED
    assert refused(GAME.steps, GAME.initial(), move).reason is Reason.MOVE_MALFORMED


@pytest.mark.parametrize(
    ("move", "why"),
    [
        ("b2-g5", "no water cell"),
        ("b2-b2", "no water cell"),
        ("b2-b3", "not empty"),
        ("c3-d3", "no piece"),
        ("f2-e2", "no piece"),
        ("b2xb4", "no frog"),
        ("g2xg4", "no frog"),
        ("c3xc5", "no frog"),
        ("a2xa3", "straight line"),
        ("a2xd3", "straight line"),
        ("a2xa4", "not empty"),
        ("a2xc3xe4", "is empty"),
        ("a2xc3xa2", "before"),
    ],
)
def test_an_illegal_move_is_refused_with_the_reason(move: str, why: str) -> None:
    refusal = refused(GAME.play, GAME.initial(), move)
    assert refusal.reason is Reason.MOVE_ILLEGAL
    assert why in refusal.message
    assert refusal.facts["position"] == START


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        ("", "fields"),
        (EMPTY, "fields"),
        (f"{EMPTY} 1", "fields"),
        (f"{EMPTY} 1 0 0", "fields"),
        (f"{EMPTY}  1 0", "fields"),
        (f"{EMPTY} 1 0 ", "fields"),
        (f" {EMPTY} 1 0", "fields"),
        (f"{EMPTY}\t1\t0", "fields"),
        (f"{EMPTY} 0 0", "seat to move"),
        (f"{EMPTY} 3 0", "seat to move"),
        (f"{EMPTY} ٢ 0", "seat to move"),
        (f"{EMPTY} w 0", "seat to move"),
        (f"{EMPTY} 1 00", "plies"),
        (f"{EMPTY} 1 05", "plies"),
        (f"{EMPTY} 1 -1", "plies"),
        (f"{EMPTY} 1 1234567890", "text"),
        (f"{EMPTY} 1 ٣", "plies"),
        (f"{EMPTY} 1 0\n", "plies"),
        (f"{EMPTY}_ 1 0", "row a"),
        (f"{EMPTY[1:]} 1 0", "row g"),
        (f"{EMPTY[7:]} 1 0", "board"),
        (f"{EMPTY}/ 1 0", "board"),
        (f"T{EMPTY[1:]} 1 0", "cell g1"),  # a tadpole on a lily
        (f"{EMPTY[:-1]}t 1 0", "cell a6"),
        (f".{EMPTY[1:]} 1 0", "cell g1"),  # a lily written as water
        (f"__{EMPTY[2:]} 1 0", "cell g2"),  # water written as a lily
        (f"_x{EMPTY[2:]} 1 0", "cell g2"),
        (f"_4{EMPTY[2:]} 1 0", "cell g2"),
        (f"{EMPTY} 1 0" + " " * 10_000, "text"),
        ("_" * 1_000_000, "text"),
    ],
)
def test_malformed_positions_are_refused_with_the_place(bad: str, where: str) -> None:
    refusal = refused(GAME.parse, bad)
    assert refusal.reason is Reason.POSITION_MALFORMED
    assert where in refusal.facts["where"]
    assert set(refusal.facts) == {"what", "where", "allowed"}


def test_the_longest_texts() -> None:
    longest = f"{EMPTY} 1 999999999"
    assert len(longest) == LONGEST_TEXT
    assert GAME.text(GAME.parse(longest)) == longest
    assert refused(GAME.play, GAME.initial(), "a2" + "xa4" * 44).reason is Reason.MOVE_ILLEGAL
    assert len("a2" + "xa4" * 44) == LONGEST_MOVE


def test_steps_pieces_and_counters() -> None:
    position = at("Fb2 tb3 Tb5 Fe4 fg4 fg5", quiet=7)
    assert GAME.steps(position, "b2xb4xb6") == [Step("hop", "b2", "b4", "F"), Step("hop", "b4", "b6", "F")]
    assert GAME.steps(position, "b5-c5") == [Step("move", "b5", "c5", "T")]
    pieces = dict(zip(BOARD.names, GAME.pieces(position), strict=True))
    assert pieces["b3"] == Piece(2, "t")
    assert pieces["b1"] == Piece(0, "", mark="lily")
    assert pieces["c3"] == Piece(0, "")
    assert GAME.counters(position) == {"plies without progress": 7}


# Hostile positions


CORNERS = {"b2", "b4", "b6", "d1", "d3", "d5", "d7", "f2", "f4", "f6"}  #: the cells that a frog on d3 can land on


@pytest.mark.parametrize("enemy", [False, True])
def test_one_move_among_very_many_is_judged_without_listing_them(enemy: bool) -> None:
    """Pieces between all cells where the frog on d3 can land: 228,079 paths, and single moves are judged at once."""
    between = [name for name in BOARD.names if name[0] in "bcdef" and name not in CORNERS]
    pieces = " ".join(("F" if name in reference.LILIES else "T") + name for name in between) + " Fd3 tg3 tg4"
    position = at(pieces.replace("Tf5", "tf5") if enemy else pieces)
    assert position.outcome is None
    assert GAME.parse(GAME.text(position)) == position
    assert GAME.play(position, "d3xd5xf4xf6xd5").turn == 2
    if enemy:  # the piece on f5, far from the frog, makes it hop
        assert refused(GAME.play, position, "d3xd5xf4").reason is Reason.MOVE_ILLEGAL
    else:
        assert GAME.play(position, "d3xd5xf4").turn == 2


# Comparison with the reference


def agree(game: HopIt, position: HopPosition, other: reference.Reference) -> None:
    assert game.text(position) == other.text()
    assert (str(position.outcome) if position.outcome else None) == other.outcome
    assert set(game.moves(position)) == other.moves()
    assert len(set(game.moves(position))) == len(game.moves(position))


def random_text(rng: Random) -> str:
    pieces = {}
    for cell in rng.sample(BOARD.names, rng.choice((2, 3, 4, 6, 8, 10, 14, 18, 43))):
        pieces[cell] = rng.choice("Ff" if cell in reference.LILIES else "TtFf")
    shown = " ".join(f"{piece}{cell}" for cell, piece in pieces.items())
    return text(shown, rng.choice((1, 2)), rng.choice((0, 0, 7, 98, 99, 100)))


@pytest.mark.long
@pytest.mark.parametrize("duty", ["player", "frog", "none"])
@pytest.mark.parametrize("start", ["frogs-behind", "frogs-ahead", "frogs"])
def test_random_games_agree_with_the_reference(duty: str, start: str) -> None:
    game = HopIt(duty=duty, start=start)
    rng = random.Random(f"{duty} {start}")
    for _ in range(2):
        position, plies = game.initial(), 0
        other = reference.from_text(game.text(position), duty)
        agree(game, position, other)
        while position.outcome is None:
            move = rng.choice(game.moves(position))
            position, other, plies = game.play(position, move), other.play(move), plies + 1
            agree(game, position, other)
        assert plies <= game.bound


@pytest.mark.long
@pytest.mark.parametrize("duty", ["player", "frog", "none"])
def test_random_set_positions_agree_with_the_reference(duty: str) -> None:
    game, rng = HopIt(duty=duty), random.Random(duty)
    tried = [f"{one}-{two}" for one in BOARD.names for two in BOARD.names if one != two]
    for _ in range(150):
        given = random_text(rng)
        position = game.parse(given)
        moves = game.moves(position)
        if len(moves) > 500:
            continue
        other = reference.from_text(given, duty)
        agree(game, position, other)
        assert game.parse(game.text(position)) == position
        for move in rng.sample(moves, min(3, len(moves))):
            agree(game, game.play(position, move), other.play(move))
        longer = [f"{move}x{rng.choice(BOARD.names)}" for move in moves if "x" in move][:5]
        guesses = [*rng.sample(tried, 20), *(move.replace("-", "x") for move in rng.sample(tried, 20)), *longer]
        for move in set(guesses) - set(moves):
            assert refused(game.play, position, move).reason is Reason.MOVE_ILLEGAL


def test_both_seats_are_treated_alike() -> None:
    rng = random.Random(3)
    for _ in range(200):
        given = random_text(rng)
        position, mirrored = GAME.parse(given), GAME.parse(swap(given))
        moves = GAME.moves(position)
        if len(moves) > 500:
            continue
        assert {swap_move(move) for move in moves} == set(GAME.moves(mirrored))
        for move in moves[:4]:
            after, other = GAME.play(position, move), GAME.play(mirrored, swap_move(move))
            assert swap(GAME.text(after)) == GAME.text(other)
            winners = [(end.winner, end.reason) if end else None for end in (after.outcome, other.outcome)]
            assert winners[0] == (winners[1] and ((3 - winners[1][0]) % 3, winners[1][1]))


# What is threatened


def threats(position: HopPosition, game: HopIt = GAME) -> dict[str, set[str]]:
    return {region.sign: {BOARD.names[cell] for cell in region.cells} for region in game.regions(position)}


def test_frogs_that_can_be_hopped_over_are_threatened() -> None:
    assert threats(at("Fa2 Tb2 fa3 fg3 Tg4")) == {"!": {"a3"}}  # a2 hops over a3 to a4
    assert threats(at("Fa2 Tb2 ta3 Tg4 tg3")) == {}  # a tadpole matures, and stays
    assert threats(at("Fa2 fa3 fa4 fg3 Tg4")) == {}  # a4 is not free
    assert threats(at("Fa2 ta3 fa5 fg3 Tg4")) == {"!": {"a5"}}  # by the second hop


def test_a_frog_behind_the_last_but_one_is_out_of_reach() -> None:
    # The hop over a3 leaves one enemy piece: then the game is over.
    assert threats(at("Fa2 fa3 fa5 Tg4")) == {"!": {"a3"}}
    assert threats(at("Fa2 fa3 fa5 tg2 Tg4")) == {"!": {"a3", "a5"}}


def test_own_frogs_on_lilies_have_to_move() -> None:
    assert threats(at("Fa1 Td3 fd5 ff4")) == {"?": {"a1"}}
    assert threats(at("Fa1 Td3 fd5 ff4", turn=2)) == {}


@pytest.mark.parametrize("duty", ["player", "frog", "none"])
@pytest.mark.parametrize("seed", range(4))
def test_threats_are_what_legal_moves_remove(seed: int, duty: str) -> None:
    game, lots = HopIt(duty=duty, start="frogs"), random.Random(seed)
    position = game.initial()
    for _ in range(60):
        moves = game.moves(position)
        if not moves:
            break
        found = threats(position, game)
        foe, before = 3 - position.turn, game.pieces(position)
        reached, stayed = set(), set()
        for move in moves if len(moves) < 2_000 else ():
            after = game.pieces(game.play(position, move))
            reached |= {
                name
                for name, was, now in zip(BOARD.names, before, after, strict=True)
                if was.owner == foe and now.owner != foe
            }
            stayed |= {
                name
                for name, was, now in zip(BOARD.names, before, after, strict=True)
                if was.owner == position.turn and was.mark == "lily" and now.owner == position.turn and name != move[:2]
            }
        if len(moves) < 2_000:
            assert found.get("!", set()) == reached, game.text(position)
            ended = {game.play(position, move).outcome for move in moves} - {None}
            assert not stayed or ended, game.text(position)
        position = game.play(position, lots.choice(moves))
