"""What tournaments need from the rest of the arbiter, as ports, and how many matches each player takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from arbiter.matches.policy import Policy
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.observing.feed import Feed
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import Journal, StoredRecord
from arbiter.service.ports.log import Logger
from arbiter.service.record import tournaments as tournament_log
from arbiter.service.record.tournaments import StoredLog
from arbiter.service.tournaments.adjudicators import Adjudicators
from arbiter.service.tournaments.capacity import Capacity
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats import FreePlayers, Strength, of
from arbiter.tournaments.openings import opening
from arbiter.tournaments.spec import Openings
from arbiter.tournaments.tournament import Tournament


class PairingWorker(Protocol):
    """Work on tournaments that may take seconds: it runs apart from the event loop."""

    async def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return what a tournament's format proposes, for the tournament as far as it is durable.

        Raises PairingFailed.
        """

    async def opening(self, openings: Openings, game: str, number: int) -> tuple[str, ...]:
        """Return the opening of a meeting's games; see `arbiter.tournaments.openings`. Raises PairingFailed."""

    async def load(self, tournament: str, records: Sequence[StoredRecord]) -> StoredLog:
        """Return the log of a tournament from all its records. Raises StoreDamaged."""


class Strengths(Protocol):
    """How strong players are."""

    async def strengths(self, games: Sequence[str]) -> Mapping[str, Strength]:
        """Return how strong the newest version of each player is, by the results of some variants together.

        Raises Refusal STORE_UNAVAILABLE, BUDGET_SPENT.
        """


class PairingFailed(Exception):
    """The process that pairs gave no answer, or its code has a mistake; says what is known."""


class InProcessPairing:
    """Pairs on the spot: where nobody minds waiting, as in a simulation."""

    async def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return what a tournament's format proposes; see the port."""
        return of(tournament.spec).propose(tournament, field)

    async def opening(self, openings: Openings, game: str, number: int) -> tuple[str, ...]:
        """Return the opening of a meeting's games; see the port."""
        return opening(openings, game, number)

    async def load(self, tournament: str, records: Sequence[StoredRecord]) -> StoredLog:
        """Return the log of a tournament; see the port."""
        return tournament_log.load(tournament, records)


class Dependencies(NamedTuple):
    """What a tournament needs from the rest of the arbiter. policy: of matches, where a specification says nothing.

    shared: other servers may use the store.
    """

    journal: Journal
    matches: MatchRegistry
    feed: Feed
    clock: Clock
    capacity: Capacity
    pairing: PairingWorker
    ratings: Strengths
    policy: Policy
    judges: Adjudicators
    shared: bool
    log: Logger
