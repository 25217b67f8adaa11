"""Play streams: how they open and end, and the items that each one gets first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from arbiter.errors import Reason, Refusal, argument_invalid
from arbiter.games import registry
from arbiter.matches.match import Phase
from arbiter.service.alone import OtherServers
from arbiter.service.matches.live import DRAINING
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.play.catch_up import CatchUp
from arbiter.service.play.connected_players import Connections
from arbiter.service.play.delivery import Delivery, note_state
from arbiter.service.play.pings import CONNECT_AGAIN, Pings
from arbiter.service.play.session import Asked, ChallengeItem, Hello, Item, SeekItem, Session, StateItem
from arbiter.service.play.stream_ends import StreamEnds
from arbiter.service.players.accounts import Accounts, Caller, Scope, shut_out
from arbiter.service.ports.directory import Challenge
from arbiter.service.ports.environment import Environment
from arbiter.service.token_bucket import MINUTE_MS, TokenBuckets

MOST_GAMES = 100  #: variants in a hello
SENT_ON_AGAIN_MS: Final = 600_000  #: between two times that a bot is asked to go to another server


class Sessions:
    """All live Play streams, at most one for each player.

    others: the other servers of the store. A player has one stream on all servers together.
    """

    def __init__(
        self,
        connections: Connections,
        matches: MatchRegistry,
        accounts: Accounts,
        catch_up: CatchUp,
        delivery: Delivery,
        others: OtherServers,
        environment: Environment,
    ) -> None:
        self._connections = connections
        self.of: Final = connections.of
        self.elsewhere: Final = others.elsewhere  #: the row of a player's Play stream on another server, or None
        self._matches = matches
        self._accounts = accounts
        self._catch_up = catch_up
        self._delivery = delivery
        self._others = others
        self._clock = environment.clock
        self._limits = limits = environment.limits
        self._ends = StreamEnds()
        self.last_ends: Final = self._ends.of
        self.pings: Final = Pings(connections, environment.clock, limits, self._may_go)
        self.acknowledge: Final = catch_up.acknowledge
        self._sent_on: dict[str, int] = {}  # players who were asked to connect again, and when
        self._openings = TokenBuckets(limits.play_streams_a_minute, MINUTE_MS, "streams of one player in a minute")

    def is_live(self, player: str) -> bool:
        """Return whether a player has a live Play stream, on whichever server."""
        return self._connections.of(player) is not None or self._others.elsewhere(player) is not None

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
        return sorted({*self._connections.by_player, *self._others.players_elsewhere()})

    def all(self) -> list[Session]:
        """Return the live Play streams on this server."""
        return list(self._connections)

    def free_slots(self, player: str) -> int | None:
        """Return how many more matches a player accepts, by its hello; None if it has no live Play stream."""
        most = self.most_matches(player)
        return None if most is None else max(0, most - len(self._matches.live.of_player(player)))

    def most_matches(self, player: str) -> int | None:
        """Return how many matches at once a player accepts, by its hello; None if it has no live Play stream."""
        session, elsewhere = self._connections.of(player), self._others.elsewhere(player)
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
        self._others.cut_off.check()
        with self._connections.waits.asking(caller.player) as begun_ms:
            async with self._others.cut_off.waiting():
                return await self._open(caller, hello, begun_ms, now - round(1_000 * self._others.silence_s()))

    async def _open(self, caller: Caller, hello: Hello, begun_ms: Sequence[int], silent_ms: int) -> Session:
        """Open a stream.

        begun_ms: when its player's requests in a row began. silent_ms: since when the log does not answer, or now.
        """
        await self._matches.revive_of(caller.player)
        player = await self._accounts.introduce(
            caller.player, hello.bot_name, hello.bot_version, hello.games, hello.most_matches
        )
        async with self._others.opening(caller.player, hello.bot_version, hello.most_matches) as opening:
            self._delivery.take_over(opening.hand_overs)
            at_ms = self._asked_ms(caller.player, begun_ms)
            asked = Asked(at_ms, min(at_ms, silent_ms))
            session = self._opened(caller, hello, asked, await self._catch_up.read(player, hello.seeks))
            opening.opened(session)
            return session

    def _asked_ms(self, player: str, begun_ms: Sequence[int]) -> int:
        """Return when the first of a player's requests in a row began since it was told of a turn.

        Then it had a stream, maybe at another server.
        """
        if len(begun_ms) == 1:  # mostly: there is nothing to look for
            return begun_ms[0]
        told_ms = max((each.at_ms for each in self._delivery.hand_overs(player)), default=0)
        return next((each for each in begun_ms if each > told_ms), begun_ms[-1])

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
        self.pings.begin(session)
        unfinished = self._matches.unfinished(caller.player)
        session.put_first(StateItem(match) for match in unfinished)
        session.put_first(missed)
        session.put_first(self._catch_up.further(session))
        for match in unfinished:
            note_state(session, match)
            self._delivery.offer_turn(session, match)
        self._matches.player_present(caller.player)
        return session

    def close(self, session: Session) -> None:
        """Remove a stream that the bot or the arbiter has ended."""
        self.pings.end(session)
        if not session.closed:
            session.closed = True
            self._ends.note(session, self._clock.now_ms())
        if self._connections.of(session.player) is session:
            del self._connections.by_player[session.player]
            self._others.closed(session, self._delivery.hand_overs, self.left)

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
        if not self._connections.is_present(player) and self._others.elsewhere(player) is None:
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

    def send_one_on(self) -> bool:
        """Ask the bot that has been here for longest without a match to connect again; return whether there is one.

        A bot that was asked and has come back is left alone for a while: it may know no other server.
        """
        now = self._clock.now_ms()
        self._sent_on = {player: at for player, at in self._sent_on.items() if now - at < SENT_ON_AGAIN_MS}
        idle = [
            session
            for session in self._connections
            if session.ended is None and session.player not in self._sent_on and self._is_idle(session.player)
        ]
        if not idle:
            return False
        first = min(idle, key=lambda session: session.opened_ms)
        self._sent_on[first.player] = now
        first.end(CONNECT_AGAIN)
        return True

    def _may_go(self, session: Session, age_ms: int) -> bool:
        """Return whether a stream is old enough to end now: without a match, or else, a while later, between turns.

        Not while its bot prepares for a match: it would begin again on its next stream, and its clock may not wait.
        """
        most_ms = self._limits.play_stream_ms
        if not most_ms or age_ms < most_ms:
            return False
        if self._is_idle(session.player):
            return True
        if session.preparing or age_ms < 2 * most_ms:
            return False
        return not any(
            match.phase is Phase.ACTIVE and match.created.players[match.turn - 1] == session.player
            for match in self._matches.unfinished(session.player)
        )

    def _is_idle(self, player: str) -> bool:
        return not self._matches.unfinished(player)

    def cut_all(self, refusal: Refusal) -> None:
        """End every stream with a refusal; from now on its player is not here."""
        for session in list(self._connections):
            session.end(refusal)
            self.close(session)

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
