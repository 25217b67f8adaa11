"""Every fault of a bot has the consequence of its published policy; nobody else is affected."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import match_pb2

from arbiter.config import Limits, Settings
from arbiter.errors import Reason
from arbiter.games.registry import SEED, game
from arbiter.testing.bot_faults import POLICIES, BotFault, table
from arbiter.testing.misbehaving import PLAYERS, GiantMessage, MovesElsewhere, illegal_move
from arbiter.testing.player import BotClient
from arbiter.testing.served import Served, served
from tests.refusals import refusing
from tests.rpc.calls import Stubs

pytestmark = pytest.mark.long

PROTOS = Path(__file__).parents[2] / "protos"
ORDINARY = Limits(acts_a_second=200, play_streams_a_minute=60, message_bytes=16_384, session_items=10)
IMPATIENT = ORDINARY.model_copy(update={"silence_ms": 1_500, "ping_ms": 100})
SILENT = (BotFault.HALF_OPEN, BotFault.SAYS_NOTHING)  #: faults that the server notices by the silence
SOON_MS = 300
PATIENT_MS = 60_000


class FourPlayers:
    """A server with alice, who has a fault, her opponent bob, and carol and dave, who play beside them."""

    def __init__(self, server: Served, stubs: Stubs, players: dict[str, BotClient], match_id: str, other: str) -> None:
        self.server = server
        self.stubs = stubs
        self.players = players
        self.match_id = match_id
        self.other = other

    async def ended(self) -> match_pb2.Result:
        """Return the `ended` event of alice's match, as any observer receives it."""
        asked = match_pb2.ObserveRequest(match=match_pb2.ObserveMatch(match_id=self.match_id))
        call = self.stubs.matches.Observe(asked, metadata=self.stubs.org)
        events = [item.event async for response in call for item in response.items if item.HasField("event")]
        assert [event.kind for event in events].count("ended") == 1
        result: match_pb2.Result = events[-1].ended
        return result


@asynccontextmanager
async def four_players(fault: BotFault, **match: Any) -> AsyncIterator[FourPlayers]:
    """Have alice misbehave in a match with bob while carol and dave play."""
    limits = IMPATIENT if fault in SILENT else ORDINARY
    async with served(limits=limits) as server, AsyncExitStack() as stack:
        stubs = await Stubs(server).enter()
        tokens = {name: await server.token(name) for name in ("alice", "bob", "carol", "dave")}
        kinds = {"alice": PLAYERS[fault], "bob": BotClient, "carol": BotClient, "dave": BotClient}
        options = [("grpc.http2.bdp_probe", 0)]  # so that little fits between reader and server
        own = await stack.enter_async_context(grpc.aio.insecure_channel(server.address, options=options))
        players = {name: kind(own if name == "alice" else server.channel, tokens[name]) for name, kind in kinds.items()}
        for name in ("bob", "carol", "dave"):
            await stack.enter_async_context(players[name])
        start = {"start": match_pb2.START_RULE_WHEN_PRESENT, "time_control": "5m"}
        other = (await stubs.match("other", players=["carol", "dave"], **start)).match_id
        made = await stubs.match("match", **(start | match))
        alice = players["alice"]
        if isinstance(alice, MovesElsewhere) and not alice.elsewhere:
            alice.elsewhere = other
        await stack.enter_async_context(alice)
        yield FourPlayers(server, stubs, players, made.match_id, other)


def policy_of(fault: BotFault) -> match_pb2.Policy:
    """Return the policy on absence of a test's match: no waiting, if absence is the expected end."""
    end = POLICIES[fault].end
    soon = SOON_MS if end is not None and end[1] == "absence" else PATIENT_MS
    return match_pb2.Policy(no_show_ms=soon, abandon_ms=soon)


def words(result: match_pb2.Result) -> tuple[str, str, str]:
    """Return reason, cause and party of an end, in the words of the policies."""
    cause = match_pb2.Cause.Name(result.cause).removeprefix("CAUSE_").lower()
    return result.reason, cause, match_pb2.Party.Name(result.party).removeprefix("PARTY_").lower()


