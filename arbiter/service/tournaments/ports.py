"""The ports that tournaments use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from arbiter.errors import parameter_invalid
from arbiter.matches.policy import Policy
from arbiter.service.alone import OtherServers
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.observing.feed import Feed
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import Journal, StoredRecord
from arbiter.service.ports.log import Logger
from arbiter.service.record import tournaments as tournament_log
from arbiter.service.record.tournaments import StoredLog
from arbiter.service.tournaments.adjudicators import Adjudicators
from arbiter.service.tournaments.books import BookFacts, BookProblem, Books, NoBooks, WrongEntry
from arbiter.service.tournaments.capacity import Capacity
from arbiter.tournaments.book_order import Opening, number
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats import FreePlayers, Strength, of
from arbiter.tournaments.openings import Turn, opening
from arbiter.tournaments.spec import ALL_READ, Openings, Spec
from arbiter.tournaments.tournament import Tournament

MOST_WRONG: Final = 100  #: wrong entries of a book in a row that are left out


class PairingWorker(Protocol):
    """Computations for tournaments that may take seconds: they run apart from the event loop."""

    async def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return the pairing that a tournament's format proposes for the tournament's durable state.

        Raises PairingFailed.
        """

    async def opening(self, openings: Openings, game: str, turn: Turn) -> Opening:
        """Return the opening of a meeting's games; see `opened` in this module. Raises PairingFailed."""

    async def book(self, name: str, game: str, plies: int) -> BookFacts:
        """Return the facts of an opening book for a variant. Raises PairingFailed, also if a first entry is wrong.

        plies: at most so many moves of an entry are read by the rules; 0: all.
        """

    async def load(self, tournament: str, records: Sequence[StoredRecord]) -> StoredLog:
        """Return the log of a tournament from all its records. Raises StoreDamaged."""


class Strengths(Protocol):
    """The strengths of players."""

    async def strengths(self, games: Sequence[str]) -> Mapping[str, Strength]:
        """Return the strength of each player's newest version, from the results of some variants together.

        Raises Refusal STORE_UNAVAILABLE, BUDGET_SPENT.
        """


class PairingFailed(Exception):
    """The process that pairs has given no answer, or its code has raised an error; the message says which."""


def opened(books: Books, openings: Openings, game: str, turn: Turn) -> Opening:
    """Return the opening of a meeting's games: of the book, or as `arbiter.tournaments.openings` chooses it.

    An entry of the book that the rules do not allow is left out: the next one that they allow takes its place. Raises
    BookProblem for a book that is not there or is another one, and if too many entries in a row are wrong.
    """
    if not openings.book:
        return Opening(opening(openings, game, turn))
    first = number(openings, game, turn)
    for tried in range(MOST_WRONG):
        entry = 1 + (first - 1 + tried) % openings.book_size
        try:
            return books.opening(openings.book, openings.book_hash, game, entry, openings.book_plies)
        except WrongEntry as wrong:
            if tried == MOST_WRONG - 1 or openings.book_size == 1:
                raise BookProblem(str(wrong)) from None
    raise AssertionError


def looked_at(books: Books, name: str, game: str, plies: int) -> BookFacts:
    """Return the facts of a book, whose first entries are read by the rules. Raises BookProblem."""
    facts = books.facts(name, game)
    for entry in range(1, min(facts.size, ALL_READ) + 1):
        try:
            books.opening(name, facts.digest, game, entry, plies)
        except WrongEntry as wrong:
            raise BookProblem(str(wrong)) from None
    return facts


class InProcessPairing:
    """Pairs in the current process, where waiting does no harm, as in a simulation."""

    def __init__(self, books: Books | None = None) -> None:
        self._books = books or NoBooks()

    async def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return the pairing that a tournament's format proposes; see the port."""
        return of(tournament.spec).propose(tournament, field)

    async def opening(self, openings: Openings, game: str, turn: Turn) -> Opening:
        """Return the opening of a meeting's games; see the port."""
        try:
            return opened(self._books, openings, game, turn)
        except BookProblem as problem:
            raise PairingFailed(str(problem)) from None

    async def book(self, name: str, game: str, plies: int) -> BookFacts:
        """Return the facts of an opening book; see the port."""
        try:
            return looked_at(self._books, name, game, plies)
        except BookProblem as problem:
            raise PairingFailed(str(problem)) from None

    async def load(self, tournament: str, records: Sequence[StoredRecord]) -> StoredLog:
        """Return the log of a tournament; see the port."""
        return tournament_log.load(tournament, records)


class Dependencies(NamedTuple):
    """The other components that a tournament uses.

    policy: of its matches, for all fields that the specification does not set. others: of the store.
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
    others: OtherServers
    log: Logger


async def with_book(spec: Spec, pairing: PairingWorker) -> Spec:
    """Return a specification with the facts of its opening book, if it has one. Raises Refusal PARAMETER_INVALID."""
    openings = spec.openings
    if not openings.book:
        return spec
    try:
        facts = await pairing.book(openings.book, spec.games[0], openings.book_plies)
    except PairingFailed as failure:
        allowed = f"an opening book of {spec.games[0]} ({failure})"
        raise parameter_invalid(openings.book, "openings.book", allowed, of="a tournament") from None
    if openings.book_hash not in ("", facts.digest):
        raise parameter_invalid(openings.book_hash, "openings.book_hash", facts.digest, of="a tournament")
    return replace(spec, openings=replace(openings, book_hash=facts.digest, book_size=facts.size))


def with_book_of(asked: Spec, made: Spec) -> Spec:
    """Return what was asked for with the facts of the book that the server has filled in before, for comparison."""
    openings = asked.openings
    if not openings.book or openings.book_hash not in ("", made.openings.book_hash):
        return asked
    facts = replace(openings, book_hash=made.openings.book_hash, book_size=made.openings.book_size)
    return replace(asked, openings=facts)
