"""The journal as a port: the event log of matches and tournaments, and what is derived from it."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from arbiter.errors import OperatorError, Reason, Refusal
from arbiter.ratings.rulings import Selection

RULINGS = "ratings"  #: the id of the log of rulings on ratings
RETRY_MS = 1_000  #: when to try again after the store has failed


class Subject(StrEnum):
    """The subject of a record: it is in the log of a match or of a tournament, or a ruling on ratings."""

    MATCH = "match"
    TOURNAMENT = "tournament"
    RATINGS = "ratings"  #: rulings on ratings: a log of their own, with its own numbers; its only id is RULINGS


class Record(NamedTuple):
    """An event in the form in which it is stored, sent and hashed: canonical JSON. match_id: the id of its subject."""

    match_id: str
    revision: int
    body: bytes
    subject: Subject


class StoredRecord(NamedTuple):
    """A record with its sequence number. Records become visible in the order of these numbers."""

    sequence: int
    match_id: str
    revision: int
    body: bytes
    subject: Subject


@dataclass(frozen=True, slots=True)
class MatchEnd:
    """The end of a match, derived from the log. The words are those of the `ended` event.

    version_1, version_2: the versions of the bots in seats 1 and 2 that the match counts for; '' if unknown.
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
    """The list entry of a match, derived from the log in the same transaction.

    sequence: the sequence number of the match's first event. ended_sequence: that of its last event, 0 until it has
    ended. rated: as in its record. ruling: the number of the ruling by which it does not count for ratings, 0 without
    one (`arbiter.ratings.rulings`).
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
    ruling: int = 0


@dataclass(frozen=True, slots=True)
class Filter:
    """The matches to list; empty fields let everything through.

    ended: None for all matches. variants_of: a game, whatever its parameters are, or a variant.
    """

    player: str = ""
    game: str = ""
    label: str = ""
    ended: bool | None = None
    variants_of: str = ""


class UnfinishedMatch(NamedTuple):
    """A match that has not ended, its game and its players, as its list entry says.

    reached: the sequence number of its last record; of an earlier one, or 0, if that can't be read.
    """

    match_id: str
    game: str
    players: tuple[str, str]
    reached: int


class Tally(NamedTuple):
    """How often a pairing ended in one way. Derived from the log, in the transaction of each ending event.

    `player_1` had seat 1, with version `version_1` of its bot. result, winner and cause are the words of the `ended`
    event. Standings and ratings are computed from tallies. Matches that count for neither (void results, unrated games)
    have tallies of their own. rated: False also for rated matches that a ruling has made unrated.
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


class RatedGames(NamedTuple):
    """What ratings follow from: the number of rated matches that count and are not void, and that of the last ruling.

    Between two rulings, the number of games only grows.
    """

    games: int
    rulings: int


class PlayerResult(NamedTuple):
    """How often one player's matches ended in one way. Derived from the log; it counts rated and unrated matches.

    seat, version: the player's own. won: True, False, or None for a draw or a void match. result: the word of the
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
    """The list entry of a tournament, derived from the log in the same transaction.

    format and phase are words of `arbiter.tournaments`. Instants and sequence numbers that are not known yet are 0.
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
    """The tournaments to list; empty fields let everything through. ended: None for all tournaments."""

    format: str = ""
    creator: str = ""
    ended: bool | None = None


class AppendBase:
    """What appends of a match build on: its record as it was read, and the appends since then.

    Appends are queued before the answers to earlier ones are known. Once one of them has failed, those behind it build
    on records that are not stored. Another server's record may be in that place, and then the condition of such an
    append (the revision before it exists) would hold for a record that its writer has never seen. So a journal marks
    the basis of an append that has failed as `lost`, and stores nothing more that builds on it.
    """

    __slots__ = ("lost",)

    def __init__(self) -> None:
        self.lost = False


class OpenLimits(NamedTuple):
    """How much may be open once an append is stored. Servers that share a store count in the transaction itself.

    players: how many open matches each of these players may have. tournaments: how many tournaments may be open, 0 for
    any number.
    """

    players: tuple[tuple[str, int], ...] = ()
    tournaments: int = 0


class Append(NamedTuple):
    """Records of one match or tournament that belong together, and the entries derived from them.

    opened: set with the first records of a match. closed: set with its last ones. tournament: set with every append to
    a tournament: its state after the append; the journal fills in the sequence numbers. basis: what the records build
    on; None if no other append to the same match or tournament is queued. open_limits: checked where it is given.
    """

    records: tuple[Record, ...]
    opened: MatchSummary | None = None
    closed: MatchEnd | None = None
    tournament: TournamentSummary | None = None
    basis: AppendBase | None = None
    open_limits: OpenLimits | None = None


class TooManyOpen(Exception):
    """Too much would be open (`OpenLimits`). No record of the append was stored. player: '' for tournaments."""

    def __init__(self, player: str, most: int) -> None:
        super().__init__(f"{most} are open of {player or 'tournaments'}")
        self.player = player
        self.most = most


