"""Web hooks over real gRPC, with a real HTTP receiver: what arrives, in which order, and after failures."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import arbiter_client as arb
import pytest
from arbiter_client.bots.random import RandomBot

from arbiter.service.players.accounts import Scope
from arbiter.service.ports.web_hooks import WebHook
from arbiter.service.tournaments.deliveries import AT_ONCE, PAUSE_S
from tests.documents import block
from tests.rpc.servers import ONE_OR_TWO, level, served_by
from tests.rpc.test_matches import signing
from tests.rpc.test_tournaments import LEAGUE, World
from tests.web_hook_receiver import Delivery, Receiver, receiver

NO_ADDRESSES = (
    *("", "example.org", "ftp://example.org", "http://", "http://a:b@example.org", "http://x/#part", "http://x:0/"),
    *("http://example.org:99999", "http://[::1", "http://exämple.org", "http://e\n.org", "http://e/" + "x" * 500),
)
INSIDE = {"networks": ["127.0.0.0/8"], "pause_ms": 1}


@asynccontextmanager
async def opened(servers: int = 1, **web_hooks: Any) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        settings = {**INSIDE, **web_hooks}
        yield World(await stack.enter_async_context(served_by(servers, signing, web_hooks=settings)), stack)


@pytest.fixture(params=ONE_OR_TWO)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with opened(request.param) as world:
        yield world


async def waited(to: Receiver, condition: Callable[[Receiver], object]) -> None:
    await asyncio.to_thread(to.wait, condition)


def ended(to: Receiver) -> bool:
    return any(each.type == "tournament.ended" for each in to.accepted)


async def entered(world: World, *names: str) -> tuple[arb.Client, str]:
    """Return the organiser's client, and a league with players whose bots are not there."""
    organiser = await world.client("org", Scope.ORGANISE)
    made = await organiser.create_tournament(LEAGUE)
    for name in names:
        await world.client(name)
        await organiser.enter_tournament(made.tournament_id, name)
    return organiser, made.tournament_id


async def until(organiser: arb.Client, where: str, condition: Callable[[arb.WebHook], object]) -> None:
    """Wait until a web hook of a tournament meets a condition."""
    while not any(map(condition, await organiser.list_web_hooks(where))):  # noqa: ASYNC110 - no event of the client
        await asyncio.sleep(0.05)


def is_genuine(monkeypatch: pytest.MonkeyPatch, secret: str) -> Callable[[Any, bytes], bool]:
    """Return the function of the page."""
    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    page: dict[str, Any] = {}
    exec(block("deploy/WEBHOOKS.md", "def is_genuine"), page)
    found: Callable[[Any, bytes], bool] = page["is_genuine"]
    return found


