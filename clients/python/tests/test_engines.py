"""The rules in the client's process: games that are played move by move, boards as arrays, and pictures."""

from __future__ import annotations

from random import Random
from xml.etree import ElementTree

import numpy as np
import pytest
from arbiter_client.engines import COLUMNS, Environment

from arbiter.errors import Reason, Refusal
from arbiter.games import registry

QUICK = ("connect-four", "circle-of-life(target=1)", "pods(size=3)", "hop-it")


@pytest.mark.parametrize("game", QUICK)
def test_a_game_is_played_by_its_rules_to_its_end_and_again(game: str) -> None:
    env, rules, dice = Environment(game), registry.game(game), Random(3)
    for _ in range(2):
        position = rules.initial()
        while env.outcome is None:
            assert (env.turn, env.position) == (position.turn, rules.text(position))
            assert env.legal_moves == tuple(rules.moves(position))
            move = dice.choice(env.legal_moves)
            end = env.step(move)
            position = rules.play(position, move)
        assert position.outcome is not None
        assert env.outcome == end
        assert (env.outcome.winner, env.outcome.reason) == position.outcome
        assert env.legal_moves == ()
        assert Environment(game, moves=env.moves).position == env.position
        env.reset()
        assert not env.moves


def test_rules_about_earlier_positions_hold() -> None:
    env = Environment("chess", moves=["g1f3", "g8f6", "f3g1", "f6g8"] * 4)
    assert env.outcome is not None
    assert (env.outcome.winner, env.outcome.reason) == (0, "fivefold_repetition")


def test_an_illegal_move_is_refused_and_changes_nothing() -> None:
    env = Environment("connect-four", moves="ab")
    for move, reason in (("z", Reason.MOVE_MALFORMED), ("aa", Reason.MOVE_MALFORMED)):
        with pytest.raises(Refusal) as refused:
            env.step(move)
        assert refused.value.reason is reason
    assert env.moves == ("a", "b")
    with pytest.raises(Refusal) as unknown:
        Environment("risk")
    assert unknown.value.reason is Reason.GAME_UNKNOWN
    with pytest.raises(Refusal):
        Environment("connect-four", moves="aaaaaaa")


def test_a_match_begins_where_it_is_told() -> None:
    start = "7k/5Q2/6K1/8/8/8/8/8 w - - 0 1"
    env = Environment("chess", start)
    env.step("f7g7")
    assert env.outcome is not None
    assert (env.outcome.winner, env.outcome.reason) == (1, "checkmate")
    env.reset()
    assert env.position == start


@pytest.mark.parametrize("game", registry.BUNDLED)
def test_cells_have_what_is_on_the_board_as_each_seat_sees_it(game: str) -> None:
    env, dice = Environment(game), Random(5)
    for _ in range(12):
        pieces = env.game.pieces(env.standing.position)
        for seat in (1, 2):
            cells = env.cells(seat)
            assert cells.shape == (env.game.board.size, len(COLUMNS))
            assert cells.dtype == np.int32
            for row, piece in zip(cells.tolist(), pieces, strict=True):
                of = dict(zip(COLUMNS, row, strict=True))
                assert of["owner"] == {0: 0, seat: 1, 3 - seat: 2}[piece.owner]
                letter = "@ABCDEFGHIJKLMNOPQRSTUVWXYZ"[of["piece"]].strip("@")
                assert letter == piece.letter.upper()
                assert (of["facing"] - 1, of["height"] - 1) == (piece.facing, piece.height)
                assert of["mark"] == bool(piece.mark)
        assert (env.cells() == env.cells(env.turn)).all()
        env.step(dice.choice(env.legal_moves))


def test_cells_of_positions_that_one_can_check_by_eye() -> None:
    chess = Environment("chess", moves=["e2e4"])
    names, cells = chess.game.board.names, chess.cells(1)
    assert cells[names.index("e4")].tolist() == [1, ord("P") - 64, 0, 0, 0]
    assert cells[names.index("e8")].tolist() == [2, ord("K") - 64, 0, 0, 0]
    assert cells[names.index("e2")].tolist() == [0, 0, 0, 0, 0]
    assert chess.cells()[names.index("e8")].tolist() == [1, ord("K") - 64, 0, 0, 0], "it is Black's turn"
    hop = Environment("hop-it")
    assert hop.cells(1)[hop.game.board.index["a1"]].tolist() == [0, 0, 0, 0, 1], "a lily"
    ground = Environment("elevation").cells(1)
    assert set(ground[:, COLUMNS.index("height")].tolist()) == {1 + int(Environment("elevation").game.values["tiles"])}


@pytest.mark.parametrize("game", ["hop-it", "chess", "go"])
def test_a_notebook_draws_it(game: str) -> None:
    env = Environment(game)
    first = env._repr_svg_()
    env.step(env.legal_moves[0])
    then, plain = env._repr_svg_(), env.standing._repr_svg_()
    for picture in (first, then, plain):
        assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    assert len({first, then, plain}) == 3, "the last move is marked where it is known"


def test_print_shows_the_board() -> None:
    env = Environment("connect-four", moves="d")
    assert "connect-four – Red to move" in str(env)
    assert str(env).count("D") == 1
