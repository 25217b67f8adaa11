"""The journal as a port: the event log of matches and tournaments, and what is derived from it."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from arbiter.errors import OperatorError, Reason, Refusal

RETRY_MS = 1_000  #: after which another attempt on a store that failed is worth while


class Subject(StrEnum):
    """What a record belongs to: the log of a match, or that of a tournament."""

    MATCH = "match"
    TOURNAMENT = "tournament"


class Record(NamedTuple):
    """An event as it is stored, streamed and hashed: canonical JSON. `match_id` is the id of its subject."""

    match_id: str
    revision: int
    body: bytes
    subject: Subject


class StoredRecord(NamedTuple):
    """A record with its place in the journal; places grow in the order in which records become visible."""

    sequence: int
    match_id: str
    revision: int
    body: bytes
    subject: Subject


@dataclass(frozen=True, slots=True)
class MatchEnd:
    """The derived end of a match; the words are those of the `ended` event.

    version_1, version_2: the versions of the bots that it counts for, by seat; '' where they are not known.
    """

    result: str
    winner: int
    reason: str
    cause: str
    party: str
    seat: int
    note: str
    ended_ms: int
    position: str
    ply: int
    version_1: str = ""
    version_2: str = ""


@dataclass(frozen=True, slots=True)
class MatchSummary:
    """What lists of matches show: derived from the log, in the same transaction.

    `sequence` is the journal place of the match's first event, `ended_sequence` that of its last, 0 while it goes on.
    """

    match_id: str
    game: str
    player_1: str
    player_2: str
    time_control: str
    rated: bool
    label: str
    creator: str
    request_id: str
    created_ms: int
    sequence: int = 0
    ended_sequence: int = 0
    end: MatchEnd | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which matches a list shows; empty fields let everything through. `ended` None means both."""

    player: str = ""
    game: str = ""
    label: str = ""
    ended: bool | None = None


class Tally(NamedTuple):
    """How often a pairing ended in one way: derived from the log, in the transaction of each ending event.

    `player_1` had seat 1, with version `version_1` of its bot; result, winner and cause are the words of the `ended`
    event. Standings and ratings are functions of tallies: what counts for neither (void results, unrated games) is told
    apart here, not left out.
    """

    label: str
    game: str
    rated: bool
    player_1: str
    player_2: str
    result: str
    winner: int
    cause: str
    games: int
    version_1: str = ""
    version_2: str = ""


class PlayerResult(NamedTuple):
    """How often one player's matches ended in one way: derived from the log, rated and unrated matches alike.

    seat, version: the player's own. won: True, False, or None for a draw or a void match; result: the word of the
    `ended` event. A match of a player against itself counts for both seats.
    """

    game: str
    opponent: str
    seat: int
    version: str
    result: str
    won: bool | None
    reason: str
    games: int


@dataclass(frozen=True, slots=True)
class TournamentSummary:
    """What lists of tournaments show: derived from the log, in the same transaction.

    format and phase are words of `arbiter.tournaments`; instants and sequences that are not there yet are 0.
    """

    tournament_id: str
    name: str
    format: str
    phase: str
    creator: str
    request_id: str
    created_ms: int
    started_ms: int = 0
    ended_ms: int = 0
    sequence: int = 0
    ended_sequence: int = 0


@dataclass(frozen=True, slots=True)
class TournamentFilter:
    """Which tournaments a list shows; empty fields let everything through. `ended` None means both."""

    format: str = ""
    creator: str = ""
    ended: bool | None = None


class Basis:
    """What appends of a match build on: its record as it was read, and the appends since then.

    Appends are queued before the answers to earlier ones are known. Once one of them has failed, those behind it build
    on records that are not stored. Another server's record may be in that place, and then the condition of such an
    append (the revision before it exists) would hold for a record that its writer has never seen. So a journal marks
    the basis of an append that has failed as `lost`, and stores nothing more that builds on it.
    """

    __slots__ = ("lost",)

    def __init__(self) -> None:
        self.lost = False


class Append(NamedTuple):
    """Records of one match or tournament that belong together, and what is derived from them.

    opened: with the first records of a match; closed: with its last ones. tournament: with every append to one, as it
    is after it; the journal fills in the sequences. basis: what the records build on; None if nothing else of the same
    match or tournament is queued.
    """

    records: tuple[Record, ...]
    opened: MatchSummary | None = None
    closed: MatchEnd | None = None
    tournament: TournamentSummary | None = None
    basis: Basis | None = None


class JournalConflict(Exception):
    """Somebody else wrote that revision first, or the append's basis is lost. Nothing of the append was stored."""


class StoreFailed(Refusal):
    """The database did not say that it took this write, or gave nothing to read; `why` is a clause for people.

    Where the connection to it was lost, it may have taken the write all the same.
    """

    def __init__(self, why: str = "") -> None:
        self.why = why
        detail = f": {why}" if why else ""
        super().__init__(
            Reason.STORE_UNAVAILABLE,
            f"the server can't use its database now{detail}; send the same request again in a while",
            retry_after_ms=RETRY_MS,
        )


