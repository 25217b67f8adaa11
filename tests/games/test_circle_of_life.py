"""Circle of Life: the rules one by one, and the engine compared with the reference."""

from __future__ import annotations

import random
from collections import Counter
from random import Random

import pytest

from arbiter.boards.hexes import hexagon_rows
from arbiter.errors import Reason
from arbiter.games.circle_of_life import CircleOfLife, CirclePosition
from arbiter.games.circle_of_life_species import SPECIES, cells, critters, groups, neighbour_masks
from arbiter.games.contract import Piece, Step
from tests.games import reference_circle_of_life as reference
from tests.refusals import refused

EMPTY = "...../....../......./......../........./......../......./....../....."
GAME = CircleOfLife()
BOARD = hexagon_rows(5)


def text(first: str = "", second: str = "", turn: int = 1, eaten: tuple[int, int] = (0, 0)) -> str:
    """Return the text of a position with stones of seat 1 and seat 2 on named cells."""
    signs = {**dict.fromkeys(first.split(), "S"), **dict.fromkeys(second.split(), "s")}
    rows = "/".join("".join(signs.get(BOARD.names[cell], ".") for cell in line) for line in BOARD.lines)
    return f"{rows} {turn} {eaten[0]} {eaten[1]}"


def swap(position_text: str) -> str:
    """Return the same position with the seats exchanged."""
    rows, turn, first, second = position_text.split(" ")
    return f"{rows.swapcase()} {3 - int(turn)} {second} {first}"


def random_text(rng: Random, target: int = 20) -> str:
    density = rng.choice((0.1, 0.3, 0.5, 0.8, 1.0))
    board = "/".join("".join(rng.choice("Ss") if rng.random() < density else "." for _ in line) for line in BOARD.lines)
    return f"{board} {rng.choice((1, 2))} {rng.randrange(target + 2)} {rng.randrange(target + 2)}"


# Species


def test_every_species_has_its_number_of_placements() -> None:
    found = Counter(critter.species for critter in critters(BOARD).values())
    assert [found[number] for number in range(12)] == [61, 156, 264, 129, 96, 480, 432, 240, 216, 132, 74, 102]


def test_species_and_prey_agree_with_the_shapes_of_the_rule_sheet() -> None:
    places = [reference.PLACE[name] for name in BOARD.names]
    for mask, critter in critters(BOARD).items():
        assert reference.SPECIES[reference.canonical([places[cell] for cell in cells(mask)])] == critter.species
        assert critter.prey == (critter.species - 1) % 12
        assert critter.stones == SPECIES[critter.species].stones == mask.bit_count()


def test_groups_are_split_where_stones_do_not_touch() -> None:
    mask = sum(1 << BOARD.index[name] for name in ("a1", "a2", "b3", "e5", "e7"))
    found = [{BOARD.names[cell] for cell in cells(group)} for group in groups(mask, neighbour_masks(BOARD))]
    assert found == [{"a1", "a2", "b3"}, {"e5"}, {"e7"}]


# Placing


def test_the_start_is_an_empty_board_with_every_cell_open() -> None:
    start = GAME.initial()
    assert GAME.text(start) == f"{EMPTY} 1 0 0"
    assert list(GAME.moves(start)) == list(BOARD.names)
    assert start == GAME.parse(f"{EMPTY} 1 0 0")


def test_a_stone_may_join_several_critters_up_to_four_stones() -> None:
    after = GAME.play(GAME.parse(text("e4 e6 f5")), "e5")
    assert len(after.critters[0]) == 1


@pytest.mark.parametrize(
    ("first", "cell"),
    [
        ("e1 e2 e3 e4", "e5"),  # 4
        ("e2 e3 e4 e6", "e5"),  # 3 + 1
        ("e3 e4 e6 e7", "e5"),  # 2 + 2
        ("e3 e4 e6 d4 c3 f5 g5", "e5"),  # 3 + 1 + 2
        ("e3 e4 f5 d5", "e5"),  # 2 + 1 + 1
        ("e1 e2 e3 e4 e5 f1", "e6"),  # a group of six, which only a set position can hold
    ],
)
def test_no_critter_may_grow_past_four_stones(first: str, cell: str) -> None:
    position = GAME.parse(text(first))
    refusal = refused(GAME.play, position, cell)
    assert refusal.reason is Reason.MOVE_ILLEGAL
    assert "4 is the most" in refusal.message
    assert cell not in GAME.moves(position)


