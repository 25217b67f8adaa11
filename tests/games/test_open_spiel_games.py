"""The games of OpenSpiel as a plug-in: which there are, the laws, and variants that share a process."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from random import Random
from typing import Final

import pyspiel
import pytest
from arbiter_openspiel.game import PREFIX, kind
from arbiter_openspiel.listing import of_the_kind, rows
from arbiter_openspiel.table import GAMES, LEFT_OUT

from arbiter.errors import Reason
from arbiter.games import registry
from arbiter.games.contract import AnyGame, value_text
from arbiter.testing import laws
from tests.refusals import refusing

ROOT: Final = Path(__file__).parents[2]
WITH_VARIANTS: Final = [name for name in GAMES if kind(name).facts.parameters]
MIXED: Final = """
import sys
from random import Random
from arbiter.games import registry

for variants in sys.argv[2:]:
    dice, games = Random(1), [registry.game(variant) for variant in variants.split()]
    at = [game.initial() for game in games]
    for _ in range(int(sys.argv[1])):
        number = dice.randrange(len(games))
        game, position = games[number], at[number]
        moves = game.moves(position)
        assert bool(moves) != bool(position.outcome), (game.variant, game.text(position))
        at[number] = game.play(position, dice.choice(moves)) if moves else game.initial()
        game.pieces(at[number]), game.picture(at[number]), game.counters(at[number])
"""
"""Games of several variants, move by move in turn: some games of OpenSpiel have one memory for all their boards."""


def variants(name: str) -> list[str]:
    """Return the variants of a game with each bound of each parameter, with all the least, and all the greatest."""
    parameters = kind(name).facts.parameters
    bounds = {p.name: [*(b for b in (p.minimum, p.maximum) if b is not None), *p.choices] for p in parameters}
    found = [f"{parameter}={bound}" for parameter, each in bounds.items() for bound in each]
    found += [",".join(f"{parameter}={each[at]}" for parameter, each in bounds.items() if each) for at in (0, -1)]
    return [PREFIX + name, *(f"{PREFIX}{name}({values})" for values in dict.fromkeys(found) if values)]


def test_each_game_of_the_kind_is_there_or_is_left_out_by_name() -> None:
    listed = {*of_the_kind()}
    assert listed == {*GAMES, *LEFT_OUT}
    assert not {*GAMES} & {*LEFT_OUT}
    entries = {entry.name for entry in entry_points(group=registry.GROUP) if entry.name.startswith(PREFIX)}
    assert entries == {PREFIX + name for name in GAMES}


@pytest.mark.long
def test_the_table_has_each_game_of_the_kind_and_why_it_is_left_out() -> None:
    def check(game: AnyGame) -> None:
        if game.facts.id == "openspiel-nim":
            raise AssertionError("two texts of a move\nand more")

    found = {name: row for name, *row in rows(check)}
    assert [*found] == of_the_kind()
    assert {name: why for name, (_, why) in found.items() if why} == {
        **LEFT_OUT,
        "nim": "it breaks a law: two texts of a move",
    }
    assert found["hex"][0].startswith("board_size=11 (a number from 2 to 26), swap=false (")


def test_the_page_of_games_names_each_and_those_that_are_left_out() -> None:
    text = (ROOT / "deploy" / "GAMES.md").read_text("utf-8").partition("## Games of OpenSpiel")[2]
    listed, left_out = text.partition("Left out are")[::2]
    assert set(re.findall(r"`([a-z_]+)`", listed)) == {*GAMES}
    assert all(f"`{name}`" in left_out for name in LEFT_OUT)


@pytest.mark.long
@pytest.mark.parametrize("name", GAMES)
def test_the_laws_hold_and_nothing_is_written(name: str, capfd: pytest.CaptureFixture[str], seeds: int) -> None:
    for seed in range(2 if seeds > 20 else 1):
        laws.check(registry.game(PREFIX + name), Random(seed).randrange)
    assert capfd.readouterr() == ("", "")


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_VARIANTS)
def test_texts_moves_and_ends_are_right_at_the_bounds_of_parameters(name: str) -> None:
    for variant in variants(name):
        game = registry.game(variant)
        for law in (laws.texts_round_trip, laws.listed_moves_play, laws.pieces_and_steps_are_well_formed):
            law(game, Random(2).randrange)


@pytest.mark.long
def test_variants_of_a_game_share_a_process(seeds: int) -> None:
    plies, each = "200000" if seeds > 20 else "500", (" ".join(variants(name)) for name in WITH_VARIANTS)
    ran = subprocess.run([sys.executable, "-c", MIXED, plies, *each], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_position_is_played_in_open_spiel_as_its_rules_say() -> None:
    game, state = registry.game("openspiel-go(board_size=9)"), pyspiel.load_game("go(board_size=9)").new_initial_state()
    position, dice, width = game.initial(), Random(3), 2
    for _ in range(20):
        position = game.play(position, dice.choice(game.moves(position)))
    _, line = game.text(position).split(" ")
    for at in range(0, len(line), width):
        state.apply_action(int(line[at : at + width], 36))
    assert str(state) == str(position.state)
    assert "int(line[at:at + width], 36)" in game.facts.position_text


def test_whoever_moves_first_has_seat_1_and_wins_as_it() -> None:
    """The first player of OpenSpiel's chess is Black."""
    game = registry.game("openspiel-chess")
    position = game.initial()
    for move in ("f3", "e5", "g4", "Qh4#"):
        position = game.play(position, move)
    assert (game.initial().turn, position.outcome) == (1, (2, "won"))


