"""The testbed: one bot, its proxy and network, and all operations and checks that situations use.

All waits are for conditions. Their time limits, and the clocks of the matches, are multiplied by `scale` for a slow
machine, and time in which the machine did not let the kit run does not count. Situations do not judge the passing of
time itself, except the few that are about time.
"""

from __future__ import annotations

import asyncio
import math
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self

import grpc
from arbiter_protos.v1 import play_pb2

from arbiter.conformance.bot_match import OPPONENT, ORGANISER, BotMatch
from arbiter.conformance.bot_under_test import Launch, TestedBot
from arbiter.conformance.failures import Failed, NotApplicable
from arbiter.conformance.proxy import Down, ProxiedStream, Proxy
from arbiter.conformance.running_arbiter import RunningArbiter
from arbiter.conformance.trace import Trace
from arbiter.conformance.waiting import REACT_S, within
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import Seat
from arbiter.matches import commands
from arbiter.matches.match import Match
from arbiter.matches.policy import ClockStart
from arbiter.service.play.challenges import Terms
from arbiter.service.players.accounts import Caller
from arbiter.testing.network import Network
from arbiter.wire.refusal_messages import refusal_status

START_S: Final = 30.0  #: time limit for a bot to start and send its hello
TIDY_S: Final = 10.0  #: time limit to process the ends of a situation's matches
TIME_S: Final = 30  #: on each clock of most matches, plus 500 ms a move: bots that use all their time are quick enough
SHORT_GAME: Final = ("pods", "circle-of-life", "pondlife", "hop-it", "elevation")  #: games, the fastest first
READ_S: Final = 2.0  #: time for a bot to read what it was sent
FIRST_PING: Final = 5_000_000  #: before the numbers of pings that show what a bot has read
MOST_LISTED: Final = 1_000  #: seeks
LAST_WORDS_S: Final = 1.0  #: after the bot's end, until all its messages have arrived


