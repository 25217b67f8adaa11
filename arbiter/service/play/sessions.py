"""Play streams: how they open and end, the items that each one gets first, and pings."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, argument_invalid
from arbiter.games import registry
from arbiter.service.cut_off import CutOff
from arbiter.service.matches.live import DRAINING
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.play.catch_up import PAGE, CatchUp
from arbiter.service.play.connections import Connections
from arbiter.service.play.delivery import Delivery, note_state
from arbiter.service.sharing.membership import Membership
from arbiter.service.play.session import Asked, ChallengeItem, Hello, Item, SeekItem, Session, StateItem
from arbiter.service.play.stream_ends import StreamEnd, StreamEnds
from arbiter.service.players.accounts import Accounts, Caller, Scope, shut_out
from arbiter.service.ports.directory import Challenge, Directory
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.ports.replicas import NOT_YET, HandOver
from arbiter.service.token_bucket import MINUTE_MS, TokenBuckets

MOST_GAMES = 100  #: variants in a hello

FirstItems = Callable[[Session], Iterable[Item]]
"""Returns items that a stream gets when it opens, before its turns."""


class Sessions:
    """All live Play streams, at most one for each player.

    first_items: called in order for the further items that each stream gets when it opens. membership: None if no other
    server uses the store; otherwise a player has one stream on all servers together. cut_off: ends them all. silence_s:
    for how long the log of a shared store has not answered, in seconds (`Follower.silence_s`).
    """

    def __init__(
        self,
        connections: Connections,
        matches: MatchRegistry,
        accounts: Accounts,
        directory: Directory,
        catch_up: CatchUp,
        delivery: Delivery,
        first_items: Iterable[FirstItems],
        membership: Membership | None,
        cut_off: CutOff,
        silence_s: Callable[[], float],
        clock: Clock,
        limits: Limits,
    ) -> None:
        self._connections = connections
        self._matches = matches
        self._accounts = accounts
        self._directory = directory
        self._catch_up = catch_up
        self._delivery = delivery
        self._first_items = first_items
        self._membership = membership
        self._cut_off = cut_off
        self._silence_s = silence_s
        self._clock = clock
        self._limits = limits
        self._in_turn: OrderedDict[Session, None] = OrderedDict()  # an ordered set: the next one to ping is the first
        self._ends = StreamEnds()
        self._to_ping = 0.0  # how many pings are due, with a fraction
        self._openings = TokenBuckets(limits.play_streams_a_minute, MINUTE_MS, "streams of one player in a minute")
        self._tasks: set[asyncio.Task[None]] = set()
        cut_off.when_begun.append(self.cut_all)
        accounts.on_shut_out(self.shut_out)

    def is_live(self, player: str) -> bool:
        """Return whether a player has a live Play stream, on whichever server."""
        return self._connections.of(player) is not None or self._connections.is_elsewhere(player)

    @property
    def count(self) -> int:
        """How many Play streams are live."""
        return len(self._connections.by_player)

    @property
    def unsent(self) -> int:
        """How many items wait to be sent on all Play streams. Any thread may ask."""
        return sum(session.waiting for session in list(self._connections.by_player.values()))

    def connected(self) -> list[str]:
        """Return the players with a live Play stream, on whichever server, by name."""
        return sorted(self._connections.by_player.keys() | self._connections.elsewhere.keys())

    def of(self, player: str) -> Session | None:
        """Return a player's live Play stream, or None."""
        return self._connections.of(player)

    def last_ends(self, player: str) -> Sequence[StreamEnd]:
        """Return the last ends of a player's Play streams, the newest first."""
        return self._ends.of(player)

    def free_slots(self, player: str) -> int | None:
        """Return how many more matches a player accepts, by its hello; None if it has no live Play stream."""
        most = self.most_matches(player)
        return None if most is None else max(0, most - len(self._matches.live.of_player(player)))

    def most_matches(self, player: str) -> int | None:
        """Return how many matches at once a player accepts, by its hello; None if it has no live Play stream."""
        session, elsewhere = self._connections.of(player), self._connections.elsewhere.get(player)
        if session is None and elsewhere is None:
            return None
        said = session.hello.most_matches if session is not None else elsewhere.most_matches if elsewhere else 0
        return said or self._limits.open_matches_of_player

    async def open(self, caller: Caller, hello: Hello) -> Session:
        """Open a Play stream of a player; its previous one ends. The new stream already has its first items.

        Raises Refusal SCOPE_MISSING, ARGUMENT_INVALID, GAME_UNKNOWN, PARAMETER_INVALID, RATE_LIMITED, DRAINING,
        STORE_UNAVAILABLE.
        """
        caller.require(Scope.PLAY)
        now = self._clock.now_ms()
        self._openings.use(caller.player, now)  # each one causes events in all its matches
        self._check(hello)
        self._connections.check(caller.player)
        self._cut_off.check()
        with self._connections.waits.asking(caller.player) as asked_ms:
            async with self._cut_off.waiting():
                asked = Asked(asked_ms, min(asked_ms, now - round(1_000 * self._silence_s())))
                return await self._open(caller, hello, asked)

    async def _open(self, caller: Caller, hello: Hello, asked: Asked) -> Session:
        await self._matches.revive_of(caller.player)
        player = await self._accounts.introduce(
            caller.player, hello.bot_name, hello.bot_version, hello.games, hello.most_matches
        )
        if self._membership is None:
            return self._opened(caller, hello, asked, await self._catch_up.read(player, hello.seeks))
        with self._membership.opening(caller.player):
            replica, taken = await self._membership.take(caller.player, hello)
            self._connections.doubt(caller.player, taken.left_ms)
            self.take_over(taken.hand_overs)
            session = self._opened(caller, hello, asked, await self._catch_up.read(player, hello.seeks))
            session.row = replica, taken.epoch
            if taken.left_ms == NOT_YET:
                self._connections.doubt(caller.player, session.opened_ms)
                self.note_arrival(session)
            return session

    def _opened(self, caller: Caller, hello: Hello, asked: Asked, missed: Iterable[Item]) -> Session:
        """Open a stream with its first items, among them `missed`.

        From now on, news of its player goes to this stream.
        """
        self._accounts.check(caller)
        if self._matches.draining:
            raise DRAINING
        session = Session(caller, hello, self._limits, asked, self._clock.now_ms())
        before = self._connections.of(caller.player)
        if before is not None:
            before.end(superseded(caller.player))
        self._connections.by_player[caller.player] = session
        self._in_turn[session] = None
        session.ping()
        unfinished = self._matches.unfinished(caller.player)
        session.put_first(StateItem(match) for match in unfinished)
        session.put_first(missed)
        for first_items in self._first_items:
            session.put_first(first_items(session))
        for match in unfinished:
            note_state(session, match)
            self._delivery.offer_turn(session, match)
        self._matches.player_present(caller.player)
        return session

    def close(self, session: Session) -> None:
        """Remove a stream that the bot or the arbiter has ended."""
        self._in_turn.pop(session, None)
        if not session.closed:
            session.closed = True
            self._ends.note(session, self._clock.now_ms())
        if self._connections.of(session.player) is session:
            del self._connections.by_player[session.player]
            if self._membership is None:
                self.left(session.player)
            else:
                self._spawn(self._give_back(self._membership, session))

    def note_arrival(self, session: Session) -> None:
        """Record when a stream was opened, whose player may come from dead servers: then it left these."""
        if self._membership is not None:
            self._spawn(self._note_arrival(self._membership, session))

    async def _note_arrival(self, membership: Membership, session: Session) -> None:
        with suppress(StoreFailed):  # the next heartbeat tries again
            await membership.arrive(session)

    async def _give_back(self, membership: Membership, session: Session) -> None:
        """Remove the row of a stream.

        If it is by now another stream's, on whichever server, the player is still present.
        """
        with suppress(StoreFailed):  # the next heartbeat tries again
            if await membership.give_back(session):
                self.left(session.player)

    @contextmanager
    def attending(self, player: str) -> Iterator[None]:
        """Count a player as present while a stream other than Play is open.

        If it has opened too many in the last minute, its matches do not learn that it is present; it can still move.
        """
        self._connections.add_other(player)
        if not self._openings.take(player, self._clock.now_ms()):
            self._matches.player_present(player)
        try:
            yield
        finally:
            self._connections.remove_other(player)
            self.left(player)

    def left(self, player: str) -> None:
        """Inform a player's matches that a stream of it has ended, unless it has another one."""
        if not self._connections.is_anywhere(player):
            self._matches.player_absent(player)

    def notify(self, player: str, item: Item) -> None:
        """Put an item on a player's stream, if it has one."""
        self._catch_up.note_change(player)
        session = self._connections.of(player)
        if session is not None and not (isinstance(item, ChallengeItem) and session.has_sent_challenge(item.challenge)):
            session.put(item)

    def announce_seek(self, seek: Challenge) -> None:
        """Inform all bots that want to know of seeks."""
        self._catch_up.note_seek(seek)
        for session in self._connections:
            if session.hello.seeks and session.player != seek.challenger and not session.has_sent_challenge(seek):
                session.put(SeekItem(seek))

    def sweep(self, share: float = 1.0) -> None:
        """Ping a share of the streams, in turn, and end those of them that have been silent for too long.

        Call it often, with a small share: a thousand pongs at once would delay every match and distort the measured
        round trips.
        """
        now = self._clock.now_ms()
        streams = self._connections.by_player
        self._to_ping = min(self._to_ping + share * len(streams), len(streams))
        while self._to_ping >= 1:
            session, _ = self._in_turn.popitem(last=False)
            if streams.get(session.player) is not session:
                continue  # it has ended
            self._in_turn[session] = None
            self._to_ping -= 1
            if now - session.last_act_ms > self._limits.silence_ms:
                session.end(silent(self._limits.silence_ms))
            else:
                session.ping()

    def excuse_silence(self, stall_ms: int) -> None:
        """Do not count the time during which the server itself stood still as silence of the streams."""
        for session in self._connections:
            session.last_act_ms += stall_ms

    def take_over(self, hand_overs: Sequence[HandOver]) -> None:
        """Note when other servers handed over turns, whose players have come here meanwhile."""
        for handed_over in hand_overs:
            self._delivery.take_over(handed_over)

    def shut_out(self, player: str, token_id: str) -> None:
        """End the stream of a player who is suspended (`token_id` is ''), or whose token has been revoked."""
        session = self._connections.of(player)
        if session is None or (token_id and session.caller.token_id != token_id):
            return
        session.end(shut_out(player, token_id))

    def end_all(self, refusal: Refusal) -> None:
        """End every stream with a refusal, which says why."""
        for session in list(self._connections):
            session.end(refusal)

    def cut_all(self, refusal: Refusal) -> None:
        """End every stream with a refusal; from now on its player is not here."""
        for session in list(self._connections):
            session.end(refusal)
            self.close(session)

    def acknowledge(self, session: Session, cursor: str) -> None:
        """Note which results the bot has seen. A cursor after the last result that this stream has sent is ignored."""
        if cursor.isascii() and cursor.isdigit() and len(cursor) <= 18 and int(cursor) <= session.last_result:
            self._spawn(self._acknowledge(session, int(cursor), session.received(int(cursor))))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _acknowledge(self, session: Session, cursor: int, received: Collection[int]) -> None:
        with suppress(StoreFailed):  # the results are sent again
            if self._membership is not None:
                cursor = await self._last_received(session.player, cursor, received)
            await self._directory.acknowledge(session.player, cursor)
            session.unacknowledged = {each: None for each in session.unacknowledged if each > cursor}

    async def _last_received(self, name: str, cursor: int, received: Collection[int]) -> int:
        """Return the cursor up to which a player has received every result, at most a given one.

        The end of a match that another server has decided may come after a later one that was decided here.
        """
        player = await self._directory.player(name)
        last = player.acknowledged if player is not None else 0
        while rows := await self._matches.results(name, last, PAGE):
            for row in rows:
                if row.ended_sequence > cursor or row.ended_sequence not in received:
                    return last
                last = row.ended_sequence
        return last

    def _check(self, hello: Hello) -> None:
        if len(hello.games) > MOST_GAMES:
            raise argument_invalid(f"{len(hello.games)} games", "hello.games", f"at most {MOST_GAMES}")
        for game in hello.games:
            registry.game(game)
        if not 0 <= hello.most_matches <= self._limits.open_matches_of_player:
            raise argument_invalid(
                hello.most_matches, "hello.most_matches", f"0 to {self._limits.open_matches_of_player}"
            )


def superseded(player: str) -> Refusal:
    """Return the refusal that ends a stream whose player has opened another one."""
    message = f"a newer Play stream of {player} has replaced this one"
    return Refusal(Reason.SESSION_SUPERSEDED, message, resume_from="")


def silent(limit_ms: int) -> Refusal:
    """Return the refusal that ends a stream on which nothing has arrived for too long."""
    return Refusal(
        Reason.SESSION_SILENT, f"nothing arrived on this stream for {limit_ms} ms: connect again", limit=limit_ms
    )