class JournalConflict(Exception):
    """Another writer wrote this revision first, or the append's basis is lost. No record of the append was stored."""


class StoreFailed(Refusal):
    """The database did not confirm a write, or could not be read. `why` is a clause for people.

    If the connection to the database was lost, it may still have stored the write.
    """

    def __init__(self, why: str = "") -> None:
        self.why = why
        detail = f": {why}" if why else ""
        super().__init__(
            Reason.STORE_UNAVAILABLE,
            f"the server can't use its database now{detail}; send the same request again in a while",
            retry_after_ms=RETRY_MS,
        )


class RecordUnreadable(StoreFailed):
    """The server can't use what is stored, and reading it again does not help. `why` says where."""


class RecordTooNew(RecordUnreadable):
    """A match goes on with an event of a kind that this version does not know: a newer server has written it.

    The refusal makes clients try the next address of the arbiter. players: of the match.
    """

    def __init__(self, match_id: str, revision: int | str, why: str, players: tuple[str, ...] = ()) -> None:
        self.why = f"revision {revision} of match {match_id} was written by a newer version of the arbiter ({why})"
        self.players = players
        message = f"{self.why}, and this server can't go on with it: connect to another address of this arbiter"
        Refusal.__init__(self, Reason.STORE_UNAVAILABLE, message, retry_after_ms=RETRY_MS)


class RulesMissing(RecordTooNew):
    """A match of a game whose rules are not installed here goes on elsewhere, or waits until they are installed."""

    def __init__(self, match_id: str, game: str, players: tuple[str, ...] = (), failed: str = "") -> None:
        wrong = failed or f"the rules of {game!r} are not installed on this server"
        self.why = f"{wrong}, and match {match_id} waits for them"
        self.players = players
        mend = "mend" if failed else "install"
        message = f"{self.why}: its operator has to {mend} the package of the game"
        Refusal.__init__(self, Reason.STORE_UNAVAILABLE, message, retry_after_ms=RETRY_MS)


class RulesLate(StoreFailed):
    """The rules of a match run in a process that has not answered yet; reading it again helps."""

    def __init__(self, why: str) -> None:
        self.why = why
        message = f"{why}; send the same request again in a while"
        Refusal.__init__(self, Reason.STORE_UNAVAILABLE, message, retry_after_ms=RETRY_MS)


class StoreDamaged(RecordUnreadable):
    """The stored data is not what was written; reading it again does not help. `why` says where.

    facts: the id of the match or tournament, and the revision, if one record is damaged.
    """

    def __init__(self, why: str, **facts: str | int) -> None:
        message = f"the server's database is damaged: {why}; its operator has to repair it"
        Refusal.__init__(self, Reason.RECORD_DAMAGED, message, why=why, **facts)
        self.why = why


class RecordDamaged(StoreDamaged):
    """A record of a match, or of a tournament (`of`), is missing, or it is not what was written."""

    def __init__(self, match_id: str, revision: int | str, why: str, of: str = "match") -> None:
        where = f"revision {revision} of {of} {match_id} is damaged ({why})"
        super().__init__(where, id=match_id, revision=revision)


class StoreTooNew(OperatorError):
    """The database was written by a newer version of the arbiter."""


class Seals(Protocol):
    """Seals on records. A seal needs the arbiter's signing keys, so nobody without them can change a record.

    A seal covers the record and its sequence number. So a record cannot be changed, moved or replaced by another one.
    The numbers have no gaps, so a missing record is noticed too.
    """

    def sealer(self) -> Callable[[int, str, int, bytes, str], bytes]:
        """Return a function that seals the records of one transaction with the newest key.

        Its arguments are the fields of a stored record. Raises StoreFailed if other servers have a newer key.
        """

    def fault(self, record: StoredRecord, seal: bytes | None) -> str:
        """Return why a record's seal does not hold, as a clause; '' if it holds.

        Raises StoreFailed if it is by a key that another server has, and this one not yet.
        """


Stored = Callable[[int, BaseException | None], None]
"""Called with the sequence number of the last record of an append, or with 0 and the reason why none was stored."""


AppendThen = Callable[[Append, Stored], None]  #: `Appends.append_then`


class Appends(Protocol):
    """Where records of matches and tournaments are appended, each on condition of its revision."""

    def append(self, append: Append) -> Future[int]:
        """Store records; return a future of the sequence number of the last one.

        Appends become durable in the order of the calls, many in one transaction. The future raises JournalConflict,
        TooManyOpen or StoreFailed.
        """

    def append_then(self, append: Append, then: Stored) -> None:
        """Store records as `append` does. Once they are durable, or have failed, `then` is called in the event loop.

        It is called in the order of the calls of `append_then`, and costs less than a future. What it raises goes to
        the event loop's exception handler, as from a callback of a future.
        """


