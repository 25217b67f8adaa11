"""The testbed: one bot, its proxy and network, and all operations and checks that situations use.

All waits are for conditions. Their time limits, and the clocks of the matches, are multiplied by `scale` for a slow
machine, and time in which the machine did not let the kit run does not count. Situations do not judge the passing of
time itself, except the few that are about time.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, Self

import grpc
from arbiter_protos.v1 import play_pb2

from arbiter.conformance.bot_match import OPPONENT, ORGANISER, BotMatch
from arbiter.conformance.bot_under_test import Launch, TestedBot
from arbiter.conformance.failures import Failed, NotApplicable
from arbiter.conformance.proxy import ProxiedStream, Proxy
from arbiter.conformance.running_arbiter import RunningArbiter
from arbiter.conformance.trace import Trace
from arbiter.conformance.waiting import REACT_S, within
from arbiter.games import registry
from arbiter.games.contract import Seat
from arbiter.matches import commands
from arbiter.matches.match import Match
from arbiter.matches.policy import ClockStart
from arbiter.service.play.challenges import Terms
from arbiter.service.players.accounts import Caller
from arbiter.testing.network import Network

START_S: Final = 30.0  #: time limit for a bot to start and send its hello
TIDY_S: Final = 10.0  #: time limit to process the ends of a situation's matches
TIME_S: Final = 30  #: on each clock of most matches, plus 500 ms a move: bots that use all their time are quick enough
SHORT_GAME: Final = ("pods", "circle-of-life", "pondlife", "hop-it", "elevation")  #: games, the fastest first
LAST_WORDS_S: Final = 1.0  #: after the bot's end, until all its messages have arrived


class Testbed:
    """One bot under test, with its own proxy, network and player, during the context.

    player: the bot's player name. patience: the factor for the time that a bot may take to start. scale: the factor
    for all other time limits in the current situation. credentials: to speak TLS, with the root certificate's file.
    trace: of the current situation. matches: all of the bot, by id; played: those of the current situation.
    """

    def __init__(
        self,
        running: RunningArbiter,
        player: str,
        token: str,
        launch: Launch,
        patience: float,
        credentials: grpc.ServerCredentials | None = None,
        root: Path | None = None,
    ) -> None:
        self.running = running
        self.arbiter = running.arbiter
        self.clock = running.clock
        self.player = player
        self.token = token
        self.patience = self.scale = patience
        self.trace = Trace()
        self.matches: dict[str, BotMatch] = {}
        self.played: list[BotMatch] = []
        self.proxy = Proxy(running.address)
        self.network: Network
        self.other_networks: list[Network] = []  #: besides `network`; the bot was started with their addresses, too
        self.bot: TestedBot | None = None
        self.games: tuple[str, ...] = ()  #: the games that the bot declares; empty for all
        self._launch = launch
        self._timers: list[asyncio.TimerHandle] = []
        self._ids = 0
        self._port = 0  # of the proxy
        self._credentials = credentials
        self._root = root
        self._referee: Caller | None = None
        self.hello: play_pb2.ClientHello | None = None  #: the bot's last output

    # -- life --------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self.arbiter.match_listeners.append(self._happened)
        self._port = await self.proxy.listen(0, self._credentials)
        self.network = await self._new_network()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        await self.network.__aexit__(None, None, None)
        await self.proxy.close()

    async def _new_network(self) -> Network:
        return await Network(f"127.0.0.1:{self._port}").__aenter__()

    def _happened(self, match: Match, _: object) -> None:
        if {*match.players} in ({self.player, OPPONENT}, {self.player}):  # not one that two bots have agreed on
            if match.id not in self.matches:
                self.matches[match.id] = BotMatch(self, match)
                self.played.append(self.matches[match.id])
            self.matches[match.id].now = match
            self.trace.changed.set()

    # -- a situation begins and ends ---------------------------------------------------------------------------------

    def begin(self, scale: float) -> None:
        """Begin a situation with a new trace; its time limits are multiplied by a factor."""
        self.scale = scale
        self.trace = self.proxy.trace = Trace()
        self.trace.streams += [stream.opened for stream in self.proxy.streams[-1:]]
        self.played = []

    async def tidy(self) -> bool:
        """Clean up after a situation. Return whether the bot is then in the same state as just after connecting."""
        for timer in self._timers:
            timer.cancel()
        self._timers = []
        self.proxy.plain()
        self.network.delay(0)
        self.network.refusing = False
        self.network.down.bytes_a_second = None
        for match in self.played:
            await match.end()
        if self.bot is None:
            return False
        try:
            await self.until(lambda: bool(self.proxy.streams) and self.acknowledged(), "", TIDY_S)
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
            for match in self.played
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
        await self.connected(START_S * max(1.0, self.patience) / self.scale, after_s)
        answered = "the arbiter to answer the bot's hello"  # on its latest stream: the first may have ended before
        await self.until(lambda: any(one.opened.met for one in self.proxy.streams[-1:]), answered)

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
        self.bot, self._end = bot, asyncio.create_task(bot.ended())
        self._end.add_done_callback(lambda _: self.trace.note(f"the bot has ended with exit status {bot.exit_status}"))

    async def start_at_two_addresses(self) -> tuple[Network, Network]:
        """Start the bot with two addresses of the arbiter; return the network that it uses, and the other one.

        On a busy machine a bot may have given up the first address.
        """
        if self._launch.sandbox is not None:
            raise NotApplicable("a bot in a sandbox sees one address")
        self.other_networks = [await self._new_network()]
        await self.start()
        await self.connected(START_S * max(1.0, self.patience) / self.scale)
        first, second = self.network, self.other_networks[0]
        return (first, second) if first.connections else (second, first)

    async def stop(self) -> None:
        """Kill the bot."""
        if self.bot is not None:
            await self.bot.kill()
            await asyncio.wait((self._end,))
            await self.quiet(lambda: not self.proxy.streams, LAST_WORDS_S)
        self.bot = None
        for network in self.other_networks:
            await network.__aexit__(None, None, None)
        self.other_networks = []

    async def connected(self, within_s: float = START_S, after_s: float = 0.0) -> ProxiedStream:
        """Wait for a stream that the bot opened after an instant, and on which it has sent its hello; return it."""

        def there() -> bool:
            return any(one.opened.messages and one.opened.at_s >= after_s for one in self.proxy.streams[-1:])

        await self.until(there, "the bot to connect and say hello", within_s)
        for said in self.trace.said:
            if said.act.WhichOneof("act") == "hello":
                self.hello = said.act.hello
                self.games = tuple(said.act.hello.games)
        return self.proxy.live

    # -- waiting -----------------------------------------------------------------------------------------------------

    async def until(self, condition: Callable[[], bool], what: str, within_s: float = REACT_S) -> None:
        """Wait until a condition holds. Raises Failed after a time limit, naming the condition."""
        limit_s = within_s * self.scale
        came = await self.lasts(limit_s, lambda: condition() or self.gone)
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

    async def quiet(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Give an unwanted event the time to happen, never less than asked for; return whether it happened."""
        return await self.lasts(seconds * max(1.0, self.scale), condition)

    async def lasts(self, seconds: float, condition: Callable[[], bool] = lambda: False) -> bool:
        """Let a state last this long, the same on every machine, or until a condition holds; return whether it does."""
        return await within(condition, seconds, lambda: self.trace.changed)

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
        self.trace.note(f"makes a match of {registry.game(game).variant} in which the bot has seat {seat}: {made.id}")
        return self.matches[made.id]

    async def challenge(self) -> str:
        """Challenge the bot, and return the challenge's id."""
        caller = await self.opponent()
        terms = Terms(self.game(), "1m+1s", False, 1)
        made = await self.arbiter.challenges.challenge(caller, self.new_id(), self.player, terms)
        self.trace.note(f"challenges the bot: {made.challenge_id}")
        return made.challenge_id

    async def opponent(self) -> Caller:
        """Return the referee's player as a caller."""
        if self._referee is None:
            self._referee = await self.arbiter.accounts.authenticate(await self.running.token(OPPONENT))
        return self._referee

    # -- what is done to the bot -------------------------------------------------------------------------------------

    def new_id(self) -> str:
        """Return a request id for the referee's own use."""
        self._ids += 1
        return f"{self.player}-{self._ids}"

    def cut(self, after_s: float = 0.0) -> None:
        """Cut the bot's connection, at once or after a delay, unless the situation has ended by then."""
        if after_s:
            self._timers.append(asyncio.get_running_loop().call_later(after_s, self.cut))
        else:
            self.trace.note("cuts the connection")
            self.network.cut()
