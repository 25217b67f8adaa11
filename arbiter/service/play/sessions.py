"""Play streams: who is live, what each is told, and what each says."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import structlog

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import Seat
from arbiter.matches.match import Match
from arbiter.service.matches.live import DRAINING
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.play.catch_up import CatchUp
from arbiter.service.play.dialogue import Dialogue, told
from arbiter.service.play.session import Hello, Item, SeekItem, Session, StateItem, TurnListing
from arbiter.service.players.accounts import Accounts, Caller, Scope, invalid, shut_out
from arbiter.service.ports.directory import Challenge, Directory
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.ports.rules import Rules
from arbiter.service.token_bucket import TokenBuckets

MOST_GAMES = 100  #: variants in a hello


class Sessions:
    """All live Play streams, one a player at most."""

    def __init__(
        self,
        matches: MatchRegistry,
        accounts: Accounts,
        directory: Directory,
        rules: Rules,
        clock: Clock,
        limits: Limits,
        listing_ms: int,
    ) -> None:
        self._matches = matches
        self._accounts = accounts
        self._directory = directory
        self._rules = rules
        self._clock = clock
        self._limits = limits
        self._listing_ms = listing_ms
        self._live: dict[str, Session] = {}
        self._in_turn: OrderedDict[Session, None] = OrderedDict()  # an ordered set: next to be pinged first
        self._to_ping = 0.0  # how many are due, and a part of the next
        self._attending: Counter[str] = Counter()  # streams by player that are not Play
        self._backlogs = CatchUp(matches, directory)
        self._openings = TokenBuckets(limits.play_streams_a_minute)
        self._greetings: list[Callable[[Session], Iterable[Item]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._log = structlog.get_logger("arbiter.sessions")
        self.dialogue = Dialogue(
            self._live, matches.live, clock, limits, matches.request, self._backlogs.noticed, self._list_moves
        )
        matches.listen(self.dialogue.happened, self.is_present, self.version_of)
        accounts.on_shut_out(self._shut_out)

    def greet(self, greeting: Callable[[Session], Iterable[Item]]) -> None:
        """Have every stream told something more as it opens, before its turns; `greeting` makes it, there and then."""
        self._greetings.append(greeting)

    def __iter__(self) -> Iterator[Session]:
        return iter(self._live.values())

    def of(self, player: str) -> Session | None:
        """Return a player's live Play stream, or None."""
        return self._live.get(player)

    def is_live(self, player: str) -> bool:
        """Say whether a player has a live Play stream."""
        return player in self._live

    def is_present(self, player: str) -> bool:
        """Say whether a player can be reached: by a Play stream, or by another one that it moves on."""
        return player in self._live or player in self._attending

    def version_of(self, player: str) -> str:
        """Return the version of a player's bot, as its live Play stream said; '' if it has none, or said none."""
        session = self._live.get(player)
        return session.hello.bot_version if session is not None else ""

    def room_for(self, player: str) -> int | None:
        """Return how many more matches a player takes, by what its bot said; None if it has no live Play stream."""
        session = self._live.get(player)
        if session is None:
            return None
        most = session.hello.most_matches or self._limits.open_matches_of_player
        return max(0, most - len(self._matches.live.of_player(player)))

    async def open(self, caller: Caller, hello: Hello) -> Session:
        """Make a player's live stream; the one it had before ends. What it is told first waits in it already.

        Raises Refusal SCOPE_MISSING, ARGUMENT_INVALID, GAME_UNKNOWN, PARAMETER_INVALID, RATE_LIMITED, DRAINING.
        """
        caller.require(Scope.PLAY)
        wait_ms = self._openings.take(caller.player, self._clock.now_ms())
        if wait_ms:  # each coming and going is an event in all its matches
            raise _too_often(self._limits.play_streams_a_minute, wait_ms)
        self._check(hello)
        player = await self._accounts.introduce(
            caller.player, hello.bot_name, hello.bot_version, hello.games, hello.most_matches
        )
        backlog = await self._backlogs.read(player, hello.seeks)
        # From here to the end nothing is awaited: what happens next is told on this stream.
        self._accounts.check(caller)
        if self._matches.draining:
            raise DRAINING
        session = Session(caller, hello, self._limits, self._clock.now_ms())
        before = self._live.get(caller.player)
        if before is not None:
            before.end(
                Refusal(
                    Reason.SESSION_SUPERSEDED,
                    f"a newer Play stream of {caller.player} has taken over from this",
                    resume_from="",
                )
            )
        self._live[caller.player] = session
        self._in_turn[session] = None
        session.ping()
        unfinished = self._matches.unfinished(caller.player)
        session.fill(StateItem(match) for match in unfinished)
        session.fill(backlog)
        for greeting in self._greetings:
            session.fill(greeting(session))
        for match in unfinished:
            session.shown[match.id] = told(match)
            self.dialogue.offer_turn(session, match)
        self._matches.present(caller.player)
        return session

    def close(self, session: Session) -> None:
        """Forget a stream that has ended, on whichever side."""
        self._in_turn.pop(session, None)
        if self._live.get(session.player) is session:
            del self._live[session.player]
            if not self.is_present(session.player):
                self._matches.absent(session.player)

    @contextmanager
    def attending(self, player: str) -> Iterator[None]:
        """Have a player count as present, by another stream than Play.

        If it has come too often in the last minute its matches are not told that it is here; its moves are theirs.
        """
        self._attending[player] += 1
        if not self._openings.take(player, self._clock.now_ms()):
            self._matches.present(player)
        try:
            yield
        finally:
            self._attending[player] -= 1
            if not self._attending[player]:
                del self._attending[player]
            if not self.is_present(player):
                self._matches.absent(player)

    def notify(self, player: str, item: Item) -> None:
        """Tell a player something, if it is there."""
        self._backlogs.noticed(player)
        session = self._live.get(player)
        if session is not None:
            session.put(item)

    def sought(self, seek: Challenge) -> None:
        """Tell all who want to know that somebody seeks an opponent."""
        self._backlogs.sought(seek)
        for session in self._live.values():
            if session.hello.seeks and session.player != seek.challenger:
                session.put(SeekItem(seek))

    def sweep(self, share: float = 1.0) -> None:
        """Ask a share of the streams for a pong, in turn, and end those of them that have been silent too long.

        To be called regularly, with a small share: a thousand pongs that come at once would hold every match up, and
        each of them would be measured late.
        """
        now = self._clock.now_ms()
        self._to_ping = min(self._to_ping + share * len(self._live), len(self._live))
        while self._to_ping >= 1:
            session, _ = self._in_turn.popitem(last=False)
            if self._live.get(session.player) is not session:
                continue  # it is over
            self._in_turn[session] = None
            self._to_ping -= 1
            if now - session.heard_ms > self._limits.silence_ms:
                session.end(silent(self._limits.silence_ms))
            else:
                session.ping()

    def bear(self, outage_ms: int) -> None:
        """Hold it against no stream that nothing was heard while the server itself was held up."""
        for session in self._live.values():
            session.heard_ms += outage_ms

    def end_all(self, refusal: Refusal) -> None:
        """End every stream with a reason."""
        for session in list(self._live.values()):
            session.end(refusal)

    def acknowledge(self, session: Session, cursor: str) -> None:
        """Note which results the bot has seen; a cursor beyond the last one told here is none of this server's."""
        if cursor.isascii() and cursor.isdigit() and len(cursor) <= 18 and int(cursor) <= session.last_result:
            self._spawn(self._acknowledge(session.player, int(cursor)))

    async def _acknowledge(self, player: str, cursor: int) -> None:
        with suppress(StoreFailed):  # then the results are told again
            await self._directory.acknowledge(player, cursor)

    def _list_moves(self, session: Session, match: Match, seat: Seat) -> None:
        self._spawn(self._offer_with_moves(session, match, seat))

    async def _offer_with_moves(self, session: Session, match: Match, seat: Seat) -> None:
        extras, listed = session.hello.extras, None
        try:
            # A list that takes longer than the clock forgives is left out: the bot asks for it if it wants it.
            async with asyncio.timeout(self._listing_ms / 1000):
                listing = await self._rules.legal_moves(
                    f"turn {match.id}", match.created.game, "", match.moves, extras.steps
                )
        except (TimeoutError, Refusal):
            pass
        except Exception:  # the arbiter's own mistake must not cost the player its turn
            self._log.exception("turn_not_listed", match=match.id, ply=match.ply)
        else:
            most = min(extras.legal_moves_up_to, self._limits.turn_moves)
            sent = tuple(move for chunk in listing.chunks for move in chunk) if listing.total <= most else ()
            listed = TurnListing(listing.total, sent)
        if self._matches.live.is_current(match):  # it may have ended meanwhile, or been interrupted
            self.dialogue.put_turn(session, match, seat, listed)

    # -- within --------------------------------------------------------------------------------------------------

    def _check(self, hello: Hello) -> None:
        if len(hello.games) > MOST_GAMES:
            raise invalid(f"{len(hello.games)} games", "hello.games", f"at most {MOST_GAMES}")
        for game in hello.games:
            registry.game(game)
        if not 0 <= hello.most_matches <= self._limits.open_matches_of_player:
            raise invalid(hello.most_matches, "hello.most_matches", f"0 to {self._limits.open_matches_of_player}")

    def _shut_out(self, player: str, token_id: str) -> None:
        session = self._live.get(player)
        if session is None or (token_id and session.caller.token_id != token_id):
            return
        session.end(shut_out(player, token_id))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def items_of(session: Session) -> deque[Item]:
    """Wait for something to send on a stream, and return all of it; empty once the stream is to end."""
    while (idle := session.idle()) is not None:
        await idle
    return session.take()


def silent(limit_ms: int) -> Refusal:
    """Return the refusal that ends a stream on which nothing was heard for too long."""
    return Refusal(
        Reason.SESSION_SILENT, f"nothing was heard on this stream for {limit_ms} ms: connect again", limit=limit_ms
    )


def _too_often(most: int, wait_ms: int) -> Refusal:
    return Refusal(
        Reason.RATE_LIMITED,
        f"more than {most} streams of one player were opened in a minute: connect again in {wait_ms} ms",
        limit=most,
        retry_after_ms=wait_ms,
    )
