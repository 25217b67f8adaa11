"""The plan of a demo: a Swiss in every game, and after it a ladder, for five bundled bots.

Everything here is a pure function of the terms of a run, so that a resumed run makes the same requests again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import arbiter_client as arb

from arbiter.cli.failure import Failure
from arbiter.cli.tournament_bots import BotEntry
from arbiter.cli.tournament_spec import spec_value
from arbiter.games import registry
from arbiter.matches import time_control
from arbiter.tournaments.spec_text import read_spec

PLAN: Final = "plan.json"
BOTS: Final = {"mcts": "mcts", "greedy": "greedy", "wire": "wire", "scout": "wire", "random": "random"}
"""The players, and the bundled bots that play for them."""

TIME: Final = "2s+150ms"
LADDER_TIME: Final = "1s+100ms"
"""The increment pays for what a move takes without any thought (thousands of legal moves on their way through a busy
machine), so that no flag falls. The main time is short, because searching bots use it up."""

ROUNDS: Final = 3
LADDER: Final = "10s"
LONGEST: Final = 120
"""Plies after which a game is drawn: weak bots can go on for long, and a round waits for its last game."""
TIE_BREAKS: Final = ("buchholz_cut_1", "sonneborn_berger")
LADDER_GAMES: Final = ("circle-of-life", "hop-it")
"""The ladder plays short games, so that there are many: pairing is what it shows."""


class DemoSettings(NamedTuple):
    """The parameters of a run. games, rounds: of the Swiss; ladder: how long it lasts; time: of all games or ''."""

    games: tuple[str, ...]
    rounds: int = ROUNDS
    ladder: str = LADDER
    time: str = ""

    def swiss(self) -> arb.TournamentSpec:
        """Return the specification of the Swiss. Raises Refusal if it is invalid."""
        options = {"rounds": self.rounds}
        return self._spec("swiss", self.games, self.time or TIME, options=options, tie_breaks=TIE_BREAKS)

    def ladder_spec(self) -> arb.TournamentSpec:
        """Return the specification of the ladder. Raises Refusal if it is invalid."""
        few = [game for game in self.games if game in LADDER_GAMES] or self.games[:1]
        # No validation games: all bots have played the Swiss. Those of a slow bot would take half of so short a time.
        options = {"duration": self.ladder, "validation": False}
        return self._spec("ladder", few, self.time or LADDER_TIME, options=options)

    def text(self) -> str:
        """Return the terms as text for a file."""
        return json.dumps(self._asdict(), indent=2) + "\n"

    def _spec(self, format_: str, games: Sequence[str], time: str, **more: Any) -> arb.TournamentSpec:
        """Return a tournament in which each pairing plays all games, as many at once as the concurrency allows."""
        values = {"name": f"Demo {format_}", "format": format_, "games": games, "time": time, "paired": False, **more}
        values |= {"at_once": len(games), "adjudication": {"plies": LONGEST}}
        return spec_value(read_spec(values, time_control.parse))


def terms_in(file: Path) -> DemoSettings:
    """Parse the terms in a file. Raises Failure if the file holds none."""
    try:
        plan = json.loads(file.read_text(encoding="utf-8"))
        return DemoSettings(tuple(map(str, plan["games"])), int(plan["rounds"]), str(plan["ladder"]), str(plan["time"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(f"{file} does not say what to play ({error}): start a new run without --resume") from None


def canonical(games: Sequence[str]) -> tuple[str, ...]:
    """Return the canonical names of games and variants, each once; all bundled games if none are given.

    Raises Refusal GAME_UNKNOWN or PARAMETER_INVALID.
    """
    return tuple(dict.fromkeys(registry.game(name).variant for name in games or registry.SEED))


def bots() -> tuple[BotEntry, ...]:
    """Return the bots."""
    return tuple(BotEntry(name, bundled, (), {}, 0, "") for name, bundled in BOTS.items())
