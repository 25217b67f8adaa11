"""Two bots play each other in this process, with nothing in between but the rules of the game.

`arbiter.bench.tournament` measures this beside a tournament. Random bots get their legal moves; engines are asked by
the bridge of the Python client, as by `arbiter bot run`, and told of each new game, at which most forget all that they
know. With a store, each move is stored before the next one is asked for, as an arbiter has to: this shows what remains
of the rate before an arbiter does anything else.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from random import Random
from typing import Any, Final, NamedTuple

from arbiter_client.bot import Move
from arbiter_client.bridge.child import starting
from arbiter_client.bridge.language import Question
from arbiter_client.bridge.program import Program
from arbiter_client.bridge.uci import Search, Uci
from arbiter_client.values.play import LiveMatch, Turn

from arbiter.bench.processes import answer, order
from arbiter.bench.tournament import OPENING
from arbiter.bootstrap.store import open_store
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.sandbox.spawner import found
from arbiter.service.ports.journal import Append, Journal, Record, Subject

START_S: Final = 60.0  #: for an engine to introduce itself
LIMIT_S: Final = 60.0  #: for a move
WARM_UP_S: Final = 1.0


class Player(NamedTuple):
    """Who plays: `ask` returns a move, by the position and the moves before it; `begin` announces a game."""

    ask: Callable[[Any, tuple[str, ...]], Awaitable[str]]
    begin: Callable[[], Awaitable[None]]


RECORD: Final = b'{"move":"%s","ply":%d,"said":"' + b"0" * 500 + b'"}'  #: about as long as an arbiter's


class Pair:
    """Two bots that play one game after the other. journal: where each move is stored."""

    def __init__(
        self,
        game: AnyGame,
        players: Sequence[Player],
        plies: int,
        opening: int,
        seed: int,
        journal: Journal | None = None,
    ) -> None:
        self.moves = self.games = 0
        self._journal = journal
        self._name = f"pair-{seed}"
        self._game = game
        self._players = players
        self._plies = plies
        self._opening = opening
        self._random = Random(seed)

    async def play(self) -> None:
        """Play until cancelled."""
        game = self._game
        while True:
            position, played = game.initial(), tuple[str, ...]()
            for player in self._players:
                await player.begin()
            while position.outcome is None and len(played) < self._plies:
                if len(played) < self._opening:
                    move = self._random.choice(game.moves(position))
                else:
                    move = await self._players[len(played) % 2].ask(position, played)
                position, played = game.play(position, move), (*played, move)
                if self._journal is not None:
                    revision, body = len(played), RECORD % (move.encode(), len(played))
                    record = Record(f"{self._name}-{self.games}", revision, body, Subject.MATCH)
                    await self._journal.append(Append((record,)))
                self.moves += 1
            self.games += 1
            await asyncio.sleep(0)


def random_bot(game: AnyGame, seed: int) -> Player:
    """Return a bot that plays at random."""
    random = Random(seed)

    async def ask(position: Any, _played: tuple[str, ...]) -> str:
        return random.choice(game.moves(position))

    async def begin() -> None:
        pass

    return Player(ask, begin)


async def engine(command: str) -> tuple[Program, Player]:
    """Start an engine that searches one node a move."""
    program, *words = shlex.split(command)
    running = await Program.start(
        starting([found(program) or program, *words]), Uci({}, Search(nodes=1)), START_S, program
    )
    match = LiveMatch("direct", "chess", 1, "")

    async def ask(_position: Any, played: tuple[str, ...]) -> str:
        match.moves = played
        choice = await running.ask(Question(_turn(match, len(played)), None, None, None), LIMIT_S)
        assert isinstance(choice, Move)
        return choice.text

    return running, Player(ask, lambda: running.begin(match, START_S))


def _turn(match: LiveMatch, ply: int) -> Turn:
    return Turn(
        game=match.game,
        seat=1 + ply % 2,
        ply=ply,
        position="",
        last_moves=(),
        clocks=(),
        started_ms=0,
        now_ms=0,
        draw_claim="",
        draw_offered=False,
        opponent="",
        board=(),
        legal_move_count=0,
        legal_moves=(),
        available_ms=0,
        revision=0,
        match=match,
    )


async def measure(
    variant: str, uci: str, at_once: int, plies: int, seconds: float, store: str = ""
) -> dict[str, float]:
    """Play this many games at once; return moves, games, seconds and processor seconds of this process.

    store: the path of a new file, in which each move is stored.
    """
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(open_store(f"sqlite:///{store}")) if store else None
        return await _measured(variant, uci, at_once, plies, seconds, opened.journal if opened is not None else None)


async def _measured(
    variant: str, uci: str, at_once: int, plies: int, seconds: float, journal: Journal | None
) -> dict[str, float]:
    game, programs, pairs = registry.game(variant), list[Program](), list[Pair]()
    for number in range(at_once):
        players = list[Player]()
        for seed in (2 * number, 2 * number + 1):
            if uci:
                program, player = await engine(uci)
                programs.append(program)
                players.append(player)
            else:
                players.append(random_bot(game, seed))
        pairs.append(Pair(game, players, plies, OPENING if uci else 0, number, journal))
    playing = [asyncio.create_task(pair.play()) for pair in pairs]
    await asyncio.sleep(min(WARM_UP_S, seconds))
    moves, games = (sum(counts) for counts in zip(*((pair.moves, pair.games) for pair in pairs), strict=True))
    began, spent = time.monotonic(), time.process_time()
    await asyncio.sleep(seconds)
    took, spent = time.monotonic() - began, time.process_time() - spent
    for task in playing:
        task.cancel()
    ended = await asyncio.gather(*playing, return_exceptions=True)
    for each in ended:
        if not isinstance(each, asyncio.CancelledError):
            raise each or RuntimeError("a pair has stopped")
    await asyncio.gather(*(program.kill() for program in programs))
    return {
        "moves": sum(pair.moves for pair in pairs) - moves,
        "games": sum(pair.games for pair in pairs) - games,
        "seconds": took,
        "spent": spent,
    }


if __name__ == "__main__":
    logging.getLogger("arbiter_client").setLevel(logging.ERROR)  # at the end engines answer when nobody asks any more
    plan = order()
    assert plan is not None
    answer(**asyncio.run(measure(**plan)))
