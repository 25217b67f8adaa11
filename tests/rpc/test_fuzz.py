"""Every RPC, with any message, is answered or refused with a reason; it logs no error and leaves nothing behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Iterator, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest
import structlog
from arbiter_protos.v1 import play_pb2
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from arbiter.bootstrap.world import World
from arbiter.config import Limits, Settings
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.keys.key_ring import open_ring
from arbiter.matches.commands import Abort
from arbiter.service.play.challenges import Terms
from arbiter.service.players.accounts import Caller, Scope
from arbiter.service.ports.directory import Challenge
from arbiter.service.ports.journal import TournamentFilter
from arbiter.testing.served import memory_world, served
from arbiter.tournaments import commands as do
from arbiter.tournaments.spec import Format, Spec
from arbiter.wire.encoding_pool import EncodingPool
from tests.fuzz import effort
from tests.rpc.calls import Metadata, Stubs
from tests.rpc.fuzzing import Method, Words, call, documented, garbage, messages
from tests.rpc.methods import METHODS
from tests.rpc.test_rights import TABLE

pytestmark = pytest.mark.long

T = TypeVar("T")
LIMITS = Limits(
    message_bytes=65_536,
    page_size=3,
    largest_page_size=5,
    line_moves=20,
    rules_ms=500,
    open_matches=24,
    open_matches_of_player=12,
    open_challenges_of_player=6,
    open_tournaments=8,
    seeks_a_minute=1_000_000,
    observers=10,
    silence_ms=10_000,
    ping_ms=400,
    bookmark_ms=1_000,
)
WHO = ("alice", "org", "observer", "admin")  #: the caller for each column of scopes in the table of rights
MOVES = [
    move for name in registry.BUNDLED for move in list(registry.game(name).moves(registry.game(name).initial()))[:9]
]


CALLERS = ("alice", "bob", "carol", "org", "observer", "root")


class FuzzTarget:
    """A server that is fuzzed, and its callers."""

    def __init__(self, stubs: Stubs) -> None:
        self.stubs = stubs
        self.arbiter = stubs.served.running.arbiter
        self.tokens: dict[str, Metadata] = {}
        self._made = 0

    async def enter(self) -> FuzzTarget:
        """Register the callers."""
        await self.stubs.enter()
        served = self.stubs.served
        self.tokens = {
            "alice": self.stubs.alice,
            "bob": self.stubs.bob,
            "org": self.stubs.org,
            "observer": await served.token("observer", Scope.OBSERVE),
            "admin": await served.token("root", Scope.ADMIN),
        }
        await served.token("carol")
        return self

    async def is_whole(self) -> bool:
        """Return whether no call has deleted a caller."""
        try:
            return all([await self.arbiter.accounts.player(name) for name in CALLERS])
        except Refusal:
            return False

    async def prepare(self) -> Words:
        """Make sure that the callers may call and that matches are under way; return the valid texts of this world."""
        matches = self.arbiter.matches
        for name in CALLERS:
            player = await self.arbiter.accounts.player(name)
            if player.suspended:
                await self.arbiter.accounts.suspend(name, suspended=False)
            if player.retired:
                await self.arbiter.accounts.profiles.show(name, retired=False, hidden=None)
        for match in matches.unfinished("alice")[8:]:
            await matches.act(match.id, Abort("org", "away"))
        while len(matches.unfinished("alice")) < 2:
            self._made += 1
            await self.stubs.match(f"match {self._made}")
        unfinished = [match.id for match in matches.unfinished("alice")][:2]
        challenges = [challenge.challenge_id for challenge in await self._challenges()]
        return self._words(unfinished, challenges, await self._tournaments())

    async def _challenges(self) -> list[Challenge]:
        """Return two open seeks of another player, after all others have been withdrawn."""
        challenges, carol = self.arbiter.challenges, Caller("carol", "", frozenset({Scope.PLAY.value}))
        for name in ("alice", "bob", "carol", "root"):
            caller = Caller(name, "", carol.scopes)
            for challenge in await challenges.open(caller, "", 50):
                if challenge.challenger == name:
                    await challenges.decline(caller, challenge.challenge_id, "")
        self._made += 1
        terms = Terms("pods", "none", rated=False, seat=1)
        return [await challenges.seek(carol, f"{number} {self._made}", terms) for number in range(2)]

    async def _tournaments(self) -> list[str]:
        """Return up to four tournaments, one of them open for players; all others are cancelled."""
        tournaments = self.arbiter.tournaments
        rows = await tournaments.summaries(TournamentFilter(ended=False), 0, 50)
        for row in rows[3:]:
            await tournaments.act(row.tournament_id, do.Cancel("", "away"))
        found = [row.tournament_id for row in rows[:3]]
        if not any(row.phase == "entry" for row in rows[:3]):
            self._made += 1
            spec = Spec("cup", Format.ROUND_ROBIN, ("pods(size=3)",), "none", paired=False)
            found.append((await tournaments.create(spec, "org", f"cup {self._made}")).id)
        return found

    def _words(self, matches: list[str], challenges: list[str], tournaments: list[str]) -> Words:
        """Return texts that are valid here, by the name of the field."""
        games = ["pods(size=3)", *registry.BUNDLED]
        players = ["alice", "bob", "carol", "nobody", ""]
        words = {
            "match_id": [*matches, "m-none"],
            "challenge_id": [*challenges, "c-none"],
            "tournament_id": [*tournaments, "t-none"],
            "game": games,
            "games": games,
            "position": [registry.game(name).text(registry.game(name).initial()) for name in games],
            "move": MOVES,
            "moves": MOVES,
            "players": players,
            "player": players,
            "other": players,
            "name": [*players, f"new{self._made}"],
            "opponent": players,
            "creator": players,
            "invited": players,
            "time": ["none", "1s", "5m+3s"],
            "time_control": ["none", "5m+3s", "1m+3x10s", "40/30m", ""],
            "request_id": ["r", "s", "t", f"fresh {self._made}"],
            "after_token": ["1", "0", "99999"],
            "page_token": ["1", "0", "99999", "alice", "1-1", "0-0"],
            "cursor": ["1", "0", "99999"],
            "protocol_version": ["1.0", "1.7", "2.0", ""],
        }
        return {**words, "": [word for listed in words.values() for word in listed[:4]]}


@asynccontextmanager
async def world(settings: Settings, folder: Path) -> AsyncIterator[World]:
    """Open a world in memory with real workers for rules and real keys."""
    async with memory_world(settings) as plain:
        pool = EncodingPool(settings.limits, 1)
        await pool.warm()
        try:
            yield plain._replace(rules=pool, signer=open_ring(folder / "arbiter.keys", structlog.get_logger()))
        finally:
            await pool.close()


class ErrorLog(logging.Handler):
    """Everything that is logged as an error: no request of a client should be."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what libraries log; gRPC tells the closed loops of earlier tests too that something has happened."""
        text = self.format(record)
        if not ("PollerCompletionQueue" in text and "Event loop is closed" in text):
            self.found.append(text)

    def check(self) -> None:
        """Fail if anything was logged since the last check."""
        found, self.found = self.found, []
        assert found == []

    def take(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> NoReturn:
        """Keep what the arbiter logs, as a processor of structlog."""
        if method in ("error", "critical", "exception"):
            self.found.append(repr(event))
        raise structlog.DropEvent


class Fuzz:
    """The server of these tests, for tests that are not coroutines because Hypothesis calls them."""

    def __init__(self, runner: asyncio.Runner, folder: Path, errors: ErrorLog) -> None:
        self.errors = errors
        self._runner = runner
        self._folder = folder
        self._begin()

    def _begin(self) -> None:
        self._serving = served(lambda settings: world(settings, self._folder), limits=LIMITS)
        stubs = Stubs(self._runner.run(self._serving.__aenter__()))
        self.target = self._runner.run(FuzzTarget(stubs).enter())

    def end(self) -> None:
        """Stop the server."""
        self._runner.run(self._serving.__aexit__(None, None, None))

    def prepare(self) -> Words:
        """Return the valid texts of the server; if a call has deleted a caller, of a new one."""
        if not self._runner.run(self.target.is_whole()):
            self.end()
            self._begin()
        return self.run(self.target.prepare())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine returns; fail if anything was logged as an error meanwhile."""
        answer = self._runner.run(work)
        self.errors.check()
        return answer


@pytest.fixture(scope="module")
def fuzz(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzz]:
    folder, errors = tmp_path_factory.mktemp("fuzz"), ErrorLog()
    before = structlog.get_config()["processors"]
    structlog.configure(processors=[errors.take])
    logging.getLogger().addHandler(errors)
    with asyncio.Runner() as runner:
        fuzz = Fuzz(runner, folder, errors)
        try:
            yield fuzz
        finally:
            fuzz.end()
            logging.getLogger().removeHandler(errors)
            structlog.configure(processors=before)
    errors.check()


def method_of(name: str) -> Method:
    """Return a method by its name in `METHODS`."""
    found = METHODS[name]
    path = f"/{found.containing_service.full_name}/{found.name}"
    return Method(path, found.client_streaming, found.server_streaming, GetMessageClass(found.output_type))


def credentials(name: str, tokens: dict[str, Metadata]) -> st.SearchStrategy[Metadata]:
    """Return metadata for a call: mostly of an authorised caller, else of another, or an invalid token, or several."""
    odd = st.sampled_from(
        [
            [],
            [("authorization", "")],
            [("authorization", "Bearer")],
            [("authorization", "Bearer  ")],
            [("authorization", "Basic YTpi")],
            [("authorization", "Bearer " + "x" * 3_000)],
            [("authorization", "bearer nonsense"), *tokens["alice"]],
            [*tokens["bob"], *tokens["admin"]],
            [("x-more-bin", bytes(range(256))), *tokens["org"]],
        ]
    )
    columns = [row.partition(" ")[2] for row in TABLE[name].values()]
    may = {who for row in columns for who, sign in zip(WHO, row, strict=True) if sign == "+"}
    allowed = [metadata for who, metadata in tokens.items() if (who if who in WHO else "alice") in may]
    anybody = st.sampled_from(list(tokens.values()))
    return st.integers(0, 9).flatmap(lambda lot: st.sampled_from(allowed) if lot < 8 else st.one_of(anybody, odd))


@pytest.mark.parametrize("name", METHODS)
@effort(0.15)
@given(data=st.data())
def test_every_call_is_answered_or_refused_with_a_reason(fuzz: Fuzz, name: str, data: st.DataObject) -> None:
    words = fuzz.prepare()
    kind, method = METHODS[name].input_type, method_of(name)
    several = st.lists(messages(kind, words), min_size=not method.client_streams, max_size=4)
    drawn = data.draw(several if method.client_streams else messages(kind, words).map(lambda one: [one]))
    metadata = data.draw(credentials(name, fuzz.target.tokens))
    requests = [message.SerializeToString() for message in drawn]
    fuzz.run(call(fuzz.target.stubs.served, method, requests, metadata))


@pytest.mark.parametrize("name", METHODS)
@effort(0.06)
@given(data=garbage())
def test_malformed_messages(fuzz: Fuzz, name: str, data: bytes) -> None:
    fuzz.prepare()
    ended = fuzz.run(call(fuzz.target.stubs.served, method_of(name), [data], fuzz.target.tokens["admin"]))
    try:
        GetMessageClass(METHODS[name].input_type).FromString(data)
    except DecodeError:
        assert ended == "REFUSAL_REASON_ARGUMENT_INVALID"


@pytest.mark.parametrize("name", METHODS)
def test_too_large_messages(fuzz: Fuzz, name: str) -> None:
    large = b"\xc2\x3e\xf0\xff\x07" + b"x" * 131_056  # field 1000, which does not exist
    fuzz.prepare()
    ended = fuzz.run(call(fuzz.target.stubs.served, method_of(name), [large], fuzz.target.tokens["admin"]))
    assert ended == "REFUSAL_REASON_MESSAGE_TOO_LARGE"


@effort(0.5)
@given(data=st.data())
def test_any_messages_after_the_hello_of_a_play_stream(fuzz: Fuzz, data: st.DataObject) -> None:
    words = fuzz.prepare()
    method, kind = method_of("PlayService.Play"), METHODS["PlayService.Play"].input_type
    hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))
    if data.draw(st.booleans()):
        hello.hello.extras.CopyFrom(data.draw(messages(play_pb2.TurnExtras.DESCRIPTOR, words)))
    drawn = data.draw(st.lists(messages(kind, words), max_size=4))
    first = play_pb2.PlayRequest(acts=[hello])
    requests = [message.SerializeToString() for message in (first, *drawn)]
    ended = fuzz.run(call(fuzz.target.stubs.served, method, requests, fuzz.target.tokens["alice"]))
    assert ended == ""  # a refusal on the stream is a message and ends nothing


def test_every_reason_has_its_facts_in_the_protocol() -> None:
    assert set(documented()) == {f"REFUSAL_REASON_{reason}" for reason in ["UNSPECIFIED", *Reason]}
