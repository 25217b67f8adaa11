"""Clauses: what is asked of a bot, sentence by sentence of the contract, and the register that they are put into."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from arbiter.conformance.stage import Stage

Situation = Callable[[Stage], Awaitable[None]]
"""Brings a bot into a situation; returns if it did what it should. Raises Failed, NotApplicable."""

PLAY: Final = "protos/arbiter/v1/play.proto"
MATCH: Final = "protos/arbiter/v1/match.proto"
PLAYER: Final = "protos/arbiter/v1/player.proto"
GAME: Final = "protos/arbiter/v1/game.proto"
REFUSAL: Final = "protos/arbiter/v1/refusal.proto"
SERVER: Final = "protos/arbiter/v1/server.proto"
PROTOS: Final = "protos/README.md"
CLIENTS: Final = "clients/README.md"

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
"""What each chapter is about, in the order of the report."""


@dataclass(frozen=True, slots=True)
class Clause:
    """Something that is asked of a bot.

    id: `chapter.name`. title: in a line, what the bot does. quote: the sentence of the contract, word for word.
    source: the file of the repository where it stands. situation: what is done to see it. tls: over TLS.
    slow: takes long, by waiting; it is begun before all others. cold: it starts a bot itself, and wants none
    that runs already.
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
        """The situation in words."""
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
    """Return the clauses that have been registered so far, in their order; `catalogue.clauses` registers all."""
    return list(_REGISTER.values())
