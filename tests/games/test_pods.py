"""Pods: the rules one by one, the grid, and the engine compared with the reference."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

import pytest

from arbiter.boards.hexes import hexagon_rows
from arbiter.errors import Reason, Refusal
from arbiter.games.contract import Basis, Outcome, Piece, Step
from arbiter.games.pods import Pods, PodsPosition
from arbiter.games.pods_grid import Six, exceeds, grid, plus_one, tally
from tests.games.reference_pods import Reference
from tests.refusals import refusing

GAMES = {size: Pods(size=size) for size in range(3, 11)}
GAME = GAMES[5]
CYCLE = ["a3-b2", "a2-b3", "b2-a3", "b3-a2"]  # on size 3, with a pod of seat 1 on a3 and one of seat 2 on a2
EMPTY_3 = ".../..../...../..../..."
PAIR = ".../..../...../..../.pP"
BLOCKED_3 = ".P./p..p/...../P..P/.p."


def text(first: str = "", second: str = "", turn: int = 1, plies: int = 9, size: int = 5) -> str:
    """Return the text of a position with pods of seat 1 and seat 2 on named cells."""
    board = hexagon_rows(size)
    signs = {**dict.fromkeys(first.split(), "P"), **dict.fromkeys(second.split(), "p")}
    rows = "/".join("".join(signs.get(board.names[cell], ".") for cell in line) for line in board.lines)
    return f"{rows} {turn} {plies}"


def at(first: str = "", second: str = "", turn: int = 1, plies: int = 9, size: int = 5) -> PodsPosition:
    return GAMES[size].parse(text(first, second, turn, plies, size))


def ends(position: PodsPosition, start: str, size: int = 5) -> set[str]:
    """Return the ends of the migrations from a cell, by name."""
    return {move.split("-")[1] for move in GAMES[size].moves(position) if move.startswith(f"{start}-")}


def placements(position: PodsPosition, size: int = 5) -> set[str]:
    return {move for move in GAMES[size].moves(position) if "-" not in move}


def refused(reason: Reason, call: Callable[..., Any], *arguments: PodsPosition | str) -> Refusal:
    with refusing(reason) as caught:
        call(*arguments)
    return caught.value


def line(game: Pods, position: PodsPosition, moves: list[str]) -> PodsPosition:
    for move in moves:
        position = game.play(position, move)
    return position


# Setup


def test_a_setup_pod_may_be_on_any_cell_without_a_pod_except_the_centre() -> None:
    for game in GAMES.values():
        start = game.initial()
        assert len(game.moves(start)) == game.board.size - 1
        centre = game.board.names[game.board.size // 2]
        assert centre not in game.moves(start)
        refused(Reason.MOVE_ILLEGAL, game.play, start, centre)
        second = game.play(start, "b1")
        assert len(game.moves(second)) == game.board.size - 2
        refused(Reason.MOVE_ILLEGAL, game.play, second, "b1")
        refused(Reason.MOVE_ILLEGAL, game.play, second, centre)


def test_no_pod_migrates_in_setup_and_no_end_is_tested() -> None:
    position = at("a1", turn=1, plies=5000)
    assert position.outcome is None
    assert len(GAME.moves(position)) == 59
    refused(Reason.MOVE_ILLEGAL, GAME.play, position, "a1-a2")


def test_in_setup_the_seat_of_the_text_places_whoever_owns_the_first_pod() -> None:
    both_of_one = GAME.play(at("a1", turn=1), "e2")
    assert both_of_one.outcome == Outcome(1, "territory")
    assert GAME.play(at("a1", turn=2), "e2").outcome is None


def test_a_text_may_put_the_first_pod_on_the_centre() -> None:
    assert len(GAME.moves(at("e5", turn=2))) == 60


def test_the_centre_is_an_ordinary_cell_after_setup() -> None:
    assert "e5" in placements(at("e4", "a1"))


# Placing


@pytest.mark.parametrize(
    ("friends", "enemies", "allowed"),
    [
        ("e4", "", True),
        ("", "e6", False),
        ("e4", "e6", False),
        ("e4 f5", "e6", True),
        ("e4 f5", "e6 d5", False),
        ("e4 f5 f6", "e6 d5 d4", False),
        ("e4 f5 f6 d4", "e6 d5", True),
        ("e4 f5 f6 d4 d5 e6", "", True),
    ],
)
def test_a_pod_is_placed_where_friends_outnumber_enemies(friends: str, enemies: str, allowed: bool) -> None:
    position = at(friends + " a1", enemies + " i1")
    assert ("e5" in placements(position)) is allowed
    mirrored = at(enemies + " i1", friends + " a1", turn=2)
    assert ("e5" in placements(mirrored)) is allowed
    if allowed:
        assert GAME.text(GAME.play(position, "e5")) == text(friends + " a1 e5", enemies + " i1", turn=2, plies=10)
    else:
        assert "outnumber" in refused(Reason.MOVE_ILLEGAL, GAME.play, position, "e5").message


def test_nothing_is_placed_on_a_pod() -> None:
    for cell in ("e4", "e6"):
        assert "not empty" in refused(Reason.MOVE_ILLEGAL, GAME.play, at("e4 a1", "e6 b1"), cell).message


# Migrating


def test_a_dive_needs_a_pod_of_either_colour_beside_it() -> None:
    assert ends(at("d3", "d4"), "d3") == {"c3", "c4", "d5", "e4", "e5"}
    assert ends(at("d3 d4", "i1"), "d3") == {"c3", "c4", "d5", "e4", "e5"}


def test_a_pod_with_no_pod_beside_it_does_not_migrate() -> None:
    assert ends(at("d3", "i1"), "d3") == set()


def test_the_lifted_pod_is_no_friend_of_the_cells_it_dives_to() -> None:
    # Beside d3, c3 and e4 have one enemy (d4) and no friend once d3 is lifted: −1. A second enemy makes it −2.
    assert "e4" in ends(at("d3", "d4 i1"), "d3")
    assert "e4" not in ends(at("d3", "d4 f4 i1"), "d3")
    assert "e4" in ends(at("d3 e3", "d4 f4 i1"), "d3")


def test_the_lifted_pod_does_not_support_its_own_dives() -> None:
    assert ends(at("c3 d3", "i1"), "c3") == {"c2", "d2", "d4", "e3", "e4"}


def test_a_pair_of_enemies_blocks_the_two_cells_beside_both() -> None:
    assert ends(at("d3 a5", "d4 d5"), "d3") == {"c3", "e4"}


def test_a_friend_beside_the_way_opens_it() -> None:
    assert ends(at("d3 f5", "d4 d5"), "d3") >= {"e4", "e5", "e6", "d6"}


def test_a_migration_may_not_end_where_it_began() -> None:
    position = at("d3", "d4")
    assert "began" in refused(Reason.MOVE_ILLEGAL, GAME.play, position, "d3-d3").message


@pytest.mark.parametrize(
    ("move", "why"),
    [
        ("a1-a2", "no pod of the player to move is on a1"),
        ("d4-e4", "no pod of the player to move is on d4"),
        ("d3-d4", "d4 is not empty"),
        ("d3-d2", "no series of dives"),
        ("d3-i5", "no series of dives"),
    ],
)
def test_illegal_migrations_say_why(move: str, why: str) -> None:
    refusal = refused(Reason.MOVE_ILLEGAL, GAME.play, at("d3", "d4"), move)
    assert why in refusal.message
    assert refusal.facts == {"move": move, "position": text("d3", "d4")}


@pytest.mark.parametrize(
    "move",
    [
        *("", "-", "a", "a0", "a6", "j1", "A1", "a1 ", " a1", "a01", "a1-", "-a1", "a1-a6", "a1-a2-a3", "a1a2", "pass"),
        *("a1–a2", "a１", "a1-A2", "a1--a2", "a1-a2\n", "a" * 100_000),
    ],
)
def test_malformed_moves_are_refused_in_every_position(move: str) -> None:
    for position in (GAME.initial(), at("d3", "d4"), at("a1 a2", "")):
        refused(Reason.MOVE_MALFORMED, GAME.play, position, move)
    refused(Reason.MOVE_MALFORMED, GAME.steps, GAME.initial(), move)


# Territory and the end


def test_a_player_without_pods_can_enter_no_cell() -> None:
    assert at("a1 a2", "").outcome == Outcome(1, "territory")
    assert at("", "a1 a2").outcome == Outcome(2, "territory")
    assert GAME.territory(at("a1 a2", "")) == (61, 0)


def test_on_an_open_board_both_can_enter_every_cell() -> None:
    assert GAME.territory(at("c3", "g3")) == (1, 1)


def test_the_last_cell_over_half_wins_and_the_one_below_does_not() -> None:
    wall = "a1 a2 a3 b1 b2 b3 b4 c1 c2"
    ten = GAMES[3].parse(text(wall + " c3", "e1 e2 e3 d1 d2 d3 d4 c4 c5", 2, size=3))
    assert ten.outcome == Outcome(1, "territory")
    nine = GAMES[3].parse(text(wall, "e1 e2 e3 d1 d2 d3 d4 c4 c5", 2, size=3))
    assert nine.outcome is None
    assert GAMES[3].territory(nine) == (9, 9)


def test_a_position_where_every_cell_is_balanced_and_no_two_pods_touch_is_blocked() -> None:
    for turn in (1, 2):
        position = GAMES[3].parse(f"{BLOCKED_3} {turn} 0")
        assert position.outcome == Outcome(0, "blocked")
        assert GAMES[3].moves(position) == []
    assert GAMES[3].parse(f"{BLOCKED_3} 1 2000").outcome == Outcome(0, "blocked")


def test_the_third_occurrence_with_the_same_player_to_move_is_a_draw() -> None:
    game = GAMES[3]
    start = line(game, game.initial(), ["a3", "a2"])
    position = line(game, start, CYCLE + CYCLE[:3])
    assert position.outcome is None
    assert game.play(position, CYCLE[3]).outcome == Outcome(0, "repetition")
    set_from_text = line(game, game.parse(game.text(start)), CYCLE)
    assert line(game, set_from_text, CYCLE).outcome == Outcome(0, "repetition")


def test_positions_before_the_one_that_was_set_do_not_count() -> None:
    game = GAMES[3]
    position = line(game, game.initial(), ["a3", "a2", *CYCLE])
    assert line(game, game.parse(game.text(position)), CYCLE).outcome is None


def test_the_other_player_to_move_makes_another_position() -> None:
    # One player comes back after three moves, the other after two: the same board, with the other player to move.
    there = ["a3-a1", "a2-b1", "a1-b2", "b1-a2", "b2-a3"]
    back = ["a2-b3", "a3-c4", "b3-b4", "c4-a3", "b4-a2"]
    game = GAMES[3]
    start = line(game, game.initial(), ["a3", "a2"])
    halfway = line(game, start, there)
    again = line(game, halfway, back)
    assert start.pods == halfway.pods == again.pods
    assert (start.turn, halfway.turn, again.turn) == (1, 2, 1)
    assert again.outcome is None
    assert line(game, again, there).outcome is None
    assert line(game, again, there + back).outcome == Outcome(0, "repetition")


def test_a_placement_makes_the_earlier_positions_unreachable() -> None:
    game = GAMES[3]
    position = line(game, game.initial(), ["a3", "a2", *CYCLE])
    assert len(position.earlier) == 4
    placed = game.play(position, next(move for move in game.moves(position) if "-" not in move))
    assert placed.earlier == ()


def test_two_thousand_plies_are_a_draw() -> None:
    game = GAMES[3]
    assert line(game, game.parse(f"{PAIR} 1 1998"), CYCLE[:1]).outcome is None
    assert line(game, game.parse(f"{PAIR} 1 1998"), CYCLE[:2]).outcome == Outcome(0, "length")
    assert game.parse(f"{PAIR} 1 999999999").outcome == Outcome(0, "length")
    assert game.bound == 2000


def test_territory_is_tested_before_repetition_and_repetition_before_length() -> None:
    game = GAMES[3]
    assert line(game, game.parse(f"{PAIR} 1 1992"), CYCLE * 2).outcome == Outcome(0, "repetition")
    assert game.parse(".../..../...../..../PP. 1 2000").outcome == Outcome(1, "territory")


def test_plies_stay_within_nine_digits() -> None:
    position = GAMES[3].play(GAMES[3].parse(f"{EMPTY_3} 1 999999999"), "a1")
    assert GAMES[3].parse(GAMES[3].text(position)) == position


def test_after_the_end_every_move_is_illegal() -> None:
    over = at("a1 a2", "", turn=2)
    assert GAME.moves(over) == []
    assert GAME.placements(over) == []
    for move in ("e5", "a1-b1"):
        assert "over" in refused(Reason.MOVE_ILLEGAL, GAME.play, over, move).message


# Notation


def test_the_initial_position_of_the_rule_sheet() -> None:
    assert GAMES[7].text(GAMES[7].initial()) == (
        "......./......../........./........../.........../............/............./............/.........../"
        "........../........./......../....... 1 0"
    )


@pytest.mark.parametrize(
    "bad",
    [
        "",
        " ",
        EMPTY_3,
        f"{EMPTY_3} 1",
        f"{EMPTY_3} 1 0 ",
        f" {EMPTY_3} 1 0",
        f"{EMPTY_3}  1 0",
        f"{EMPTY_3} 1  0",
        f"{EMPTY_3} 1 0 0",
        f"{EMPTY_3} 1 0\n",
        f"{EMPTY_3}\t1 0",
        f"{EMPTY_3} 0 0",
        f"{EMPTY_3} 3 0",
        f"{EMPTY_3} 11 0",
        f"{EMPTY_3} １ 0",
        f"{EMPTY_3} 1 -1",
        f"{EMPTY_3} 1 +1",
        f"{EMPTY_3} 1 00",
        f"{EMPTY_3} 1 01",
        f"{EMPTY_3} 1 1.0",
        f"{EMPTY_3} 1 1_0",
        f"{EMPTY_3} 1 ٣",
        f"{EMPTY_3} 1 1234567890",
        f"{EMPTY_3} 1 ",
        f"/{EMPTY_3} 1 0",
        f"{EMPTY_3}/ 1 0",
        f"{EMPTY_3[:-1]} 1 0",
        f"{EMPTY_3}. 1 0",
        ".../..../..../...../... 1 0",
        ".../..../...../...x/... 1 0",
        ".../..../...../...1/... 1 0",
        ".../..../...../.../.... 1 0",
        f"{GAMES[7].text(GAMES[7].initial())}",
        "." * 1_000_000,
        f"{EMPTY_3} 1 {'9' * 1_000_000}",
    ],
)
def test_malformed_positions_say_what_and_where(bad: str) -> None:
    refusal = refused(Reason.POSITION_MALFORMED, GAMES[3].parse, bad)
    assert set(refusal.facts) == {"what", "where", "allowed"}
    assert len(refusal.message) < 300


def test_a_refusal_names_the_row() -> None:
    assert refused(Reason.POSITION_MALFORMED, GAMES[3].parse, ".../..x./...../..../... 1 0").facts["where"] == "row d"
    assert refused(Reason.POSITION_MALFORMED, GAMES[3].parse, ".../.../...../..../... 1 0").facts["where"] == "row d"


def test_pieces_steps_and_counters() -> None:
    position = at("d3", "d4", turn=1)
    pieces = GAME.pieces(position)
    index = GAME.board.index
    assert (pieces[index["d3"]], pieces[index["d4"]]) == (Piece(1, "P"), Piece(2, "p"))
    assert pieces.count(Piece(0, "")) == 59
    assert GAME.steps(position, "d2") == [Step("place", "", "d2", "P")]
    assert GAME.steps(at("d3", "d4", turn=2), "d4-e4") == [Step("move", "d4", "e4", "p")]
    assert GAME.counters(position) == {"territory of seat 1": 1, "territory of seat 2": 1, "plies": 9}
    assert GAME.counters(GAME.initial()) == {"plies": 0}
    assert GAME.claim(position) is None


def test_every_house_ruling_is_in_the_table() -> None:
    ours = {ruling.topic for ruling in Pods.facts.rulings if ruling.basis is Basis.OURS}
    assert ours == {"territory", "blocked", "repetition", "length"}
    assert [reason.name for reason in Pods.facts.reasons] == ["territory", "blocked", "repetition", "length"]


def test_variants_are_named_by_their_size() -> None:
    assert [GAMES[size].variant for size in (3, 7, 10)] == ["pods(size=3)", "pods", "pods(size=10)"]


def test_size_has_bounds() -> None:
    read = Pods.facts.parameters[0].read
    assert (read("3"), read("10")) == (3, 10)
    for word in ("2", "11", "07", "", "seven"):
        with pytest.raises(ValueError, match=f"^{word}$"):
            read(word)


def test_positions_are_values() -> None:
    one, other = at("d3", "d4"), at("d3", "d4")
    assert one == other
    assert hash(one) == hash(other)
    GAME.play(one, "d3-d5")
    assert one == other


# The grid


@pytest.mark.parametrize("size", GAMES)
def test_shifts_reach_the_neighbours_of_the_board(size: int) -> None:
    table, board = grid(size), hexagon_rows(size)
    for cell, bit in enumerate(table.bits):
        near = table.around(1 << bit)
        for direction, other in enumerate(near):
            back = board.neighbours[cell][(direction + 3) % 6]
            assert other & table.cells == (1 << table.bits[back] if back >= 0 else 0)


def test_lanes_do_not_touch() -> None:
    table = grid(4)
    full = table.copies(3) * table.cells
    middle = table.around(full ^ table.cells << table.lane)
    assert all(not near & table.cells << table.lane for near in middle)


def six(numbers: Iterable[int]) -> Six:
    a, b, c, d, e, f = numbers
    return a, b, c, d, e, f


def test_bit_sliced_numbers_add_and_compare() -> None:
    for first in range(64):
        near = six(first >> d & 1 for d in range(6))
        count = tally(near)
        number = first.bit_count()
        assert [bit & 1 for bit in count] == [number & 1, number >> 1 & 1, number >> 2]
        assert [bit & 1 for bit in plus_one(count)] == [number + 1 & 1, number + 1 >> 1 & 1, number + 1 >> 2]
        for second in range(7):
            other = tally(six(int(d < second) for d in range(6)))
            assert exceeds(count, other) & 1 == (number > second)


# Comparison with the reference


def random_text(rng: Random, size: int) -> str:
    density, share = rng.random(), rng.choice((0.2, 0.5, 0.5, 0.8))
    rows = "/".join(
        "".join("." if rng.random() > density else "P" if rng.random() < share else "p" for _ in cells)
        for cells in hexagon_rows(size).lines
    )
    return f"{rows} {rng.choice('12')} {rng.choice((0, 7, 1998, 1999, 2000))}"


def swapped(position_text: str) -> str:
    rows, turn, plies = position_text.split(" ")
    return f"{rows.swapcase()} {3 - int(turn)} {plies}"


def agree(game: Pods, position: PodsPosition, reference: Reference) -> Sequence[str]:
    """Compare everything observable; return the moves."""
    moves = game.moves(position)
    assert game.text(position) == reference.text()
    assert len(set(moves)) == len(moves)
    assert set(moves) == reference.moves(), reference.text()
    assert str(position.outcome or "none") == reference.outcome(), reference.text()
    assert [move for move in moves if "-" not in move] == game.placements(position)
    if len(reference.pods) > 1:
        assert game.territory(position) == (len(reference.territory(1)), len(reference.territory(2)))
    return moves


@pytest.mark.long
@pytest.mark.parametrize("size", [3, 4, 5, 7, 10])
def test_set_positions_agree_with_the_reference(size: int) -> None:
    rng = random.Random(f"pods set {size}")
    game = GAMES[size]
    for _ in range(700 // size**2):
        start = random_text(rng, size)
        position, reference = game.parse(start), Reference(size, start)
        moves = agree(game, position, reference)
        mirror = game.parse(swapped(start))
        assert list(game.moves(mirror)) == list(moves)
        assert game.territory(mirror) == game.territory(position)[::-1]
        if moves:
            legal = set(moves)
            names = game.board.names
            for _ in range(20):
                move = rng.choice((f"{rng.choice(names)}-{rng.choice(names)}", rng.choice(names)))
                if move not in legal:
                    refused(Reason.MOVE_ILLEGAL, game.play, position, move)
            move = rng.choice(moves)
            reference.play(move)
            agree(game, game.play(position, move), reference)


@pytest.mark.long
@pytest.mark.parametrize(("size", "placing"), [(3, 0.2), (3, 0.5), (4, 0.2), (5, 0.9), (7, 1.0)])
def test_games_agree_with_the_reference(size: int, placing: float) -> None:
    rng = random.Random(f"pods games {size} {placing}")
    game = GAMES[size]
    position, reference = game.initial(), Reference(size)
    for _ in range(60):
        moves = agree(game, position, reference)
        if not moves:
            break
        places = game.placements(position)
        move = rng.choice(places if places and rng.random() < placing else moves)
        position = game.play(position, move)
        reference.play(move)


@pytest.mark.long
def test_repetition_agrees_with_the_reference() -> None:
    """A few pods that migrate at random on the smallest board soon repeat a position."""
    rng = random.Random(3)
    game = GAMES[3]
    outcomes = set()
    for _ in range(12):
        start = text("a3", "a2", 1, 0, 3)
        position, reference = game.parse(start), Reference(3, start)
        while position.outcome is None:
            move = rng.choice([move for move in game.moves(position) if "-" in move][:3])
            position = game.play(position, move)
            reference.play(move)
            assert str(position.outcome or "none") == reference.outcome()
        outcomes.add(position.outcome.reason)
    assert "repetition" in outcomes
