"""In-memory ports for the use cases: a journal, a directory, ids and rules, without threads and randomness.

They keep the contracts of `arbiter.service.ports` and pass the same tests as the adapters on a database.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from arbiter.games.contract import AnyGame
from arbiter.games.line import replay
from arbiter.matches.public_keys import PublicKey
from arbiter.service.ports.directory import AlreadyThere, Challenge, Player, Token, likeness
from arbiter.service.ports.journal import (
    Append,
    Filter,
    JournalConflict,
    MatchEnd,
    MatchSummary,
    StoredRecord,
    Subject,
    Tally,
    TournamentFilter,
    TournamentSummary,
)
from arbiter.service.ports.rules import LinePosition, ListedMove, Listing, PlayedLine

T = TypeVar("T")


class MemoryJournal:
    """The journal (`arbiter.service.ports.Journal`) as a list. An append is durable one loop iteration later."""

    def __init__(self) -> None:
        self.records: list[StoredRecord] = []
        self._of_match: dict[str, list[StoredRecord]] = {}
        self._rows: dict[str, MatchSummary] = {}
        self._made: dict[tuple[str, str], str] = {}  # matches, by creator and request
        self._tournaments: dict[str, TournamentSummary] = {}

    def append(self, append: Append) -> asyncio.Future[int]:
        """Store records; see the port."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[int] = loop.create_future()
        try:
            sequence = self.store(append)
        except JournalConflict as conflict:
            loop.call_soon(_unless_done, done, done.set_exception, conflict)
        else:
            loop.call_soon(_unless_done, done, done.set_result, sequence)
        return done

    def store(self, append: Append) -> int:
        """Store records now; return the journal position of the last one. Raises JournalConflict."""
        match_id = append.records[0].match_id
        there = self._of_match.get(match_id, [])
        if append.records[0].revision != len(there) + 1:
            raise JournalConflict(f"match {match_id} stands at revision {len(there)}")
        opened = append.opened
        if opened is not None and self._made_by(opened.creator, opened.request_id) is not None:
            raise JournalConflict("the request has made a match before")
        tournament = append.tournament
        if tournament is not None and self._created_by_another_request(tournament):
            raise JournalConflict("the request has made a tournament before")
        first = len(self.records) + 1
        stored = [StoredRecord(first + n, *record) for n, record in enumerate(append.records)]
        self.records += stored
        self._of_match.setdefault(match_id, []).extend(stored)
        if opened is not None:
            self._rows[match_id] = replace(opened, sequence=first)
            self._made[opened.creator, opened.request_id] = match_id
        if append.closed is not None:
            ended = stored[-1].sequence
            self._rows[match_id] = replace(self._rows[match_id], end=append.closed, ended_sequence=ended)
        if tournament is not None:
            there_already = self._tournaments.get(match_id)
            self._tournaments[match_id] = replace(
                tournament,
                sequence=there_already.sequence if there_already else first,
                ended_sequence=stored[-1].sequence if tournament.ended_ms else 0,
            )
        return stored[-1].sequence

    async def read(
        self, match_id: str, after: int = 0, most: int | None = None, subject: Subject = Subject.MATCH
    ) -> list[StoredRecord]:
        """Return the records of a match or tournament after a revision, in order."""
        await asyncio.sleep(0)
        return [record for record in self._of_match.get(match_id, [])[after:][:most] if record.subject is subject]

    async def read_many(self, match_ids: Sequence[str]) -> list[StoredRecord]:
        """Return all records of some matches, ordered by id and revision."""
        await asyncio.sleep(0)
        return [record for match_id in sorted(match_ids) for record in self._of_match.get(match_id, [])]

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        """Return the records of all matches after a journal position, in order."""
        await asyncio.sleep(0)
        return self.records[after : after + most]

    async def head(self) -> int:
        """Return the journal position of the last record, 0 if there is none."""
        await asyncio.sleep(0)
        return len(self.records)

    async def last_gap(self, after: int) -> int:
        """Return 0: nothing can be removed from this journal."""
        await asyncio.sleep(0)
        return 0

    async def unfinished(self) -> list[str]:
        """Return the ids of the unfinished matches, oldest first."""
        await asyncio.sleep(0)
        return [row.match_id for row in self._rows.values() if row.end is None]

    async def summary(self, match_id: str) -> MatchSummary | None:
        """Return the summary of a match that lists show."""
        await asyncio.sleep(0)
        return self.summary_now(match_id)

    def summary_now(self, match_id: str) -> MatchSummary | None:
        """Return the summary of a match that lists show, without awaiting."""
        return self._rows.get(match_id)

    async def summary_of_request(self, creator: str, request_id: str) -> MatchSummary | None:
        """Return the match that a request of a caller created."""
        await asyncio.sleep(0)
        return self._made_by(creator, request_id)

    async def summaries(self, which: Filter, before: int, most: int) -> list[MatchSummary]:
        """Return matches whose `sequence` is less than `before` (0: all), newest first."""
        await asyncio.sleep(0)
        wanted = [
            row
            for row in self._rows.values()
            if (not before or row.sequence < before)
            and which.player in ("", row.player_1, row.player_2)
            and which.game in ("", row.game)
            and which.label in ("", row.label)
            and which.ended in (None, row.end is not None)
        ]
        return sorted(wanted, key=lambda row: -row.sequence)[:most]

    async def results(self, player: str, after: int, most: int) -> list[MatchSummary]:
        """Return a player's finished matches whose `ended_sequence` is greater than `after`, in order."""
        await asyncio.sleep(0)
        mine = [row for row in self._rows.values() if player in (row.player_1, row.player_2)]
        return sorted(
            (row for row in mine if row.ended_sequence > after and row.end), key=lambda row: row.ended_sequence
        )[:most]

    async def tallies(self, label: str = "", game: str = "", rated: bool | None = None) -> list[Tally]:
        """Return how often each pairing ended in each way, sorted by the fields."""
        await asyncio.sleep(0)
        ways = Counter(
            (_tally_key(row, row.end), (row.end.version_1, row.end.version_2))
            for row in self._rows.values()
            if row.end is not None
            and label in ("", row.label)
            and game in ("", row.game)
            and rated in (None, row.rated)
        )
        return [Tally(*way, games, *versions) for (way, versions), games in sorted(ways.items())]

    async def rated_games(self, games: Sequence[str]) -> int:
        """Return the number of finished rated matches that are not void, at some variants or (none given) at all."""
        await asyncio.sleep(0)
        return sum(not games or row.game in games for row, _ in self._rated(""))

    async def dated_tallies(self, game: str, period_ms: int) -> list[tuple[int, Tally]]:
        """Return how often each pairing ended in each way in each period, in order of time, without labels."""
        await asyncio.sleep(0)
        ways = Counter(
            (end.ended_ms // period_ms, _tally_key(replace(row, label=""), end), (end.version_1, end.version_2))
            for row, end in self._rated(game)
        )
        return [(period, Tally(*way, games, *versions)) for (period, way, versions), games in sorted(ways.items())]

    async def first_rated(self, player: str, game: str) -> int:
        """Return when a player's first rated match that is not void ended, 0 if there is none."""
        await asyncio.sleep(0)
        mine = (end.ended_ms for row, end in self._rated(game) if player in (row.player_1, row.player_2))
        return min(mine, default=0)

    async def encounters(self, player: str, other: str, game: str) -> list[tuple[MatchSummary, bytes]]:
        """Return the finished rated matches between two players that are not void, in order of creation."""
        await asyncio.sleep(0)
        pair = {player, other}
        found = [row for row, _ in self._rated(game) if {row.player_1, row.player_2} == pair]
        found.sort(key=lambda row: row.sequence)
        return [(row, self._of_match[row.match_id][0].body) for row in found]

    def _rated(self, game: str) -> list[tuple[MatchSummary, MatchEnd]]:
        return [
            (row, row.end)
            for row in self._rows.values()
            if row.end is not None and row.rated and row.end.result != "void" and game in ("", row.game)
        ]

    def _made_by(self, creator: str, request_id: str) -> MatchSummary | None:
        return self._rows.get(self._made.get((creator, request_id), ""))

    async def unfinished_tournaments(self) -> list[str]:
        """Return the ids of the unfinished tournaments, oldest first."""
        await asyncio.sleep(0)
        return [row.tournament_id for row in self._tournaments.values() if not row.ended_ms]

    async def tournament_summary(self, tournament_id: str) -> TournamentSummary | None:
        """Return the summary of a tournament that lists show."""
        await asyncio.sleep(0)
        return self._tournaments.get(tournament_id)

    async def tournament_of_request(self, creator: str, request_id: str) -> TournamentSummary | None:
        """Return the tournament that a request of a caller created."""
        await asyncio.sleep(0)
        rows = self._tournaments.values()
        return next((row for row in rows if (row.creator, row.request_id) == (creator, request_id)), None)

    async def tournaments(self, which: TournamentFilter, before: int, most: int) -> list[TournamentSummary]:
        """Return tournaments whose `sequence` is less than `before` (0: all), newest first."""
        await asyncio.sleep(0)
        wanted = [
            row
            for row in self._tournaments.values()
            if (not before or row.sequence < before)
            and which.format in ("", row.format)
            and which.creator in ("", row.creator)
            and which.ended in (None, bool(row.ended_ms))
        ]
        return sorted(wanted, key=lambda row: -row.sequence)[:most]

    def _created_by_another_request(self, row: TournamentSummary) -> bool:
        made = (row.creator, row.request_id)
        return any(
            (there.creator, there.request_id) == made and there.tournament_id != row.tournament_id
            for there in self._tournaments.values()
        )


def _tally_key(row: MatchSummary, end: MatchEnd) -> tuple[str, str, bool, str, str, str, int, str]:
    """Return the key by which ends of matches are counted, without the versions."""
    return row.label, row.game, row.rated, row.player_1, row.player_2, end.result, end.winner, end.cause


class MemoryDirectory:
    """The directory (`arbiter.service.ports.Directory`) as dictionaries."""

    def __init__(self) -> None:
        self._players: dict[str, Player] = {}
        self._likenesses: dict[str, str] = {}  # names of players
        self._tokens: dict[str, Token] = {}
        self._invitations: set[str] = set()
        self._challenges: dict[str, Challenge] = {}

    async def before(self) -> None:
        """Run before every operation: yield to the event loop once, as real directories do. May raise StoreFailed."""
        await asyncio.sleep(0)

    async def add_player(self, player: Player, token: Token | None, invitation: str = "") -> bool:
        """Store a player with its first token, and use up an invitation if one is given."""
        await self.before()
        if invitation and invitation not in self._invitations:
            return False
        like = likeness(player.name)
        if like in self._likenesses:
            raise AlreadyThere(self._likenesses[like])
        self._invitations.discard(invitation)
        self._likenesses[like] = player.name
        self._players[player.name] = player
        if token is not None:
            self._tokens[token.token_id] = token
        return True

    async def player(self, name: str) -> Player | None:
        """Return a player."""
        await self.before()
        return self._players.get(name)

    async def players(self, after: str, most: int) -> list[Player]:
        """Return players whose names sort after `after`, by name."""
        await self.before()
        return _page(self._players, after, most)

    async def change_player(self, name: str, **changes: Any) -> Player | None:
        """Store new values of some fields of a player; return the changed player."""
        await self.before()
        if name in self._players:
            self._players[name] = replace(self._players[name], **changes)
        return self._players.get(name)

    async def acknowledge(self, name: str, sequence: int) -> None:
        """Move a player's `acknowledged` forward to a sequence, never back."""
        await self.before()
        player = self._players[name]
        self._players[name] = replace(player, acknowledged=max(player.acknowledged, sequence))

    async def add_token(self, token: Token, most: int) -> bool:
        """Store a token, unless its player has too many."""
        await self.before()
        if sum(held.player == token.player and not held.revoked for held in self._tokens.values()) >= most:
            return False
        self._tokens[token.token_id] = token
        return True

    async def token(self, token_id: str) -> Token | None:
        """Return a token."""
        await self.before()
        return self._tokens.get(token_id)

    async def token_of_digest(self, digest: str) -> Token | None:
        """Return the token with the digest of a secret, even if it is revoked."""
        await self.before()
        return next((token for token in self._tokens.values() if token.digest == digest), None)

    async def tokens(self, player: str, after: str, most: int) -> list[Token]:
        """Return a player's tokens whose ids sort after `after`, by id."""
        await self.before()
        return _page({key: token for key, token in self._tokens.items() if token.player == player}, after, most)

    async def revoke_token(self, token_id: str) -> None:
        """Mark a token as revoked."""
        await self.before()
        if token_id in self._tokens:
            self._tokens[token_id] = replace(self._tokens[token_id], revoked=True)

    async def add_invitation(self, digest: str, most: int) -> bool:
        """Store an open invitation, unless there are too many."""
        await self.before()
        if len(self._invitations) >= most:
            return False
        self._invitations.add(digest)
        return True

    async def add_challenge(self, challenge: Challenge, most: int) -> Challenge | None:
        """Store a challenge, unless its request id is already stored or the challenger has too many."""
        await self.before()
        mine = [held for held in self._challenges.values() if held.challenger == challenge.challenger]
        for held in mine:
            if held.request_id == challenge.request_id:
                return held
        if sum(held.state == "open" for held in mine) >= most:
            return None
        self._challenges[challenge.challenge_id] = challenge
        return challenge

    async def challenge(self, challenge_id: str) -> Challenge | None:
        """Return a challenge, even if it is closed."""
        await self.before()
        return self._challenges.get(challenge_id)

    async def challenges(self, player: str, after: str, most: int) -> list[Challenge]:
        """Return open challenges to and by a player, and all open seeks, by id, starting after `after`."""
        await self.before()
        wanted = {
            key: held
            for key, held in self._challenges.items()
            if held.state == "open" and (held.opponent in ("", player) or held.challenger == player)
        }
        return _page(wanted, after, most)

    async def close_challenge(self, challenge: Challenge) -> bool:
        """Store a challenge's new state if it is still open; return whether it was."""
        await self.before()
        held = self._challenges.get(challenge.challenge_id)
        if held is None or held.state != "open":
            return False
        self._challenges[held.challenge_id] = replace(
            held, state=challenge.state, match_id=challenge.match_id, reason=challenge.reason
        )
        return True


class CountingIds:
    """Ids (`arbiter.service.ports.Ids`) that count up, and lots from a given list, 0 when the list is empty."""

    def __init__(self, lots: Iterable[int] = ()) -> None:
        self._count = 0
        self._lots = iter(lots)

    def new(self, kind: str) -> str:
        """Return the next id of a kind."""
        self._count += 1
        return f"{kind}{self._count:06}"

    def secret(self) -> str:
        """Return the next secret. It is predictable: a real server must not use it."""
        self._count += 1
        return f"secret-{self._count:06}"

    def lot(self, size: int) -> int:
        """Return the next lot."""
        return next(self._lots, 0) % size


class NoKeys:
    """A signer (`arbiter.service.matches.transcripts.Signer`) without keys, for tests that need no signature."""

    def public_keys(self) -> tuple[PublicKey, ...]:
        """Return nothing."""
        return ()

    def sign(self, key_id: str, message: bytes) -> bytes:
        """Raise KeyError: there is no key."""
        raise KeyError(key_id)


class PlainRules:
    """Computes rules (`arbiter.service.ports.Rules`) synchronously and without limits.

    `gate`, if set, is awaited before each answer, so that a test can make the computation of rules slow.
    """

    def __init__(self) -> None:
        self.gate: asyncio.Event | None = None

    async def legal_moves(self, caller: str, variant: str, position: str, moves: Sequence[str], steps: bool) -> Listing:
        """Return the legal moves at the end of a line of play."""
        await self._wait()
        line = replay(variant, position or None, moves, len(moves))
        game, end = line.game, line.final
        texts = sorted(game.moves(end))
        listed = [ListedMove(text, _steps(game, end, text) if steps else ()) for text in texts]
        return Listing(game.text(end), len(texts), [listed] if listed else [])

    async def play_moves(
        self, caller: str, variant: str, position: str, moves: Sequence[str], from_ply: int, board: bool
    ) -> PlayedLine:
        """Return the positions of a line of play from a ply on, without their boards."""
        await self._wait()
        line = replay(variant, position or None, moves, len(moves))
        played = [
            LinePosition(ply, line.game.text(there), there.turn, line.game.claim(there) or "")
            for ply, there in enumerate(line.positions)
        ]
        outcome = line.final.outcome
        return PlayedLine(tuple(played[from_ply:]), tuple(outcome) if outcome else None)

    async def _wait(self) -> None:
        if self.gate is not None:
            await self.gate.wait()


def _steps(game: AnyGame, position: Any, move: str) -> tuple[tuple[str, str, str, str, int], ...]:
    return tuple((s.action, s.source, s.target, s.piece, s.facing) for s in game.steps(position, move))


def _page(entries: dict[str, T], after: str, most: int) -> list[T]:
    return [entry for key, entry in sorted(entries.items()) if key > after][:most]


def _unless_done(future: asyncio.Future[Any], settle: Callable[[Any], None], value: Any) -> None:
    if not future.done():
        settle(value)