def test_a_taken_cell_is_illegal_for_both_seats() -> None:
    position = GAME.parse(text("e5", "e7"))
    for cell in ("e5", "e7"):
        refusal = refused(GAME.play, position, cell)
        assert refusal.reason is Reason.MOVE_ILLEGAL
        assert "taken" in refusal.message
        assert refusal.facts["position"] == GAME.text(position)


@pytest.mark.parametrize(
    "move", ["", "e", "e0", "e10", "E5", "j1", "a6", "e5 ", " e5", "e5-e6", "pass", "e٥", "x" * 500]
)
def test_a_text_that_names_no_cell_is_malformed(move: str) -> None:
    assert refused(GAME.play, GAME.initial(), move).reason is Reason.MOVE_MALFORMED
    assert refused(GAME.steps, GAME.initial(), move).reason is Reason.MOVE_MALFORMED


# Eating


@pytest.mark.parametrize("eater", range(12))
def test_each_species_eats_the_one_before_it_and_no_other(eater: int) -> None:
    """Complete every species next to every species wherever the board lets two critters touch."""
    table = critters(BOARD)
    rng = random.Random(eater)
    eaters = [mask for mask, critter in table.items() if critter.species == eater]
    for species in range(12):
        others = [mask for mask, critter in table.items() if critter.species == species]
        seen = 0
        while seen < 3:
            own, other = rng.choice(eaters), rng.choice(others)
            if own & other or not table[own].reach & other:
                continue
            seen += 1
            last = rng.choice(cells(own))
            own_names = " ".join(BOARD.names[cell] for cell in cells(own) if cell != last)
            other_names = " ".join(BOARD.names[cell] for cell in cells(other))
            after = GAME.play(GAME.parse(text(own_names, other_names)), BOARD.names[last])
            expected = SPECIES[species].stones if species == (eater - 1) % 12 else 0
            assert after.eaten == (expected, 0)
            assert bool(after.critters[1]) == (expected == 0)


def test_all_adjacent_prey_is_eaten_and_prey_farther_away_is_not() -> None:
    after = GAME.play(GAME.parse(text("e5", "d4 f4 f6 f8 a1", eaten=(3, 1))), "e6")
    assert GAME.text(after) == text("e5 e6", "f8 a1", turn=2, eaten=(6, 1))


def test_only_the_critter_of_the_placed_stone_eats_and_eating_does_not_chain() -> None:
    # The pair e5 e6 is already next to the singleton f6; placing a stone elsewhere does not make it eat.
    start = GAME.parse(text("e5 e6", "f6"))
    assert GAME.text(GAME.play(start, "a1")) == text("a1 e5 e6", "f6", turn=2)
    # The new pair b2 b3 eats c3; the pair e5 e6 does not go on to eat f6.
    start = GAME.parse(text("b2 e5 e6", "c3 f6"))
    assert GAME.text(GAME.play(start, "b3")) == text("b2 b3 e5 e6", "f6", turn=2, eaten=(1, 0))


def test_a_singleton_eats_a_line_of_four() -> None:
    after = GAME.play(GAME.parse(text("", "e1 e2 e3 e4")), "e5")
    assert GAME.text(after) == text("e5", turn=2, eaten=(4, 0))


def test_a_group_of_more_than_four_stones_is_of_no_species() -> None:
    position = GAME.parse(text("", "e1 e2 e3 e4 e5"))
    after = GAME.play(position, "e6")
    assert after.eaten == (0, 0)
    assert len(after.critters[1]) == 1


# The end


