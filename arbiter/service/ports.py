"""The ports of the use cases: what they need from the world, as protocols, and the values that cross them."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from arbiter.errors import OperatorError, Reason, Refusal

RETRY_MS = 1_000  #: after which another attempt on a store that failed is worth while


class Record(NamedTuple):
    """An event as it is stored, streamed and hashed: canonical JSON. `match_id` may be a tournament's id."""

    match_id: str
    revision: int
    body: bytes


class StoredRecord(NamedTuple):
    """A record with its place in the journal; places grow in the order in which records become visible."""

    sequence: int
    match_id: str
    revision: int
    body: bytes


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
class MatchRow:
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


@dataclass(frozen=True, slots=True)
class TournamentRow:
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


class Append(NamedTuple):
    """Records of one match or tournament that belong together, and what is derived from them.

    opened: with the first records of a match; closed: with its last ones. tournament: with every append to one, as it
    is after it; the journal fills in the sequences.
    """

    records: tuple[Record, ...]
    opened: MatchRow | None = None
    closed: MatchEnd | None = None
    tournament: TournamentRow | None = None


class JournalConflict(Exception):
    """Somebody else wrote that revision first. Nothing of the append was stored."""


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
    """A record of a match, or `of` a tournament, is not what was written."""

    def __init__(self, match_id: str, revision: int, why: str, of: str = "match") -> None:
        super().__init__(f"revision {revision} of {of} {match_id} is damaged ({why})")


class StoreTooNew(OperatorError):
    """The database was written by a newer version of the arbiter."""


class Journal(Protocol):
    """The event log. An append is conditional on (match, revision) and durable once its future is done."""

    def append(self, append: Append) -> Future[int]:
        """Store records; return the journal place of the last one.

        Appends become durable in the order of the calls, many in one transaction. Raises (from the future)
        JournalConflict or StoreFailed.
        """

    async def read(self, match_id: str, after: int = 0, most: int | None = None) -> list[StoredRecord]:
        """Return the records of a match or tournament after a revision, in order."""

    async def read_many(self, match_ids: Sequence[str]) -> list[StoredRecord]:
        """Return all records of some matches, by id and revision; ids sort by the time of their making."""

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        """Return records of all matches and tournaments after a journal place, in order."""

    async def head(self) -> int:
        """Return the journal place of the last record, 0 if there is none."""

    async def unfinished(self) -> list[str]:
        """Return the ids of the matches that have not ended, oldest first."""

    async def row(self, match_id: str) -> MatchRow | None:
        """Return what lists show of a match."""

    async def row_of_request(self, creator: str, request_id: str) -> MatchRow | None:
        """Return the match that a caller's request made."""

    async def rows(self, which: Filter, before: int, most: int) -> list[MatchRow]:
        """Return matches whose `sequence` is less than `before` (0: all), newest first."""

    async def results(self, player: str, after: int, most: int) -> list[MatchRow]:
        """Return a player's ended matches whose `ended_sequence` is greater than `after`, in order."""

    async def tallies(self, label: str = "", game: str = "", rated: bool | None = None) -> list[Tally]:
        """Return how often which pairings ended in which way, in order; a label or a game lets only its own through.

        `rated`: only matches that are, or (False) are not; None for both.
        """

    async def rated_games(self, games: Sequence[str]) -> int:
        """Return how many rated matches have ended that are not void, at some variants or (none) at all."""

    async def dated_tallies(self, game: str, period_ms: int) -> list[tuple[int, Tally]]:
        """Return how often which pairings ended in which way in each period, in order of time, without labels.

        Only rated matches that are not void; of a variant, '' for any. A match is of the period with the number
        `ended_ms // period_ms`; periods without a match are left out.
        """

    async def first_rated(self, player: str, game: str) -> int:
        """Return when the first rated match of a player ended that is not void, 0 if none has; game '' for any."""

    async def encounters(self, player: str, other: str, game: str) -> list[tuple[MatchRow, bytes]]:
        """Return the rated matches of two players that have ended and are not void, in the order of their making.

        Each with its first record; of a variant, '' for any.
        """

    async def unfinished_tournaments(self) -> list[str]:
        """Return the ids of the tournaments that have not ended, oldest first."""

    async def tournament_row(self, tournament_id: str) -> TournamentRow | None:
        """Return what lists show of a tournament."""

    async def tournament_of_request(self, creator: str, request_id: str) -> TournamentRow | None:
        """Return the tournament that a caller's request made."""

    async def tournaments(self, which: TournamentFilter, before: int, most: int) -> list[TournamentRow]:
        """Return tournaments whose `sequence` is less than `before` (0: all), newest first."""


