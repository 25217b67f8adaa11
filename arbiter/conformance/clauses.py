"""Clauses: requirements on a bot, each a sentence of the contract, and the register of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from arbiter.conformance.testbed import Testbed

Situation = Callable[[Testbed], Awaitable[None]]
"""Runs a bot through a situation; returns if the bot behaves as it should. Raises Failed, NotApplicable."""

PLAY: Final = "protos/arbiter/v1/play.proto"
MATCH: Final = "protos/arbiter/v1/match.proto"
PLAYER: Final = "protos/arbiter/v1/player.proto"
GAME: Final = "protos/arbiter/v1/game.proto"
REFUSAL: Final = "protos/arbiter/v1/refusal.proto"
SERVER: Final = "protos/arbiter/v1/server.proto"
PROTOS: Final = "protos/README.md"
CLIENTS: Final = "clients/BEHAVIOUR.md"
BOTS: Final = "clients/README.md"

CHAPTERS: Final = {
    "hello": "hello, token, patience",
    "games": "every game, long lists, openings, large boards",
    "turns": "turns doubled, late, overtaken, interrupted",
    "reconnect": "reconnecting, at every point",
    "refusals": "refusals",
    "requests": "request ids",
    "newer": "what is newer is passed over",
    "parallel": "several matches at once, self-play",
    "challenges": "challenges",
    "seeks": "seeks of its own",
    "results": "results and their acknowledgement",
    "draws": "draw offers",
    "heartbeat": "heartbeat",
    "clocks": "clock pressure, slow network",
    "sessions": "sessions that end for good",
    "shutdown": "shutdown",
    "tls": "transport security",
}
"""The subject of each chapter, in the order of the report."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A requirement on a bot.

    id: `chapter.name`. title: one line that says what the bot does. quote: the sentence of the contract, word for word.
    source: the repository's file with that sentence. situation: the test. tls: run over TLS. slow: takes long because
    it waits; started before all others. cold: starts the bot itself, and needs none that runs already.
    """

    id: str
    title: str
    quote: str
    source: str
    situation: Situation
    tls: bool = False
    slow: bool = False
    cold: bool = False

    @property
    def chapter(self) -> str:
        """The first part of the id."""
        return self.id.partition(".")[0]

    @property
    def about(self) -> str:
        """The description of the situation."""
        return " ".join((self.situation.__doc__ or "").split())


_REGISTER: dict[str, Clause] = {}


def clause(name: str, title: str, quote: str, source: str = PLAY, **kinds: bool) -> Callable[[Situation], Situation]:
    """Register a situation as a clause, with `tls`, `slow` or `cold`. Raises ValueError for an id that is taken."""

    def register(situation: Situation) -> Situation:
        if name in _REGISTER:
            raise ValueError(f"there is a clause {name} already")
        _REGISTER[name] = Clause(name, title, quote, source, situation, **kinds)
        return situation

    return register


def registered() -> list[Clause]:
    """Return the clauses that have been registered so far, in order; `catalogue.clauses` registers all."""
    return list(_REGISTER.values())