def test_eating_the_target_wins() -> None:
    after = GAME.play(GAME.parse(text("e5", "e7", eaten=(19, 19))), "e6")
    assert str(after.outcome) == "1 target_eaten"
    assert after.turn == 2
    assert list(GAME.moves(after)) == []
    refusal = refused(GAME.play, after, "a1")
    assert refusal.reason is Reason.MOVE_ILLEGAL
    assert "over" in refusal.message


@pytest.mark.parametrize(("target", "over"), [(1, True), (2, False)])
def test_the_target_is_a_parameter(target: int, over: bool) -> None:
    game = CircleOfLife(target=target)
    assert game.variant == f"circle-of-life(target={target})"
    after = game.play(game.parse(text("e5", "e7")), "e6")
    assert (after.outcome is not None) is over


def test_a_text_is_judged_as_if_the_other_seat_had_moved_last() -> None:
    assert str(GAME.parse(text("e5", turn=1, eaten=(0, 20))).outcome) == "2 target_eaten"
    assert str(GAME.parse(text("e5", turn=2, eaten=(20, 0))).outcome) == "1 target_eaten"
    # The seat to move has eaten enough, but did not move last: the game goes on, and its next move ends it.
    position = GAME.parse(text("e5", turn=1, eaten=(20, 0)))
    assert position.outcome is None
    assert str(GAME.play(position, "a1").outcome) == "1 target_eaten"


def full_board(turn: int, eaten: tuple[int, int] = (0, 0)) -> str:
    rows = "/".join("".join("S" if turn == 1 else "s" for _ in line) for line in BOARD.lines)
    return f"{rows} {turn} {eaten[0]} {eaten[1]}"


@pytest.mark.parametrize("turn", [1, 2])
def test_who_has_no_cell_to_place_on_wins(turn: int) -> None:
    position = GAME.parse(full_board(turn))
    assert str(position.outcome) == f"{turn} cannot_evolve"
    assert list(GAME.moves(position)) == []


def test_an_empty_cell_where_every_own_critter_would_grow_too_large_is_not_open() -> None:
    rows = full_board(1).replace("SSSSSSSSS", "SSSS.SSSS")
    assert str(GAME.parse(rows).outcome) == "1 cannot_evolve"


def test_the_target_is_tested_before_the_open_cells() -> None:
    assert str(GAME.parse(full_board(1, eaten=(0, 20))).outcome) == "2 target_eaten"


def test_bound_of_the_default_game() -> None:
    assert GAME.bound == 99


# Notation


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        ("", "fields"),
        (EMPTY, "fields"),
        (f"{EMPTY} 1 0", "fields"),
        (f"{EMPTY} 1 0 0 ", "fields"),
        (f"{EMPTY} 1 0 0 0", "fields"),
        (f"{EMPTY}  1 0 0", "fields"),
        (f" {EMPTY} 1 0 0", "fields"),
        (f"{EMPTY}\t1\t0\t0", "fields"),
        (f"{EMPTY} 1 0 0\n", "seat 2"),
        (f"{EMPTY} 0 0 0", "seat to move"),
        (f"{EMPTY} 3 0 0", "seat to move"),
        (f"{EMPTY} ١ 0 0", "seat to move"),
        (f"{EMPTY} 12 0 0", "seat to move"),
        (f"{EMPTY}  0 0", "seat to move"),
        (f"{EMPTY} 1 00 0", "seat 1"),
        (f"{EMPTY} 1 01 0", "seat 1"),
        (f"{EMPTY} 1 -1 0", "seat 1"),
        (f"{EMPTY} 1 +1 0", "seat 1"),
        (f"{EMPTY} 1 1_0 0", "seat 1"),
        (f"{EMPTY} 1 ٣ 0", "seat 1"),
        (f"{EMPTY} 1  0", "seat 1"),
        (f"{EMPTY} 1 0 1234567890", "seat 2"),
        (f"{EMPTY} 1 0 1.5", "seat 2"),
        (f"{EMPTY[:-1]} 1 0 0", "row a"),
        (f"{EMPTY[1:]} 1 0 0", "row i"),
        (f"{EMPTY}. 1 0 0", "row a"),
        (f"{EMPTY}/ 1 0 0", "board"),
        (f"{EMPTY[6:]} 1 0 0", "board"),
        (f"x{EMPTY[1:]} 1 0 0", "row i"),
        (f"{EMPTY[:-1]}5 1 0 0", "row a"),
        (f"{EMPTY[:-1]}ſ 1 0 0", "row a"),
        (f"{EMPTY} 1 0 0" + " " * 10_000, "text"),
        ("/" * 1_000_000, "text"),
    ],
)
def test_malformed_positions_are_refused_with_the_place(bad: str, where: str) -> None:
    refusal = refused(GAME.parse, bad)
    assert refusal.reason is Reason.POSITION_MALFORMED
    assert where in refusal.facts["where"]
    assert set(refusal.facts) == {"what", "where", "allowed"}