class Testbed:
    """One bot under test, with its own proxy, network and player. As a context manager it ends all of them.

    player: the bot's player name. patience: the factor for the time that a bot may take to start. scale: the factor
    for all other time limits in the current situation.
    trace: of the current situation. matches: the latest state of the arbiter's matches, by id.
    """

    def __init__(self, running: RunningArbiter, player: str, token: str, launch: Launch, patience: float) -> None:
        self.running = running
        self.arbiter = running.arbiter
        self.clock = running.clock
        self.player = player
        self.token = token
        self.patience = self.scale = patience
        self.trace = Trace()
        self.matches: dict[str, Match] = {}
        self.proxy = Proxy(running.address)
        self.network: Network
        self.other_networks: list[Network] = []  #: besides `network`; the bot was started with their addresses, too
        self.bot: TestedBot | None = None
        self.games: tuple[str, ...] = ()  #: the games that the bot declares; empty for all
        self._launch = launch
        self.challenged: list[BotMatch] = []  #: the matches that came from challenges
        self._played: list[BotMatch] = []
        self._timers: list[asyncio.TimerHandle] = []
        self._ids = 0
        self._pings = 0
        self._port = 0  # of the proxy
        self._root: Path | None = None
        self._referee: Caller | None = None
        self.hello: play_pb2.ClientHello | None = None  #: the bot's last output

    # -- life --------------------------------------------------------------------------------------------------------

    async def open(self, credentials: grpc.ServerCredentials | None = None, root: Path | None = None) -> None:
        """Listen. With credentials, use TLS, and pass the root certificate's file to the bot."""
        self.arbiter.match_listeners.append(lambda match, _: self._happened(match))
        self._port = await self.proxy.listen(0, credentials)
        self.network = await self._new_network()
        self._root = root

    async def close(self) -> None:
        """End the bot and its environment."""
        await self.stop()
        await self.network.__aexit__(None, None, None)
        await self.proxy.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _new_network(self) -> Network:
        return await Network(f"127.0.0.1:{self._port}").__aenter__()

    def _happened(self, match: Match) -> None:
        if self.player in match.players:
            if match.created.creator == OPPONENT and match.id not in self.matches:
                seat: Seat = 1 if match.players[0] == self.player else 2
                self.challenged.append(BotMatch(self, match, seat))
                self._played.append(self.challenged[-1])
            self.matches[match.id] = match
            self.trace.changed.set()

    # -- a situation begins and ends ---------------------------------------------------------------------------------

    def begin(self, scale: float) -> None:
        """Begin a situation with a new trace; its time limits are multiplied by a factor."""
        self.scale = scale
        self.trace = self.proxy.trace = Trace()
        self.trace.streams += [self.stream.opened] if self.stream is not None else []
        self._played = []
        self.challenged = []

    async def tidy(self) -> bool:
        """Clean up after a situation. Return whether the bot is then in the same state as just after connecting."""
        for timer in self._timers:
            timer.cancel()
        self._timers = []
        self.proxy.plain()
        self.network.delay(0)
        self.network.refusing = False
        self.network.down.bytes_a_second = None
        for match in self._played:
            await match.end()
        if self.bot is None:
            return False
        try:
            await self.until(lambda: self.stream is not None and self.acknowledged(), "", TIDY_S)
        except Failed:
            return False
        return self.bot.exit_status is None and not self.other_networks

    def acknowledged(self) -> bool:
        """Return whether the bot has acknowledged the results of all matches that have ended in this situation."""
        ends = {told.item.ended.match_id: told.item.ended.cursor for told in self.trace.items("ended")}
        said = {said.act.acknowledge.cursor for said in self.trace.acts("acknowledge")}
        greatest = max((int(cursor) for cursor in said if cursor.isdigit()), default=-1)
        return all(
            match.id in ends and (not ends[match.id].isdigit() or int(ends[match.id]) <= greatest)
            for match in self._played
            if match.over
        )

    # -- the bot -----------------------------------------------------------------------------------------------------

    async def ready(self) -> None:
        """Start the bot if needed, and wait until it has sent its hello. Raises Failed if it does not connect."""
        after_s = 0.0
        if self.bot is None or self.bot.exit_status is not None:
            after_s = self.trace.now_s
            await self.start()
        # Startup time depends on the machine. So this limit stays even where limits are shortened for a fast bot.
        stream = await self.connected(START_S * max(1.0, self.patience) / self.scale, after_s)
        await self.until(lambda: stream.opened.met, "the arbiter to answer the bot's hello")

    async def start(self, *arguments: str) -> None:
        """Start the bot, with more arguments if there are any."""
        environment = {
            "ARBITER_SERVER": ",".join(network.address for network in (self.network, *self.other_networks)),
            "ARBITER_TOKEN": self.token,
            "ARBITER_NAME": self.player,
            "ARBITER_CREDENTIALS": str(self._launch.log.with_suffix(".credentials.json")),
        }
        if self._root is not None:
            environment["ARBITER_ROOT_CERTIFICATE"] = str(self._root)
        command = f"{self._launch.command} {shlex.join(arguments)}"
        bot = TestedBot(self._launch._replace(command=command), environment)
        await bot.start()
        self.trace.note(f"starts the bot {shlex.join(arguments)}".strip())
        self.bot, self._watching = bot, asyncio.create_task(self._watch(bot))

    async def start_at_two_addresses(self) -> tuple[Network, Network]:
        """Start the bot with two addresses of the arbiter, and return the network behind each."""
        if self._launch.sandbox is not None:
            raise NotApplicable("a bot in a sandbox sees one address")
        self.other_networks = [await self._new_network()]
        await self.start()
        await self.connected(START_S * max(1.0, self.patience) / self.scale)
        return self.network, self.other_networks[0]

    async def _watch(self, bot: TestedBot) -> None:
        status = await bot.ended()
        self.trace.note(f"the bot has ended with exit status {status}")

    async def stop(self) -> None:
        """Kill the bot."""
        if self.bot is not None:
            await self.bot.kill()
            await asyncio.wait((self._watching,))
            await self.quiet(lambda: not self.proxy.streams, LAST_WORDS_S)
        self.bot = None
        for network in self.other_networks:
            await network.__aexit__(None, None, None)
        self.other_networks = []

    @property
    def stream(self) -> ProxiedStream | None:
        """The bot's latest live stream, if there is one."""
        return self.proxy.streams[-1] if self.proxy.streams else None

    @property
    def live(self) -> ProxiedStream:
        """The bot's latest stream. Raises Failed if it has none."""
        if self.stream is None:
            raise Failed("the bot has no stream")
        return self.stream

    async def connected(self, within_s: float = START_S, after_s: float = 0.0) -> ProxiedStream:
        """Wait for a stream that the bot opened after an instant, and on which it has sent its hello; return it."""

        def there() -> bool:
            stream = self.stream
            return stream is not None and stream.opened.messages > 0 and stream.opened.at_s >= after_s

        await self.until(there, "the bot to connect and say hello", within_s)
        stream = self.live
        for said in self.trace.said:
            if said.act.WhichOneof("act") == "hello":
                self.hello = said.act.hello
                self.games = tuple(said.act.hello.games)
        return stream

    # -- waiting -----------------------------------------------------------------------------------------------------

    async def until(self, condition: Callable[[], bool], what: str, within_s: float = REACT_S) -> None:
        """Wait until a condition holds. Raises Failed after a time limit, naming the condition."""
        limit_s = within_s * self.scale
        came = await self._within(lambda: condition() or self.gone, limit_s)
        if came and self.gone:  # the effect of its last messages may still be pending
            came = await self.quiet(condition, LAST_WORDS_S)
        if not came and self.gone and self.bot is not None:
            raise Failed(f"waited for {what}, but the bot has ended, with exit status {self.bot.exit_status}")
        if not came:
            raise Failed(f"waited {limit_s:g} s for {what}")

    @property
    def gone(self) -> bool:
        """Whether the bot has been started, and has ended."""
        return self.bot is not None and self.bot.exit_status is not None

    async def waiting(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds, without a time limit."""
        await self._within(condition, math.inf)

    async def _within(self, condition: Callable[[], bool], seconds: float) -> bool:
        return await within(condition, seconds, lambda: self.trace.changed)

    async def quiet(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Give an unwanted event the time to happen, never less than asked for; return whether it happened."""
        return await self._within(condition, seconds * max(1.0, self.scale))

    async def lasts(self, seconds: float, condition: Callable[[], bool] = lambda: False) -> None:
        """Let a state last this long, the same on every machine, or until a condition holds."""
        await self._within(condition, seconds)

    # -- matches -----------------------------------------------------------------------------------------------------

    def plays(self, game: str) -> bool:
        """Return whether the bot plays a game, according to its hello."""
        return not self.games or game in {name.partition("(")[0] for name in self.games}

    def game(self, suits: Callable[[str], bool] = lambda game: True) -> str:
        """Return a game that the bot plays, the quickest first. Raises NotApplicable if none suits."""
        for game in (*SHORT_GAME, *registry.classes()):
            if self.plays(game) and suits(game):
                return game if not self.games else next(n for n in self.games if n.partition("(")[0] == game)
        raise NotApplicable(f"this bot plays {', '.join(self.games)}")

    async def match(
        self, game: str = "", seat: Seat = 1, time: str = "", opening: tuple[str, ...] = (), against: str = OPPONENT
    ) -> BotMatch:
        """Create a match of the bot that starts at once; the bot has the given seat.

        time: the time control; '' for one that is long enough for all that the referee does meanwhile.
        """
        arbiter = self.arbiter
        game = game or self.game()
        time = time or f"{round(TIME_S * max(1.0, self.scale))}s+500ms"
        players = (self.player, against) if seat == 1 else (against, self.player)
        policy = replace(arbiter.policy, start=ClockStart.AT_ONCE, abandon_ms=0)
        made = await arbiter.matches.create(
            commands.Create(game, players, time, ORGANISER, self.new_id(), policy, opening=opening)
        )
        self.matches.setdefault(made.id, made)
        played = BotMatch(self, made, seat)
        self._played.append(played)
        self.trace.note(f"makes a match of {registry.game(game).variant} in which the bot has seat {seat}: {made.id}")
        return played

    async def challenge(self) -> str:
        """Challenge the bot, and return the challenge's id."""
        caller = await self._opponent()
        terms = Terms(self.game(), "1m+1s", False, 1)
        made = await self.arbiter.challenges.challenge(caller, self.new_id(), self.player, terms)
        self.trace.note(f"challenges the bot: {made.challenge_id}")
        return made.challenge_id

    async def seeks(self) -> list[str]:
        """Return the ids of the seeks that the bot has open."""
        caller = await self._opponent()
        open_now = await self.arbiter.challenges.open(caller, "", MOST_LISTED)
        return [seek.challenge_id for seek in open_now if seek.challenger == self.player and not seek.opponent]

    async def accept(self, challenge_id: str) -> BotMatch:
        """Accept a seek of the bot's; return the match."""
        made = await self.arbiter.challenges.accept(await self._opponent(), challenge_id)
        self.matches.setdefault(made.id, made)
        played = BotMatch(self, made, 1 if made.players[0] == self.player else 2)
        self._played.append(played)
        self.trace.note(f"accepts the seek {challenge_id}: {made.id}")
        return played

    async def _opponent(self) -> Caller:
        if self._referee is None:
            self._referee = await self.arbiter.accounts.authenticate(await self.running.token(OPPONENT))
        return self._referee

    # -- what is done to the bot -------------------------------------------------------------------------------------

    def new_id(self) -> str:
        """Return a request id for the referee's own use."""
        self._ids += 1
        return f"{self.player}-{self._ids}"

    def cut(self) -> None:
        """Cut the bot's connection."""
        self.trace.note("cuts the connection")
        self.network.cut()

    def ping(self, *numbers: int) -> None:
        """Ping the bot, with these numbers, in one message."""
        self.live.send(*(play_pb2.PlayItem(ping=play_pb2.Ping(number=number)) for number in numbers))

    async def read(self) -> None:
        """Give the bot the time to read all that it was sent: it answers a ping after that, if it answers pings."""
        self._pings += 1
        number = FIRST_PING + self._pings
        self.ping(number)
        await self.quiet(lambda: any(said.act.pong.number == number for said in self.trace.acts("pong")), READ_S)

    def end_stream(self, reason: Reason, **facts: str | int) -> None:
        """End the bot's stream with a refusal, after a notice of it."""
        refusal = Refusal(reason, "the referee says so", **facts)
        self.trace.note(f"ends the stream with {reason.value} {facts or ''}")
        self.live.end(refusal_status(refusal))

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Run a function after a delay, unless the situation has ended by then."""
        self._timers.append(asyncio.get_running_loop().call_later(seconds, act))

    @contextmanager
    def calls_held(self, which: Callable[[Any], bool] = lambda request: True) -> Iterator[None]:
        """Delay the answers to calls, except the stream, during the context: a bot that calls is then thinking."""
        self.proxy.holds = which
        self.proxy.calls_open.clear()
        self.trace.note("holds back the answers to calls")
        try:
            yield
        finally:
            self.proxy.calls_open.set()
            self.trace.note("answers calls again")

    @contextmanager
    def without_lists(self) -> Iterator[None]:
        """Omit the legal moves from turns during the context: the bot must request or know them."""
        before = self.proxy.down

        def bare(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
            told = []
            for out in before(item):
                if out.WhichOneof("item") == "turn":
                    out.turn.ClearField("legal_moves")
                    out.turn.ClearField("legal_move_count")
                told.append(out)
            return told

        self.proxy.down = bare
        try:
            yield
        finally:
            self.proxy.down = before

    def bend(self, down: Down) -> None:
        """Pass every item for the bot through a function from now on; the function may change its copy."""
        self.proxy.down = down