@dataclass(frozen=True, slots=True)
class Player:
    """A player. `acknowledged` is the `ended_sequence` of the last result that its bot has seen.

    badge_version: the version of its bot that has passed the conformance kit, '' if none has; badge_ms: since when.
    """

    name: str
    created_ms: int
    about: str = ""
    bot_name: str = ""
    bot_version: str = ""
    games: tuple[str, ...] = ()
    most_matches: int = 0
    suspended: bool = False
    acknowledged: int = 0
    badge_version: str = ""
    badge_ms: int = 0

    @property
    def badged(self) -> bool:
        """Whether the bot has the version that has passed the conformance kit."""
        return self.badge_ms > 0 and self.badge_version == self.bot_version


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret: `digest` is the SHA-256 of the secret, in hex."""

    token_id: str
    player: str
    digest: str
    scopes: tuple[str, ...]
    note: str
    created_ms: int
    revoked: bool = False


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge, or a seek if `opponent` is ''. `state` is open, accepted or declined; `seat` 0 means drawn."""

    challenge_id: str
    challenger: str
    opponent: str
    game: str
    time_control: str
    rated: bool
    seat: int
    request_id: str
    created_ms: int
    state: str = "open"
    match_id: str = ""
    reason: str = ""


class AlreadyThere(Exception):
    """The directory has an entry of that name already."""


class Directory(Protocol):
    """Players, tokens, invitations and challenges. Every write is durable when its call returns."""

    async def add_player(self, player: Player, token: Token | None, invitation: str = "") -> bool:
        """Store a player with its first token, using up an invitation (its digest) if one is given.

        Returns False, storing nothing, if the invitation is not open. Raises AlreadyThere.
        """

    async def player(self, name: str) -> Player | None:
        """Return a player."""

    async def players(self, after: str, most: int) -> list[Player]:
        """Return players whose name sorts after `after`, by name."""

    async def change_player(self, name: str, **changes: Any) -> Player | None:
        """Store new values of some fields of a player; return it as it is then, or None if there is no such player.

        Fields that are not named keep what others may be storing at the same time. Not for `acknowledged`.
        """

    async def acknowledge(self, name: str, sequence: int) -> None:
        """Move a player's `acknowledged` forward to a sequence; never back."""

    async def add_token(self, token: Token, most: int) -> bool:
        """Store a token; return False, storing nothing, if its player has `most` that are not revoked."""

    async def token(self, token_id: str) -> Token | None:
        """Return a token."""

    async def token_of_digest(self, digest: str) -> Token | None:
        """Return the token of a secret's digest, revoked ones too."""

    async def tokens(self, player: str, after: str, most: int) -> list[Token]:
        """Return a player's tokens whose id sorts after `after`, by id."""

    async def revoke_token(self, token_id: str) -> None:
        """Mark a token as revoked."""

    async def add_invitation(self, digest: str, most: int) -> bool:
        """Store an open invitation; return False, storing nothing, if there are `most`."""

    async def add_challenge(self, challenge: Challenge, most: int) -> Challenge | None:
        """Store a challenge; if the challenger's request id is there already, return that challenge instead.

        Returns None, storing nothing, if the challenger has `most` open ones.
        """

    async def challenge(self, challenge_id: str) -> Challenge | None:
        """Return a challenge, closed ones too."""

    async def challenges(self, player: str, after: str, most: int) -> list[Challenge]:
        """Return open challenges to and by a player, and all open seeks, by id after `after`."""

    async def close_challenge(self, challenge: Challenge) -> bool:
        """Store a challenge's new state if it is still open; return whether it was."""


class Clock(Protocol):
    """Time as the arbiter knows it."""

    def now_ms(self) -> int:
        """Return the instant, UTC, milliseconds since 1970. It never goes back within a process."""


class Ids(Protocol):
    """Chance: ids that nobody guesses, and lots."""

    def new(self, kind: str) -> str:
        """Return a fresh id that begins with `kind` and sorts by the time of its making."""

    def secret(self) -> str:
        """Return 256 random bits as text that doesn't begin with "-": a command line would take it for an option."""

    def lot(self, size: int) -> int:
        """Draw a number from 0 to size − 1."""


class ListedMove(NamedTuple):
    """A legal move; its steps as (action, source, target, piece, facing), empty unless asked for."""

    text: str
    steps: tuple[tuple[str, str, str, str, int], ...] = ()


class Listing(NamedTuple):
    """Legal moves in bytewise order: how many there are, where, and the moves in chunks that are read one by one."""

    position: str
    total: int
    chunks: Iterable[Sequence[ListedMove]]


class Played(NamedTuple):
    """A position on a line: ply since the line's start, text, seat to move, board cells, claim ('' for none)."""

    ply: int
    position: str
    turn: int
    claim: str
    board: tuple[tuple[str, int, str, int, int, str], ...] = ()


class PlayedLine(NamedTuple):
    """The positions of a line from a ply on, and the outcome as (winner, reason) if the line reaches it."""

    positions: tuple[Played, ...]
    outcome: tuple[int, str] | None


class Rules(Protocol):
    """Rules work that may take long: it runs apart from the event loop, with a deadline and a memory limit."""

    async def legal_moves(self, caller: str, variant: str, position: str, moves: Sequence[str], steps: bool) -> Listing:
        """Return the legal moves at the end of a line of play (position '' is the initial one).

        `caller` is whose budget it costs. Raises Refusal, BUDGET_SPENT if it takes more than a request may.
        """

    async def play_moves(
        self, caller: str, variant: str, position: str, moves: Sequence[str], from_ply: int, board: bool
    ) -> PlayedLine:
        """Return the positions of a line of play from a ply on. Raises Refusal as `legal_moves` does."""
