"""The strength of the bundled bots: one against another, in one process, without a server, at a given time per move.

Games come in pairs with one seed, so that each player has each seat equally often. The score counts 1 for a win and ½
for a draw. Its 95 % interval is Wilson's (1927), with a draw as half a success, which makes it slightly too wide. A
player that is preempted by other work on the machine loses that time, as it would in a match.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, NamedTuple

from arbiter_client.bots.greedy import best_move
from arbiter_client.bots.mcts import Search

from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame, Outcome

SEED: Final = 2026
Z: Final = 1.96  #: for a 95 % interval

Choose = Callable[[tuple[str, ...], Any], str]
"""Returns a player's move, from the moves so far and the position after them."""

Player = Callable[[AnyGame, Random, float], Choose]
"""Makes a player for one match: the game, its chance, the seconds that it may think on each move."""


def random(game: AnyGame, dice: Random, move_s: float) -> Choose:
    """Return a player that plays random moves."""
    return lambda line, position: dice.choice(game.moves(position))


def greedy(game: AnyGame, dice: Random, move_s: float) -> Choose:
    """Return a player that looks one move ahead."""
    return lambda line, position: best_move(game, position, dice, time.monotonic() + move_s)


def mcts(game: AnyGame, dice: Random, move_s: float) -> Choose:
    """Return a player that uses Monte Carlo tree search."""
    search = Search(game, dice)

    def choose(line: tuple[str, ...], position: Any) -> str:
        until_s = time.monotonic() + move_s
        return search.move(line, position, lambda played: time.monotonic() >= until_s)

    return choose


PLAYERS: Final[dict[str, Player]] = {"random": random, "greedy": greedy, "mcts": mcts}


class Score(NamedTuple):
    """The first player's result: games by its points in them, and the mean number of plies."""

    wins: int
    draws: int
    losses: int
    plies: float

    @property
    def games(self) -> int:
        """How many games were played."""
        return self.wins + self.draws + self.losses

    @property
    def share(self) -> float:
        """The first player's points per game, 0 to 1."""
        return (self.wins + self.draws / 2) / self.games

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share."""
        games, share = self.games, self.share
        centre = (share + Z * Z / (2 * games)) / (1 + Z * Z / games)
        half = Z / (1 + Z * Z / games) * math.sqrt(share * (1 - share) / games + Z * Z / (4 * games * games))
        return max(0.0, centre - half), min(1.0, centre + half)


def contest(game: AnyGame, first: Player, second: Player, games: int, move_s: float, seed: int = SEED) -> Score:
    """Play a number of games and return the first player's score; it has seat 1 in the 1st, 3rd, … game."""
    points: Counter[int] = Counter()
    plies = 0
    for number in range(games):
        own = first(game, Random(f"{seed}/{number}/first"), move_s)
        other = second(game, Random(f"{seed}/{number}/second"), move_s)
        seat = 1 + number % 2
        outcome, length = play_out(game, (own, other) if seat == 1 else (other, own))
        points[(outcome.winner == seat) - (outcome.winner == 3 - seat)] += 1
        plies += length
    return Score(points[1], points[0], points[-1], plies / games)


def play_out(game: AnyGame, players: tuple[Choose, Choose]) -> tuple[Outcome, int]:
    """Return the outcome and the length of a game between two players, in the order of their seats."""
    position = game.initial()
    line: tuple[str, ...] = ()
    while position.outcome is None:
        move = players[position.turn - 1](line, position)
        line = (*line, move)
        position = game.play(position, move)
    return position.outcome, len(line)


@dataclass(frozen=True, slots=True)
class StrengthPlan:
    """What to play: two players by name, games of each variant, and the time per move."""

    first: str = "mcts"
    second: str = "greedy"
    games: int = 40
    move_ms: int = 50
    variants: tuple[str, ...] = tuple(registry.SEED)


def settings(arguments: Sequence[str]) -> StrengthPlan:
    """Parse the command line. Exits with code 2 and a line on standard error if it is invalid."""
    default = StrengthPlan()
    parser = argparse.ArgumentParser("python -m tests.studies strength", description="Play bot against bot.")
    parser.add_argument("--first", choices=PLAYERS, default=default.first)
    parser.add_argument("--second", choices=PLAYERS, default=default.second)
    parser.add_argument("--games", type=int, default=default.games, help="of each variant (default: %(default)s)")
    parser.add_argument("--move-ms", type=int, default=default.move_ms, help="time a move (default: %(default)s)")
    parser.add_argument("variants", nargs="*", metavar="GAME", help="games or variants (default: the five games)")
    found = parser.parse_args(arguments)
    if found.games < 1 or found.move_ms < 1:
        parser.error("--games and --move-ms are at least 1")
    for variant in found.variants:
        try:
            registry.game(variant)
        except Refusal as refusal:
            parser.error(refusal.message)
    variants = tuple(found.variants) or default.variants
    return StrengthPlan(found.first, found.second, found.games, found.move_ms, variants)


def bench_strength(write: Callable[[str], object], what: StrengthPlan) -> None:
    """Play every variant and write a table, row by row as the results arrive. By default it takes about ten minutes."""
    write(f"{what.first} against {what.second}: {what.games} games, {what.move_ms} ms a move, seed {SEED}\n\n")
    heading = f"{'game':<16}{'won':>5}{'drawn':>7}{'lost':>6}{'score':>8}   {'95 % interval':<15}{'plies':>6}\n"
    write(heading + "-" * (len(heading) - 1) + "\n")
    for variant in what.variants:
        game = registry.game(variant)
        score = contest(game, PLAYERS[what.first], PLAYERS[what.second], what.games, what.move_ms / 1000)
        low, high = score.interval
        write(
            f"{variant:<16}{score.wins:>5}{score.draws:>7}{score.losses:>6}{score.share:>8.1%}"
            f"   {f'{low:.1%}–{high:.1%}':<15}{score.plies:>6.0f}\n"
        )