@pytest.mark.parametrize("fault", [fault for fault in BotFault if fault is not BotFault.READS_NOTHING])
async def test_a_fault_has_the_consequence_of_its_published_policy(fault: BotFault) -> None:
    published = POLICIES[fault]
    control = "1s" if fault is BotFault.STALLS else "5m"
    async with four_players(fault, policy=policy_of(fault), time_control=control) as here:
        alice, bob = here.players["alice"], here.players["bob"]
        result = await bob.result(here.match_id)
        assert result == await here.ended()
        if published.end is None:
            assert result.cause == match_pb2.CAUSE_RULES  # the match was played to its end
            await alice.result(here.match_id)
        else:
            assert (words(result), result.responsible_seat, result.winner) == (published.end, 1, 2)
        if fault is BotFault.HALF_OPEN:
            alice.read_again()
            await alice.until(lambda: bool(alice.ends))
        check_refusals(alice, fault)
        await here.players["carol"].result(here.other)
        assert (await here.players["dave"].result(here.other)).cause == match_pb2.CAUSE_RULES
        for name in ("bob", "carol", "dave"):
            assert (here.players[name].refused, here.players[name].ends) == ([], [])


def check_refusals(alice: BotClient, fault: BotFault) -> None:
    """Assert that alice received the refusals of her fault's policy, and nothing else."""
    published = POLICIES[fault]
    expected = [published.refusal.value] if published.refusal is not None else []
    if not published.ends_stream:
        assert sorted(set(alice.refused)) == expected
        assert alice.ends == []
        return
    assert alice.refused == []
    assert [end.reason for end in alice.ends] == expected, alice.ends
    # A reader that sees the end first may miss the notice before it: the status says the same.
    assert alice.notices in ([], [alice.ends[0].refusal])


async def test_the_connection_of_a_bot_that_never_reads_is_closed() -> None:
    published = POLICIES[BotFault.READS_NOTHING]
    async with four_players(BotFault.READS_NOTHING, policy=policy_of(BotFault.READS_NOTHING)) as here:
        alice, bob = here.players["alice"], here.players["bob"]
        sessions = here.server.running.arbiter.sessions
        await alice.first_item("turn")
        more = 0
        while sessions.is_live("alice"):
            more += 1
            await here.stubs.match(f"more {more}", game="elevation")
        assert words(await bob.result(here.match_id)) == published.end
        alice.read_again()
        await alice.until(lambda: bool(alice.ends))
        check_refusals(alice, BotFault.READS_NOTHING)
        async with BotClient(here.server.channel, here.stubs.alice) as again:  # and no result is lost
            await again.until(lambda: sum(item.HasField("match") for item in again.items) == more)
            await again.result(here.match_id)
        assert (await here.players["dave"].result(here.other)).cause == match_pb2.CAUSE_RULES
        assert bob.ends == []


class SendsATooLargeMessage(GiantMessage):
    """Sends one message that is too large to be read."""

    times = 5


async def test_a_too_large_message_ends_the_stream_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PLAYERS, BotFault.GIANT_MESSAGE, SendsATooLargeMessage)
    async with four_players(BotFault.GIANT_MESSAGE) as here:
        alice, bob = here.players["alice"], here.players["bob"]
        for player in (alice, bob):
            assert (await player.result(here.match_id)).cause == match_pb2.CAUSE_RULES
        assert [end.code for end in alice.ends] == [grpc.StatusCode.RESOURCE_EXHAUSTED]
        assert bob.ends == []


class TestDocumentation:
    def test_every_fault_has_a_player_and_a_policy(self) -> None:
        assert set(PLAYERS) == set(POLICIES) == set(BotFault)

    def test_the_table_of_faults_is_in_the_page_for_authors_of_bots(self) -> None:
        assert table() in (PROTOS / "README.md").read_text()

    def test_the_settings_are_named_there(self) -> None:
        settings = Settings()
        for policy in POLICIES.values():
            section, _, name = policy.setting.partition(".")
            assert not name or isinstance(getattr(getattr(settings, section), name), int)

    def test_the_status_of_a_stream_that_ends_is_named_there(self) -> None:
        words = (PROTOS / "arbiter/v1/play.proto").read_text().partition("rpc Play")[0]
        for policy in POLICIES.values():
            assert not policy.ends_stream or (policy.refusal is not None and policy.refusal.value in words)

    @pytest.mark.parametrize("name", SEED)
    def test_illegal_moves_are_found_in_every_seed_game(self, name: str) -> None:
        rules = game(name)
        position = rules.initial()
        for _ in range(2):
            position = rules.play(position, min(rules.moves(position)))
        move = illegal_move(rules, position)
        assert move is not None
        with refusing(Reason.MOVE_ILLEGAL):
            rules.play(position, move)
