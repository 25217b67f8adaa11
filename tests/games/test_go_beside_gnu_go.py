"""Random games have the same stones and the same legal moves, with superko and suicide, by the rules of GNU Go."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from arbiter.games import registry
from tests.clients.toolchains import require

pytestmark = [pytest.mark.long, pytest.mark.toolchain]

GNUGO = "/usr/games/gnugo"
OPTIONS = ("--mode", "gtp", "--positional-superko", "--allow-suicide")
COLOURS = ("black", "white")
GAMES = 12


class Engine:
    """GNU Go, asked by GTP."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, line: str) -> set[str]:
        """Return the words of an answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        said = list[str]()
        for answer in self._process.stdout:
            if not answer.strip():
                break
            said += answer.split()
        assert said[0] == "=", f"{line}: {said}"
        return {word.lower() for word in said[1:]}


@contextmanager
def engine() -> Iterator[Engine]:
    require(GNUGO, why="its rules are compared")
    with subprocess.Popen([GNUGO, *OPTIONS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Engine(process)
        finally:
            process.kill()


def _stones(game: Any, position: Any, seat: int) -> set[str]:
    pieces = zip(game.board.names, game.pieces(position), strict=True)
    return {name for name, piece in pieces if piece.owner == seat}


def _is_suicide(game: Any, position: Any, move: str) -> bool:
    return move not in _stones(game, game.play(position, move), position.turn)


def test_random_games_are_those_of_gnu_go() -> None:
    """But GNU Go allows a suicide that brings back an earlier position, which Tromp and Taylor forbid as any move."""
    game, random = registry.game("go"), Random("gnugo")
    superko = suicides = 0
    with engine() as gnu:
        gnu.ask("boardsize 9")
        for _ in range(GAMES):
            gnu.ask("clear_board")
            position = game.initial()
            while position.plies < 250 and position.outcome is None:
                moves, colour = set(game.moves(position)) - {"pass"}, COLOURS[position.turn - 1]
                legal = gnu.ask(f"all_legal {colour}") - {"pass"}
                assert moves <= legal, game.text(position)
                fresh = game.parse(" ".join([*game.text(position).split()[:2], "0", "0"]))
                assert all(_is_suicide(game, fresh, move) for move in legal - moves), game.text(position)
                stones = [_stones(game, position, seat) for seat in (1, 2)]
                assert [gnu.ask(f"list_stones {each}") for each in COLOURS] == stones, game.text(position)
                superko += len(set(game.moves(fresh)) - {"pass"} - moves)
                move = random.choice(sorted(moves)) if moves and random.random() < 0.98 else "pass"
                gnu.ask(f"play {colour} {move}")
                position = game.play(position, move)
                suicides += move != "pass" and move not in _stones(game, position, 3 - position.turn)
    assert superko
    assert suicides
