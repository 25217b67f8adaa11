"""What a demo plays: a double round robin of four bots in every game, with its clocks, in the order of play.

Everything here is a pure function of the games, so that a run that goes on after a stop finds its matches again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from arbiter.errors import OperatorError
from arbiter.games import registry
from arbiter.matches.time_control import parse
from arbiter.tournaments.berger import round_robin

PLAYERS: Final = ("mcts", "greedy", "wire", "random")
"""The bots, by the names of their modules in `arbiter_client.bots`, in the order of their numbers."""

DEFAULT_TIME: Final = "2s+100ms"
TIMES: Final[Mapping[str, str]] = {"elevation": "2s+150ms", "pods": "2s+150ms"}
"""Time controls: the default, and those of games whose moves cost more. The increment pays for what a move takes
without any thought (thousands of legal moves on their way through a busy machine), so that no flag falls. The main time
is short, because searching bots use it up."""

AHEAD: Final[Mapping[str, float]] = {"elevation": 0.6, "pods": 0.75}
"""How early the last match of a game begins, as a share of the matches before it: long games go ahead of the others, so
that the demo does not end with waiting for one of them."""

MOST_CYCLES: Final = 100
LONGEST_NAME: Final = 60  #: characters of a variant in a request id, which has at most 100


class Fixture(NamedTuple):
    """A match to be played: game (the canonical variant), round and board from 1, players by seat, time control."""

    game: str
    round: int
    board: int
    seat1: str
    seat2: str
    time: str

    def request_id(self, attempt: int) -> str:
        """Return the id of the request that makes the match; attempts after the first replace void matches."""
        name = self.game
        if len(name) > LONGEST_NAME:
            name = hashlib.sha256(name.encode()).hexdigest()[:16]
        again = f"/again-{attempt - 1}" if attempt > 1 else ""
        return f"demo/{name}/{self.round}/{self.board}{again}"

    @property
    def file_name(self) -> str:
        """The name of the transcript's file."""
        return f"round-{self.round}-board-{self.board}-{self.seat1}-{self.seat2}.jsonl"


def canonical(games: Sequence[str]) -> tuple[str, ...]:
    """Return the canonical names of games and variants, each once; all bundled games if there are none.

    Raises Refusal GAME_UNKNOWN or PARAMETER_INVALID.
    """
    return tuple(dict.fromkeys(registry.game(name).variant for name in games or registry.BUNDLED))


def plan(games: Sequence[str], cycles: int, time: str = "") -> tuple[Fixture, ...]:
    """Return the matches in the order of play: the rounds of each game in order, all games side by side.

    games: canonical names. cycles: how often each two players meet in a game. time: the time control of all games;
    each has its own if it is empty.

    Raises Refusal PARAMETER_INVALID for a time control and ARGUMENT_INVALID for cycles, OperatorError for too many.
    """
    if cycles > MOST_CYCLES:
        raise OperatorError(f"{cycles} cycles are too many: at most {MOST_CYCLES}")
    placed: list[tuple[float, int, Fixture]] = []
    rounds = round_robin(PLAYERS, cycles)
    pairings = [pairing for each in rounds for pairing in each.pairings]
    for number, game in enumerate(games):
        name = game.partition("(")[0]
        control = str(parse(time or TIMES.get(name, DEFAULT_TIME)))
        for index, pairing in enumerate(pairings):
            begins = index / len(pairings) * AHEAD.get(name, 1.0)
            placed.append((begins, number, Fixture(game, *pairing, control)))
    placed.sort(key=lambda each: each[:2])
    return tuple(fixture for _, _, fixture in placed)