@pytest.mark.long
async def test_all_that_happens_arrives_once_in_order_signed_as_the_page_says(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    where = (await organiser.create_tournament(LEAGUE)).tournament_id
    with receiver() as to:
        made = await organiser.create_web_hook(where, to.url)
        for seed, name in enumerate(("ann", "ben", "cat")):
            await (await world.bot(name, RandomBot(seed))).enter_tournament(where)
        await organiser.start_tournament(where)
        await waited(to, ended)
        await level(world.server)
        await organiser.rule_on_game(where, 1, arb.RulingDecision.POINTS, (1, 1), note="both agreed")
        await waited(to, lambda to: to.accepted[-1].type == "tournament.ruled")
        log = [json.loads(line) for line in (await organiser.export_tournament(where)).splitlines()]
    kinds = {"paired": "paired", "game_ended": "game_ended", "tournament_ended": "ended", "ruled": "ruled"}
    told = [line for line in log if line.get("kind") in kinds]
    assert [each.type for each in to.came] == [f"tournament.{kinds[line['kind']]}" for line in told]
    assert [each.data["record"] for each in to.came] == told
    assert [each.data["revision"] for each in to.came] == [line["revision"] for line in told]
    hook = made.web_hook
    assert [each.id for each in to.came] == [f"{hook.web_hook_id}-{line['revision']}" for line in told]
    ruled = to.came[-1]
    assert (ruled.data["name"], ruled.data["game"]["number"], ruled.data["game"]["round"]) == ("League", 1, 1)
    assert {ruled.data["game"]["seat1"], ruled.data["game"]["seat2"]} < {"ann", "ben", "cat"}
    check = is_genuine(monkeypatch, made.secret)
    assert all(check(each.headers, each.body) for each in to.came)
    assert not check(ruled.headers, ruled.body + b" ")
    assert not check({**ruled.headers, "webhook-id": "other"}, ruled.body)
    assert not is_genuine(monkeypatch, "whsec_" + "A" * 44)(ruled.headers, ruled.body)
    [shown] = await organiser.list_web_hooks(where)
    assert (shown.delivered_revision, shown.tries, shown.error, shown.stopped) == (told[-1]["revision"], 0, "", False)
    assert shown.delivered_ms > shown.created_ms > 0


@pytest.mark.long
async def test_a_delivery_is_repeated_until_it_is_accepted_and_the_next_ones_wait(world: World) -> None:
    organiser, where = await entered(world, "ann", "ben")
    answers = {0: 500, 1: 0, 2: 302, 3: 404}
    seen: list[str] = []

    def answer(delivery: Delivery) -> int:
        seen.append(delivery.id)
        return answers.get(len(seen) - 1, 200)

    with receiver(answer) as to:
        await organiser.create_web_hook(where, to.url)
        await organiser.start_tournament(where)
        await organiser.cancel_tournament(where, "rain")
        await waited(to, ended)
    first, last = to.accepted
    assert (first.type, last.type) == ("tournament.paired", "tournament.ended")
    assert [each.id for each in to.came] == [first.id] * 5 + [last.id]


@pytest.mark.long
async def test_a_web_hook_stops_after_its_tries_and_goes_on_when_it_is_told_to() -> None:
    async with opened(tries=3) as world:
        organiser, where = await entered(world, "ann", "ben")
        with receiver(lambda _: 503) as to:
            hook = (await organiser.create_web_hook(where, to.url)).web_hook
            await organiser.start_tournament(where)
            await waited(to, lambda to: len(to.came) == 3)
            await until(organiser, where, lambda hook: hook.stopped)
            [stopped] = await organiser.list_web_hooks(where)
            assert (stopped.tries, stopped.error, stopped.next_try_ms) == (3, "it answered with status 503", 0)
            await organiser.cancel_tournament(where)
            to.answer = lambda _: 200
            assert not (await organiser.retry_web_hook(where, hook.web_hook_id)).stopped
            await waited(to, ended)
        assert [each.type for each in to.accepted] == ["tournament.paired", "tournament.ended"]
        assert len(to.came) == 5


@pytest.mark.long
async def test_a_receiver_that_wants_no_more_gets_no_more() -> None:
    async with opened() as world:
        organiser, where = await entered(world, "ann", "ben")
        with receiver(lambda _: 410) as to, receiver() as other:
            for each in (to, other):
                await organiser.create_web_hook(where, each.url)
            await organiser.start_tournament(where)
            await waited(to, lambda to: to.came)
            await organiser.cancel_tournament(where)
            await waited(other, ended)
            await until(organiser, where, lambda hook: hook.stopped)
        assert len(to.came) == 1


async def test_an_address_inside_is_refused_or_fails_unless_the_operator_allows_it() -> None:
    async with opened(networks=[]) as world:
        organiser, where = await entered(world, "ann", "ben")
        with receiver() as to:
            with pytest.raises(arb.ArbiterError) as refused:
                await organiser.create_web_hook(where, to.url)
            assert refused.value.reason == arb.Reason.ARGUMENT_INVALID
            assert "web_hooks.networks" in str(refused.value)
            await organiser.create_web_hook(where, to.url.replace("127.0.0.1", "localhost"))
            await organiser.start_tournament(where)
            await until(organiser, where, lambda hook: hook.error)
            [failed] = await organiser.list_web_hooks(where)
            assert failed.error.endswith("has no public address, and this server reaches no others")
        assert to.came == []


async def test_what_can_be_no_address_is_refused_with_its_field(world: World) -> None:
    organiser, where = await entered(world)
    for url in NO_ADDRESSES:
        with pytest.raises(arb.ArbiterError) as refused:
            await organiser.create_web_hook(where, url)
        assert (refused.value.reason, refused.value.facts["where"]) == (arb.Reason.ARGUMENT_INVALID, "url"), url


async def test_web_hooks_are_limited_repeated_and_those_of_the_organiser_alone(world: World) -> None:
    organiser, where = await entered(world)
    url = "https://example.org/hook"
    made = await organiser.create_web_hook(where, url, "one")
    again = await organiser.create_web_hook(where, url, "one")
    assert (again.web_hook.web_hook_id, again.secret) == (made.web_hook.web_hook_id, made.secret)
    with pytest.raises(arb.ArbiterError, match="choose a new one"):
        await organiser.create_web_hook(where, url + "s", "one")
    for _ in range(4):
        await organiser.create_web_hook(where, url)
    with pytest.raises(arb.ArbiterError) as full:
        await organiser.create_web_hook(where, url)
    assert (full.value.reason, full.value.facts["limit"]) == (arb.Reason.RATE_LIMITED, "5")
    hooks = await organiser.list_web_hooks(where)
    assert (len(hooks), made.web_hook in hooks) == (5, True)
    stranger = await world.client("eve", Scope.ORGANISE)
    with pytest.raises(arb.ArbiterError) as foreign:
        await stranger.list_web_hooks(where)
    assert foreign.value.reason == arb.Reason.SCOPE_MISSING
    theirs = (await stranger.create_tournament(LEAGUE)).tournament_id
    for change in (stranger.retry_web_hook, stranger.delete_web_hook):
        with pytest.raises(arb.ArbiterError) as unknown:
            await change(theirs, hooks[0].web_hook_id)
        assert (unknown.value.reason, unknown.value.facts["where"]) == (arb.Reason.ARGUMENT_INVALID, "web_hook_id")
    assert await organiser.delete_web_hook(where, hooks[0].web_hook_id) == hooks[0]
    assert await organiser.list_web_hooks(where) == hooks[1:]


@pytest.mark.long
async def test_a_body_that_is_too_long_goes_without_its_record() -> None:
    async with opened(body_bytes=1_024) as world:
        organiser, where = await entered(world, *(f"player-{n:030}" for n in range(12)))
        with receiver() as to:
            await organiser.create_web_hook(where, to.url)
            await organiser.start_tournament(where)
            await organiser.cancel_tournament(where)
            await waited(to, ended)
        *paired, over = to.accepted
        assert {each.type: each.data["record"] for each in paired} == {"tournament.paired": None}
        assert over.data["record"]["kind"] == "tournament_ended"


async def test_a_receiver_that_does_not_answer_in_time_has_failed() -> None:
    writers = list[asyncio.StreamWriter]()
    async with opened(timeout_ms=100, tries=1) as world:
        organiser, where = await entered(world, "ann", "ben")
        server = await asyncio.start_server(lambda _, writer: writers.append(writer), "127.0.0.1", 0)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            await organiser.create_web_hook(where, url)
            await organiser.start_tournament(where)
            await until(organiser, where, lambda hook: hook.stopped)
            [hook] = await organiser.list_web_hooks(where)
            for writer in writers:
                writer.close()
        assert hook.error == "no answer within 0.1 s"


@pytest.mark.long
async def test_the_web_hooks_of_a_suspended_organiser_wait_until_the_suspension_ends(world: World) -> None:
    organiser, where = await entered(world, "ann", "ben")
    admin = await world.client("root", Scope.ADMIN)
    with receiver() as to:
        await organiser.create_web_hook(where, to.url)
        await admin.suspend_player("org")
        await admin.start_tournament(where)
        await until(admin, where, lambda hook: "suspended" in hook.error)
        await admin.cancel_tournament(where)
        [waiting] = await admin.list_web_hooks(where)
        assert (waiting.stopped, waiting.tries, to.came) == (False, 0, [])
        await admin.suspend_player("org", suspended=False)
        await waited(to, ended)
        await until(admin, where, lambda hook: not hook.error)
    assert [each.type for each in to.came] == ["tournament.paired", "tournament.ended"]


async def test_the_web_hooks_of_a_player_are_deleted_with_it() -> None:
    async with opened() as world:
        organiser, where = await entered(world)
        await organiser.create_web_hook(where, "https://example.org/hook")
        await world.server.running.arbiter.accounts.profiles.delete("org")
        admin = await world.client("root", Scope.ADMIN)
        assert await admin.list_web_hooks(where) == ()


async def test_a_server_that_has_none_refuses_them() -> None:
    async with opened(of_tournament=0) as world:
        organiser, where = await entered(world)
        with pytest.raises(arb.ArbiterError, match="0 web hooks, the maximum"):
            await organiser.create_web_hook(where, "https://example.org/hook")


@pytest.mark.long
async def test_the_events_before_a_web_hook_are_not_delivered(world: World) -> None:
    organiser, where = await entered(world, "ann", "ben")
    await organiser.start_tournament(where)
    while (await organiser.get_tournament(where)).games == 0:  # noqa: ASYNC110 - no event of the client
        await asyncio.sleep(0.02)
    with receiver() as to:
        await organiser.create_web_hook(where, to.url)
        await organiser.cancel_tournament(where)
        await waited(to, ended)
    assert [each.type for each in to.came] == ["tournament.ended"]


@pytest.mark.long
async def test_a_tournament_that_grows_all_the_time_is_looked_at_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the web hooks would be read several times for each game of fast bots, where there are none too."""
    async with opened() as world:
        deliveries = world.server.running.arbiter.web_hooks._deliveries
        looked, due = asyncio.Event(), deliveries.hooks.due

        async def noted(now_ms: int) -> Any:
            looked.set()
            return await due(now_ms)

        monkeypatch.setattr(deliveries.hooks, "due", noted)
        began_s = time.monotonic()
        for _ in range(4):
            looked.clear()
            deliveries.look_at("none")
            await looked.wait()
        assert time.monotonic() - began_s >= 2 * PAUSE_S


async def test_few_of_many_web_hooks_are_looked_at_at_once_and_no_tournament_is_read_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of tournaments that have ended stay for months: each start looks at them."""
    async with opened() as world:
        organiser, where = await entered(world)
        await organiser.cancel_tournament(where)
        deliveries = world.server.running.arbiter.web_hooks._deliveries
        made = [WebHook(f"w{n}", where, "http://127.0.0.1/", "", "org", str(n), 1, 1_000) for n in range(3 * AT_ONCE)]
        for hook in made:
            await deliveries.hooks.add(hook, len(made))
        under_way, read = dict[str, int](), list[str]()
        step, get = deliveries._step, deliveries._tournaments.get

        async def stepped(hook: WebHook) -> WebHook | None:
            under_way[hook.hook_id] = len(deliveries._under_way)
            return await step(hook)

        async def got(tournament_id: str) -> Any:
            read.append(tournament_id)
            return await get(tournament_id)

        monkeypatch.setattr(deliveries, "_step", stepped)
        monkeypatch.setattr(deliveries._tournaments, "get", got)
        await deliveries._look(every=True)
        await asyncio.gather(*deliveries._under_way.values())
        assert (set(under_way), read) == ({hook.hook_id for hook in made}, [])
        assert max(under_way.values()) <= AT_ONCE