def test_a_position_comes_from_its_line_however_it_is_reached() -> None:
    game = registry.game("openspiel-othello")
    position, texts = game.initial(), []
    for _ in range(20):
        position = game.play(position, game.moves(position)[-1])
        texts.append(game.text(position))
    game._recent.clear()  # type: ignore[attr-defined]
    fresh = game.parse(texts[-1])
    near = game.parse(texts[-2])
    assert fresh == position
    assert game.play(near, game.moves(near)[-1]) == position
    assert [game.pieces(game.parse(text)) for text in texts[-2:]] == [game.pieces(near), game.pieces(position)]


@pytest.mark.parametrize("text", ["1", "1 zz", "2 -", "1 0", "1 0Z", "1 0j0j0j0j", "1 -1", "x -", "1  -"])
def test_wrong_positions_are_refused_and_open_spiel_does_not_see_them(
    text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with refusing(Reason.POSITION_MALFORMED):
        registry.game("openspiel-othello").parse(text)
    assert capfd.readouterr() == ("", "")


def test_pieces_in_hand_are_counted() -> None:
    game: AnyGame = registry.game("openspiel-crazyhouse")
    position = game.initial()
    for move in ("e4", "d5", "exd5", "Qxd5"):
        position = game.play(position, move)
    assert game.counters(position) == {"hand P": 1, "hand p": 1}
    shogi = registry.game("openspiel-shogi")
    position = shogi.initial()
    for move in ("7g7f", "3c3d", "8h2b+"):
        position = shogi.play(position, move)
    assert shogi.counters(position) == {"hand B": 1}
    assert [piece.letter for piece in shogi.pieces(position)].count("H") == 1


def test_a_game_without_a_board_is_shown_as_open_spiel_writes_it() -> None:
    nim = registry.game("openspiel-nim")
    assert nim.picture(nim.initial()) == "(0): 1 3 5 7"
    assert value_text(nim.values["is_misere"]) == "true"


def test_a_game_that_open_spiel_does_not_end_is_a_draw_at_its_length() -> None:
    game = registry.game("openspiel-oware(num_houses_per_player=12,num_seeds_per_house=12)")
    position = game.initial()
    dice = Random(0)
    for _ in range(game.bound):
        position = game.play(position, dice.choice(game.moves(position)))
    assert position.outcome == (0, "move_limit")