def test_the_longest_text_is_read_and_written() -> None:
    longest = text("a1", "i5", eaten=(999_999_999, 0), turn=1).replace(" 0", " 999999999")
    assert len(longest) == 91
    assert GAME.text(GAME.parse(longest)) == longest


def test_steps_pieces_and_counters() -> None:
    position = GAME.parse(text("e5", "a1", turn=2, eaten=(4, 7)))
    assert GAME.steps(position, "c3") == [Step("place", "", "c3", "s")]
    pieces = dict(zip(BOARD.names, GAME.pieces(position), strict=True))
    assert pieces["e5"] == Piece(1, "S")
    assert pieces["a1"] == Piece(2, "s")
    assert pieces["c3"] == Piece(0, "")
    assert GAME.counters(position) == {"eaten by seat 1": 4, "eaten by seat 2": 7}


# Comparison with the reference


def agree(game: CircleOfLife, position: CirclePosition, other: reference.Reference) -> None:
    assert game.text(position) == other.text()
    assert set(game.moves(position)) == other.moves()
    assert len(set(game.moves(position))) == len(game.moves(position))
    assert (str(position.outcome) if position.outcome else None) == other.outcome


@pytest.mark.long
@pytest.mark.parametrize("target", [20, 1, 7, 60])
def test_random_games_agree_with_the_reference(target: int) -> None:
    game = CircleOfLife(target=target)
    rng = random.Random(target)
    for _ in range(3):
        position, other, plies = game.initial(), reference.Reference(target), 0
        agree(game, position, other)
        while position.outcome is None:
            move = rng.choice(game.moves(position))
            position, other, plies = game.play(position, move), other.play(move), plies + 1
            agree(game, position, other)
            assert game.parse(game.text(position)) == position
        assert plies <= game.bound


@pytest.mark.long
def test_random_set_positions_agree_with_the_reference() -> None:
    rng = random.Random(20)
    for _ in range(120):
        given = random_text(rng)
        position, other = GAME.parse(given), reference.from_text(given)
        agree(GAME, position, other)
        for move in rng.sample(sorted(other.moves()), min(3, len(other.moves()))):
            agree(GAME, GAME.play(position, move), other.play(move))
        for cell in set(BOARD.names) - other.moves():
            assert refused(GAME.play, position, cell).reason is Reason.MOVE_ILLEGAL


def test_both_seats_are_treated_alike() -> None:
    rng = random.Random(3)
    for _ in range(300):
        given = random_text(rng)
        position, mirrored = GAME.parse(given), GAME.parse(swap(given))
        assert GAME.moves(position) == GAME.moves(mirrored)
        for move in GAME.moves(position)[:4]:
            after, mirrored_after = GAME.play(position, move), GAME.play(mirrored, move)
            assert swap(GAME.text(after)) == GAME.text(mirrored_after)
            if after.outcome is None:
                assert mirrored_after.outcome is None
            else:
                assert mirrored_after.outcome == after.outcome._replace(winner=3 - after.outcome.winner)