class StoreDamaged(StoreFailed):
    """What is stored is not what was written, and to read it again does not help. `why` names the place.

    facts: the id of the match or tournament and the revision, where it is one record.
    """

    def __init__(self, why: str, **facts: object) -> None:
        message = f"the server's database is damaged: {why}; whoever runs the server has to repair it"
        Refusal.__init__(self, Reason.RECORD_DAMAGED, message, why=why, **facts)
        self.why = why


class RecordDamaged(StoreDamaged):
    """A record of a match, or `of` a tournament, is not what was written, or is missing."""

    def __init__(self, match_id: object, revision: object, why: str, of: str = "match") -> None:
        where = f"revision {revision} of {of} {match_id} is damaged ({why})"
        super().__init__(where, id=match_id, revision=revision)


class StoreTooNew(OperatorError):
    """The database was written by a newer version of the arbiter."""


class Seals(Protocol):
    """Seals on records: only who has the arbiter's signing keys can make them, so nobody else can change a record.

    A seal covers the record and its place in the log. So a record cannot be changed, moved or exchanged for another,
    and because places have no gaps, a missing record can be noticed too.
    """

    def sealer(self) -> Callable[[int, str, int, bytes, str], bytes]:
        """Return a function that seals with the newest key, for the records of one transaction.

        Its arguments are the fields of a stored record.
        """

    def fault(self, record: StoredRecord, seal: bytes | None) -> str:
        """Return why a record's seal does not hold, as a clause; '' if it holds."""


class Journal(Protocol):
    """The event log. An append is conditional on (match, revision) and durable once its future is done."""

    def append(self, append: Append) -> Future[int]:
        """Store records; return the journal place of the last one.

        Appends become durable in the order of the calls, many in one transaction. Raises (from the future)
        JournalConflict or StoreFailed.
        """

    async def read(
        self, match_id: str, after: int = 0, most: int | None = None, subject: Subject = Subject.MATCH
    ) -> list[StoredRecord]:
        """Return the records of a match after a revision, in order; or those of a tournament, if `subject` says so."""

    async def read_many(self, match_ids: Sequence[str]) -> list[StoredRecord]:
        """Return all records of some matches, by id and revision; ids sort by the time of their making."""

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        """Return records of all matches and tournaments after a journal place, in order."""

    async def head(self) -> int:
        """Return the journal place of the last record, 0 if there is none."""

    async def last_gap(self, after: int) -> int:
        """Return the last journal place behind `after` and before the head that has no record; 0 if there is none.

        Places are given without gaps. So where one is missing, a record was removed.
        """

    async def unfinished(self) -> list[str]:
        """Return the ids of the matches that have not ended, oldest first."""

    async def summary(self, match_id: str) -> MatchSummary | None:
        """Return what lists show of a match."""

    async def summary_of_request(self, creator: str, request_id: str) -> MatchSummary | None:
        """Return the match that a caller's request made."""

    async def summaries(self, which: Filter, before: int, most: int) -> list[MatchSummary]:
        """Return matches whose `sequence` is less than `before` (0: all), newest first."""

    async def results(self, player: str, after: int, most: int) -> list[MatchSummary]:
        """Return a player's ended matches whose `ended_sequence` is greater than `after`, in order."""

    async def tallies(self, label: str = "", game: str = "", rated: bool | None = None) -> list[Tally]:
        """Return how often which pairings ended in which way, in order; a label or a game lets only its own through.

        `rated`: only matches that are, or (False) are not; None for both.
        """

    async def results_by_kind(self, player: str) -> list[PlayerResult]:
        """Return how often the matches of a player that have ended did so in which way, in order."""

    async def rated_games(self, games: Sequence[str]) -> int:
        """Return how many rated matches have ended that are not void, at some variants or (none) at all."""

    async def dated_tallies(self, game: str, period_ms: int) -> list[tuple[int, Tally]]:
        """Return how often which pairings ended in which way in each period, in order of time, without labels.

        Only rated matches that are not void; of a variant, '' for any. A match is of the period with the number
        `ended_ms // period_ms`; periods without a match are left out.
        """

    async def first_rated(self, player: str, game: str) -> int:
        """Return when the first rated match of a player ended that is not void, 0 if none has; game '' for any."""

    async def encounters(self, player: str, other: str, game: str) -> list[tuple[MatchSummary, bytes]]:
        """Return the rated matches of two players that have ended and are not void, in the order of their making.

        Each with its first record; of a variant, '' for any.
        """

    async def unfinished_tournaments(self) -> list[str]:
        """Return the ids of the tournaments that have not ended, oldest first."""

    async def tournament_summary(self, tournament_id: str) -> TournamentSummary | None:
        """Return what lists show of a tournament."""

    async def tournament_of_request(self, creator: str, request_id: str) -> TournamentSummary | None:
        """Return the tournament that a caller's request made."""

    async def tournaments(self, which: TournamentFilter, before: int, most: int) -> list[TournamentSummary]:
        """Return tournaments whose `sequence` is less than `before` (0: all), newest first."""
