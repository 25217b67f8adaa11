"""The ports that tournaments use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from arbiter.matches.policy import Policy
from arbiter.service.alone import OtherServers
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.observing.feed import Feed
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import Appends, Journal, StoredRecord
from arbiter.service.ports.log import Logger
from arbiter.service.ports.snapshots import Snapshot, Snapshots
from arbiter.service.record import tournament_log
from arbiter.service.record.snapshots import go_on_from, take_snapshot
from arbiter.service.record.tournament_log import Chain, StoredLog, follow
from arbiter.service.tournaments.adjudicators import Adjudicators
from arbiter.service.tournaments.books import BookFacts, BookProblem, Books, NoBooks, checked_facts, opening_of
from arbiter.service.tournaments.capacity import Capacity
from arbiter.tournaments.book_order import Opening
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats import FreePlayers, Strength, of
from arbiter.tournaments.openings import Turn
from arbiter.tournaments.recalling import Recall, Recalled, Wanted
from arbiter.tournaments.spec import Openings
from arbiter.tournaments.tournament import Tournament


class PairingWorker(Protocol):
    """Computations for tournaments that may take seconds: they run apart from the event loop."""

    async def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return the pairing that a tournament's format proposes for the tournament's durable state.

        Raises PairingFailed.
        """

    async def opening(self, openings: Openings, game: str, turn: Turn) -> Opening:
        """Return the opening of a meeting's games; see `books.opening_of`. Raises PairingFailed."""

    async def book(self, name: str, game: str, plies: int) -> BookFacts:
        """Return the facts of an opening book for a variant. Raises PairingFailed, also if a first entry is wrong.

        plies: this many moves of an entry are read by the rules; see `books`.
        """

    async def load(self, tournament: str, records: Sequence[StoredRecord], *, folded: bool) -> StoredLog:
        """Return the log of a tournament from all its records; folded: without the old games of a ladder.

        Raises StoreDamaged.
        """

    async def go_on_from(self, snapshot: Snapshot, records: Sequence[StoredRecord]) -> StoredLog | None:
        """Return the log from a snapshot and the records from its event on; see `record.snapshots`.

        Raises OldGamesNeeded.
        """

    async def follow(self, log: StoredLog, records: Sequence[StoredRecord]) -> StoredLog | None:
        """Return a log with its next records; see `record.tournament_log`. Raises OldGamesNeeded."""

    async def recall(self, wanted: Wanted, bodies: AsyncIterator[Sequence[bytes]]) -> Recalled:
        """Return old games of a ladder; `bodies` yields all records up to the wanted revision.

        Raises PairingFailed, and what `bodies` raises.
        """

    async def first_snapshot(self, log: StoredLog) -> Snapshot:
        """Return a snapshot of a log that was just read: nothing changes it yet."""

    async def snapshot(self, tournament: Tournament, chain: Chain) -> Snapshot:
        """Return a snapshot of a tournament, of this durable state or a later one. Raises PairingFailed, StoreFailed.

        chain: the end of the log that leads to the state.
        """


class Strengths(Protocol):
    """The strengths of players."""

    async def strengths(self, games: Sequence[str]) -> Mapping[str, Strength]:
        """Return the strength of each player's newest version, from the results of some variants together.

        Raises Refusal STORE_UNAVAILABLE, BUDGET_SPENT.
        """


class PairingFailed(Exception):
    """The process that pairs has given no answer, or its code has raised an error; the message says which."""


class InProcessPairing:
    """Pairs in the current process, where waiting does no harm, as in a simulation."""

    def __init__(self, books: Books | None = None) -> None:
        self._books = books or NoBooks()

    async def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        return of(tournament.spec).propose(tournament, field)

    async def opening(self, openings: Openings, game: str, turn: Turn) -> Opening:
        try:
            return opening_of(self._books, openings, game, turn)
        except BookProblem as problem:
            raise PairingFailed(str(problem)) from None

    async def book(self, name: str, game: str, plies: int) -> BookFacts:
        try:
            return checked_facts(self._books, name, game, plies)
        except BookProblem as problem:
            raise PairingFailed(str(problem)) from None

    async def load(self, tournament: str, records: Sequence[StoredRecord], *, folded: bool) -> StoredLog:
        return tournament_log.load(tournament, records, folded=folded)

    async def go_on_from(self, snapshot: Snapshot, records: Sequence[StoredRecord]) -> StoredLog | None:
        return go_on_from(snapshot, [record.body for record in records])

    async def follow(self, log: StoredLog, records: Sequence[StoredRecord]) -> StoredLog | None:
        return follow(log, [record.body for record in records])

    async def recall(self, wanted: Wanted, bodies: AsyncIterator[Sequence[bytes]]) -> Recalled:
        recall, chain = Recall(wanted), Chain(wanted.tournament)
        async for each in bodies:
            recall.read(chain.follow(each))
        return recall.found()

    async def first_snapshot(self, log: StoredLog) -> Snapshot:
        return take_snapshot(log.tournament, log.chain)

    async def snapshot(self, tournament: Tournament, chain: Chain) -> Snapshot:
        return take_snapshot(tournament, chain)


class Dependencies(NamedTuple):
    """The other components that a tournament uses.

    policy: of its matches, for all fields that the specification does not set. others: of the store.
    """

    journal: Journal
    appends: Appends
    snapshots: Snapshots
    matches: MatchRegistry
    feed: Feed
    clock: Clock
    capacity: Capacity
    pairing: PairingWorker
    ratings: Strengths
    policy: Policy
    judges: Adjudicators
    others: OtherServers
    log: Logger