class Journal(Appends, Protocol):
    """The event log, and what is derived from it."""

    def know(self, place: int) -> None:
        """Have appends bring what other servers have stored after a sequence number that exists; 0: no longer.

        It costs little, because an append to a shared store asks for the last number in any case. Call this, and
        `brought`, in the event loop.
        """

    def brought(self) -> list[StoredRecord]:
        """Return the records that appends have brought since the last call, in order; some may be of this server.

        They are there when the result of that append is known, and they are stored even if it fails. Some may be
        missing, such as many at once, or damaged ones: `read_all` says which.
        """

    async def read(
        self, match_id: str, after: int = 0, most: int | None = None, subject: Subject = Subject.MATCH
    ) -> list[StoredRecord]:
        """Return the records of a match (or of a tournament, if `subject` says so) after a revision, in order."""

    async def read_many(self, match_ids: Sequence[str]) -> list[StoredRecord]:
        """Return all records of some matches, by id and revision. Ids sort by the time of their creation."""

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        """Return the records of all matches and tournaments after a sequence number, in order."""

    async def head(self) -> int:
        """Return the sequence number of the last record, 0 if there is none."""

    async def last_gap(self, after: int) -> int:
        """Return the last sequence number between `after` and the last record that no record has; 0 if there is none.

        Numbers are given without gaps. So if one is missing, a record was removed.
        """

    async def unfinished(self) -> list[str]:
        """Return the ids of the matches that have not ended, oldest first."""

    async def unfinished_matches(self) -> list[UnfinishedMatch]:
        """Return the matches that have not ended, oldest first, without reading their records."""

    async def summary(self, match_id: str) -> MatchSummary | None:
        """Return the list entry of a match, or None if there is no such match."""

    async def summary_of_request(self, creator: str, request_id: str) -> MatchSummary | None:
        """Return the match that a caller's request created, or None."""

    async def summaries(self, which: Filter, before: int, most: int) -> list[MatchSummary]:
        """Return matches whose `sequence` is less than `before` (0: all), newest first."""

    async def results(self, player: str, after: int, most: int) -> list[MatchSummary]:
        """Return a player's ended matches whose `ended_sequence` is greater than `after`, in order."""

    async def result_before_last(self, player: str, last: int) -> int:
        """Return the `ended_sequence` of the match of a player that ended before its last ones; 0 if there is none.

        last: how many these are.
        """

    async def tallies(self, label: str = "", game: str = "", rated: bool | None = None) -> list[Tally]:
        """Return how often each pairing ended in each way, in order. label, game: '' for all.

        rated: True for rated matches only, False for the others, None for all.
        """

    async def results_by_kind(self, player: str) -> list[PlayerResult]:
        """Return how often a player's ended matches ended in each way, in order."""

    async def rated_games(self, games: Sequence[str]) -> RatedGames:
        """Return how many rated matches count at some variants, () for all, and how many rulings on ratings there are.

        They have ended, are not void, and no ruling has made them unrated. The rulings are counted first.
        """

    async def dated_tallies(self, game: str, period_ms: int, since: int = 0) -> list[tuple[int, Tally]]:
        """Return how often each pairing ended in each way in each period, in order of time, without labels.

        Only matches count as in `rated_games`; game: a variant, '' for all. The number of a match's period is
        `ended_ms // period_ms`. Periods without a match are left out. All before the period `since` are one, with the
        number `since - 1`: the work grows with the matches from `since` on, and with the kinds of results.
        """

    async def first_rated(self, player: str, game: str) -> int:
        """Return when the first match of a player ended, of those that count as in `rated_games`; 0 if none.

        game: '' for all.
        """

    async def encounters(self, player: str, other: str, game: str) -> list[tuple[MatchSummary, bytes]]:
        """Return the matches of two players that count as in `rated_games`, in the order of their creation.

        Each comes with its first record. game: a variant, '' for all.
        """

    async def rule_on_ratings(self, ruling: Record, changes: Mapping[str, int]) -> None:
        """Store a ruling on ratings, whose revision is its number, and what it changes, in one transaction.

        changes: rated matches that have ended, each with the ruling by which it is unrated, 0 if it counts. Raises
        JournalConflict if there is a ruling of that number, StoreFailed.
        """

    async def rulings(self, after: int = 0) -> list[StoredRecord]:
        """Return the rulings on ratings after a number, in order. Their sequence numbers are of their own log."""

    async def rated_matches(self, which: Selection, most: int) -> list[str]:
        """Return the ids of rated matches that have ended and are not void, in the order of their end.

        Those that a ruling has made unrated are among them.
        """

    async def unfinished_tournaments(self) -> list[str]:
        """Return the ids of the tournaments that have not ended, oldest first."""

    async def tournament_summary(self, tournament_id: str) -> TournamentSummary | None:
        """Return the list entry of a tournament, or None if there is no such tournament."""

    async def tournament_of_request(self, creator: str, request_id: str) -> TournamentSummary | None:
        """Return the tournament that a caller's request created, or None."""

    async def tournaments(self, which: TournamentFilter, before: int, most: int) -> list[TournamentSummary]:
        """Return tournaments whose `sequence` is less than `before` (0: all), newest first."""
