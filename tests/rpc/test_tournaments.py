"""Tournaments over real gRPC: created, entered, played by bots of the Python client, read; and who may do that."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import arbiter_client as arb
import pytest
from arbiter_client.bots.random import RandomBot
from arbiter_protos.v1 import player_pb2
from arbiter_protos.v1 import tournament_pb2 as pb

from arbiter.bootstrap.verifying import verify_tournament
from arbiter.cli.transcript_files import published_keys
from arbiter.errors import Reason
from arbiter.keys.key_ring import holds
from arbiter.matches.signing import checking
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import Served
from arbiter.tournaments.events import Ended
from tests.rpc.calls import Stubs, refused
from tests.rpc.servers import ONE_OR_TWO, level, served_by
from tests.rpc.test_matches import signing
from tests.rpc.test_paging import check

WAIT_S = 240.0
GAME = "circle-of-life(target=1)"
LEAGUE = arb.TournamentSpec("League", arb.TournamentFormat.ROUND_ROBIN, (GAME,), "10s", paired=False)
SWISS = replace(
    LEAGUE, name="Swiss", format=arb.TournamentFormat.SWISS, options=arb.TournamentOptions(rounds=3), paired=True
)


class Versioned(RandomBot):
    """A bot that reports its version."""

    version = "2.1"


class World:
    """A server, or several that share a store; its organiser, and clients for players."""

    def __init__(self, server: Served, stack: AsyncExitStack) -> None:
        self.server = server
        self._stack = stack
        self._clients = itertools.count()

    def _addresses(self) -> str:
        """Return the addresses of all servers, each time beginning with the next one."""
        addresses = self.server.address.split(",")
        first = next(self._clients) % len(addresses)
        return ",".join(addresses[first:] + addresses[:first])

    async def client(self, name: str, *scopes: Scope) -> arb.Client:
        """Return a client with a player's token; its scopes are play and observe by default."""
        (header,) = await self.server.token(name, *scopes)
        client = arb.Client(self._addresses(), token=header[1].removeprefix("Bearer "))
        return await self._stack.enter_async_context(client)

    async def bot(self, name: str, bot: arb.Bot) -> arb.Client:
        """Have a bot play while the world lasts; return a client of its player."""
        client = await self.client(name)
        playing = asyncio.create_task(arb.play(bot, self._addresses(), token=client.connection.token))

        async def stop() -> None:
            playing.cancel()
            await asyncio.wait([playing])

        self._stack.push_async_callback(stop)
        return client

    async def introduce(self, name: str, version: str) -> None:
        """Have a player's bot connect and report its version."""
        await self.server.running.arbiter.accounts.introduce(name, "bot", version, (), 0)

    async def over(self, tournament_id: str) -> None:
        """Wait until a tournament has ended."""
        feed = self.server.running.arbiter.feed
        async with asyncio.timeout(WAIT_S), feed.of_all(0, tournament_id) as stream:
            async for batch in stream:
                if isinstance(batch, list) and any(isinstance(each.event, Ended) for each in batch):
                    return


@asynccontextmanager
async def opened(servers: int = 1) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        yield World(await stack.enter_async_context(served_by(servers, signing)), stack)


@pytest.fixture(params=ONE_OR_TWO)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with opened(request.param) as world:
        yield world


@pytest.mark.long
async def test_a_round_robin_from_its_specification_to_its_standings(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    made = await organiser.create_tournament(LEAGUE, "league")
    assert made.spec == LEAGUE
    assert (made.phase, made.creator, made.entrants) == (arb.TournamentPhase.ENTRY, "org", ())
    players = {}
    for seed, name in enumerate(("ann", "ben", "cat")):
        players[name] = await world.bot(name, Versioned(seed))
    for name, client in players.items():
        assert (await client.enter_tournament(made.tournament_id)).player == name
    await level(world.server)
    before = await organiser.get_standings(made.tournament_id)
    assert [(row.place, row.player, row.games) for row in before.rows] == [(1, name, 0) for name in players]

    waiting = (await organiser.get_player("ann")).unpaired
    assert [(each.tournament_id, each.tournament, each.why) for each in waiting] == [
        (made.tournament_id, "League", "not_started")
    ]
    assert waiting[0].text == "the tournament has not started"
    assert (await organiser.list_players())[0].unpaired == ()

    started = await organiser.start_tournament(made.tournament_id)
    assert started.phase is arb.TournamentPhase.RUNNING
    await world.over(made.tournament_id)
    await level(world.server)
    found = await players["ann"].get_tournament(made.tournament_id)
    assert (found.phase, found.end) == (arb.TournamentPhase.ENDED, arb.TournamentEnd.COMPLETE)
    assert (found.games, found.games_ended, found.running) == (3, 3, ())
    assert found.created_ms <= found.started_ms <= found.ended_ms

    stand = await players["ann"].get_standings(made.tournament_id)
    assert stand.revision == found.revision
    assert [tie_break.name for tie_break in stand.tie_breaks] == ["DIRECT_ENCOUNTER", "SONNEBORN_BERGER", "WINS"]
    assert {row.player for row in stand.rows} == set(players)
    assert sum(row.half_points for row in stand.rows) == 2 * 3
    assert {row.games for row in stand.rows} == {2}
    assert {row.faults for row in stand.rows} == {arb.Faults(0, 0, 0, 0)}

    matches = await players["ann"].list_matches(label=made.tournament_id)
    assert {frozenset(match.players) for match in matches} == {
        frozenset(pair) for pair in (("ann", "ben"), ("ann", "cat"), ("ben", "cat"))
    }
    scores = dict.fromkeys(players, 0.0)
    for match in matches:
        assert match.result is not None
        for seat, player in enumerate(match.players, 1):
            scores[player] += match.result.score(seat) or 0.0
    assert {row.player: row.points for row in stand.rows} == scores
    assert await organiser.create_tournament(LEAGUE, "league") == found


@pytest.mark.long
async def test_a_start_time_in_seconds_is_refused_and_a_start_without_players_is_told(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE, Scope.OBSERVE)
    with pytest.raises(arb.ArbiterError, match="not seconds: 1796148000000"):
        await organiser.create_tournament(replace(LEAGUE, schedule=arb.Schedule(1_796_148_000)))
    with pytest.raises(arb.ArbiterError, match="expected a time to come"):
        await organiser.create_tournament(replace(LEAGUE, schedule=arb.Schedule(1_600_000_000_000)))
    past = arb.Schedule(round(time.time() * 1_000) - 1_000)
    made = await organiser.create_tournament(replace(LEAGUE, schedule=past))
    async for event in organiser.observe_tournament(made.tournament_id, "0"):
        if isinstance(event.what, arb.StartMissed):
            assert event.what == arb.StartMissed(0, 2)
            break
    found = await organiser.get_tournament(made.tournament_id)
    assert (found.phase, found.start_note) == (
        arb.TournamentPhase.ENTRY,
        "a round robin needs 2 players, and has 0",
    )
    cancels = replace(LEAGUE, name="Off", schedule=replace(past, too_few=arb.TooFewRule.CANCEL))
    made = await organiser.create_tournament(cancels)
    async for event in organiser.observe_tournament(made.tournament_id, "0"):
        if isinstance(event.what, arb.TournamentEnded):
            assert event.what.note == "too few players at its start time: a round robin needs 2 players, and has 0"
            break
    assert (await organiser.get_tournament(made.tournament_id)).spec.schedule == cancels.schedule


@pytest.mark.long
async def test_an_entry_is_withdrawn_made_again_and_changed(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE, Scope.OBSERVE)
    ann, ben = await world.client("ann"), await world.client("ben")
    tournament_id = (await organiser.create_tournament(SWISS)).tournament_id
    for player in (ann, ben):
        await player.enter_tournament(tournament_id)
    await ann.withdraw_from_tournament(tournament_id)
    assert not (await ann.enter_tournament(tournament_id)).withdrawn
    assert (await ann.change_entry(tournament_id, byes=[2, 1, 2])).byes == (1, 2)
    changed = await organiser.change_entry(tournament_id, "ann", rating=1800, request_id="seed")
    assert (changed.byes, changed.rating) == ((1, 2), 1800)
    assert (await ann.change_entry(tournament_id, byes=[])).byes == ()
    assert (await organiser.change_entry(tournament_id, "ann", rating=1800, request_id="seed")).byes == ()
    assert (await organiser.change_entry(tournament_id, "ann", rating=0)).rating == 0  # it has no rating of its own
    for refused_change in ({"rating": 1900}, {}, {"byes": [0]}):
        with pytest.raises(arb.ArbiterError, match=r"whole Elo|what is to change|rounds, 1 to"):
            await ann.change_entry(tournament_id, **refused_change)
    with pytest.raises(arb.ArbiterError, match="its creator"):
        await ann.change_entry(tournament_id, "ben", byes=[1])
    kinds = [
        event.what
        for event in await anext_events(organiser, tournament_id, 9)
        if isinstance(event.what, arb.EntryChanged)
    ]
    assert kinds[0] == arb.EntryChanged("ann", 0, (1, 2), "ann")
    assert kinds[1] == arb.EntryChanged("ann", 1800, (1, 2), "org")


async def anext_events(client: arb.Client, tournament_id: str, number: int) -> list[arb.TournamentEvent]:
    """Return the first events of a tournament."""
    found: list[arb.TournamentEvent] = []
    async for event in client.observe_tournament(tournament_id, "0"):
        if isinstance(event, arb.TournamentEvent):
            found.append(event)
        if len(found) == number:
            break
    return found


async def test_an_organiser_is_told_at_creation_that_openings_come_again(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE, Scope.OBSERVE)
    twice = replace(LEAGUE, name="Twice", options=arb.TournamentOptions(cycles=3))
    made = await organiser.create_tournament(twice, "twice")
    assert "up to 3 times" in made.cautions[0]
    assert (await organiser.create_tournament(twice, "twice")).cautions == made.cautions
    assert (await organiser.create_tournament(LEAGUE)).cautions == ()
    shuffled = arb.Openings(0, "s", (arb.OpeningLine(GAME, ("a1",)),), arb.OpeningOrder.RANDOM)
    gauntlet = arb.TournamentOptions(same_openings=False)
    spec = replace(LEAGUE, format=arb.TournamentFormat.GAUNTLET, openings=shuffled, options=gauntlet)
    read = (await organiser.create_tournament(spec)).spec
    assert (read.openings, read.options) == (shuffled, gauntlet)


@pytest.mark.long
async def test_a_swiss_with_a_bye_and_a_version(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    spec = replace(SWISS, entry=arb.EntryRules(capacity=5, versions=("2.",)))
    tournament_id = (await organiser.create_tournament(spec)).tournament_id
    names = [f"p{number}" for number in range(5)]
    for seed, name in enumerate(names):
        await world.bot(name, Versioned(seed))
        await world.introduce(name, "2.1")
        entered = await organiser.enter_tournament(tournament_id, name, rating=1_000 + 100 * seed)
        assert (entered.version, entered.rating) == ("2.1", 1_000 + 100 * seed)
    with pytest.raises(arb.ArbiterError) as caught:
        await organiser.enter_tournament(tournament_id, "org")
    assert caught.value.reason is arb.Reason.TOURNAMENT_CLOSED
    assert caught.value.facts["phase"] == "entry"
    started = await organiser.start_tournament(tournament_id)
    assert [each.player for each in started.entrants] == names[::-1]  # the best player first
    await world.over(tournament_id)
    found = await organiser.get_tournament(tournament_id)
    assert (found.rounds, found.games) == (3, 3 * 2 * 2)
    stand = await organiser.get_standings(tournament_id)
    assert sum(row.meeting_half_points for row in stand.rows) == 2 * 3 * 3  # two meetings and a bye a round
    assert sum(row.game_half_points for row in stand.rows) == 2 * found.games


async def test_a_tournament_that_asks_for_a_badge_admits_the_version_that_has_one(world: World) -> None:
    organiser, ann = await world.client("org", Scope.ORGANISE), await world.client("ann")
    admin = await world.client("root", Scope.ADMIN)
    spec = replace(LEAGUE, entry=arb.EntryRules(badge=True))
    tournament_id = (await organiser.create_tournament(spec)).tournament_id

    async def refused_entry() -> str:
        with pytest.raises(arb.ArbiterError) as caught:
            await ann.enter_tournament(tournament_id)
        assert caught.value.reason is arb.Reason.TOURNAMENT_CLOSED
        return caught.value.facts["why"]

    await world.introduce("ann", "1")
    assert "passed the conformance kit" in await refused_entry()
    badged = await admin.grant_badge("ann", "2")
    assert badged.badge_version == "2"
    assert badged.badge_ms > 0
    assert "version '1' of ann" in await refused_entry()
    await world.introduce("ann", "2")
    assert (await admin.grant_badge("ann", "")).badge_ms == 0
    await refused_entry()
    await admin.grant_badge("ann", "2")
    assert (await ann.enter_tournament(tournament_id, request_id="in")).version == "2"
    await admin.grant_badge("ann", "")  # an entered player stays
    assert (await ann.enter_tournament(tournament_id, request_id="in")).version == "2"


async def test_a_tournament_is_paused_resumed_and_cancelled(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    tournament_id = (await organiser.create_tournament(LEAGUE)).tournament_id
    for name in ("ann", "ben", "cat"):
        await world.client(name)
        await organiser.enter_tournament(tournament_id, name)
    left = await organiser.withdraw_from_tournament(tournament_id, "cat", "away")
    assert left.withdrawn
    assert await organiser.withdraw_from_tournament(tournament_id, "cat", "away") == left
    await organiser.start_tournament(tournament_id, "start")
    assert (await organiser.pause_tournament(tournament_id, "pause")).phase is arb.TournamentPhase.PAUSED
    assert (await organiser.start_tournament(tournament_id, "start")).phase is arb.TournamentPhase.PAUSED
    assert (await organiser.resume_tournament(tournament_id)).phase is arb.TournamentPhase.RUNNING
    cancelled = await organiser.cancel_tournament(tournament_id, "rain", "cancel")
    assert (cancelled.end, cancelled.end_note) == (arb.TournamentEnd.CANCELLED, "rain")
    again = await organiser.cancel_tournament(tournament_id, "rain", "cancel")
    assert (again.phase, again.revision) == (arb.TournamentPhase.ENDED, cancelled.revision)
    with pytest.raises(arb.ArbiterError, match="another request"):
        await organiser.cancel_tournament(tournament_id, "snow", "cancel")
    assert {row.games for row in (await organiser.get_standings(tournament_id)).rows} == {0}


async def test_a_repeated_entry_is_answered_alike_though_the_bot_has_changed(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    ann = await world.client("ann")
    tournament_id = (await organiser.create_tournament(LEAGUE)).tournament_id
    entered = await ann.enter_tournament(tournament_id, request_id="in")
    await world.introduce("ann", "2.1")
    assert await ann.enter_tournament(tournament_id, request_id="in") == entered
    assert entered.version == ""


# Rights and refusals


@pytest.fixture
async def stubs(world: World) -> Stubs:
    return await Stubs(world.server).enter()


async def make(stubs: Stubs, request_id: str = "make") -> str:
    """Create a tournament of org's."""
    spec = pb.TournamentSpec(name="cup", format=pb.TOURNAMENT_FORMAT_ROUND_ROBIN, games=["pods"], time="1m")
    request = pb.CreateTournamentRequest(request_id=request_id, spec=spec)
    made = await stubs.tournaments.CreateTournament(request, metadata=stubs.org)
    return str(made.tournament.tournament_id)


async def test_a_change_of_an_entry_notes_the_version_of_a_bot_that_has_come_since(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    await world.client("ann")
    made = await organiser.create_tournament(LEAGUE)
    assert (await organiser.enter_tournament(made.tournament_id, "ann")).version == ""
    await world.introduce("ann", "7")
    changed = await organiser.change_entry(made.tournament_id, "ann", byes=(), request_id="note")
    assert changed.version == "7"
    assert await organiser.change_entry(made.tournament_id, "ann", byes=(), request_id="note") == changed


async def played_league(world: World) -> tuple[arb.Client, str, arb.Standings]:
    """Have three bots play a league; return its organiser, its id, and its standings."""
    organiser = await world.client("org", Scope.ORGANISE)
    tournament_id = (await organiser.create_tournament(LEAGUE)).tournament_id
    for name in ("ann", "ben", "cat"):
        await (await world.bot(name, RandomBot(1))).enter_tournament(tournament_id)
    await organiser.start_tournament(tournament_id)
    await world.over(tournament_id)
    await level(world.server)
    return organiser, tournament_id, await organiser.get_standings(tournament_id)


@pytest.mark.long
async def test_an_organiser_corrects_a_tournament(world: World) -> None:
    organiser, tournament_id, before = await played_league(world)
    seen, cheat = before.revision, before.rows[0].player

    out = arb.Disqualification(cheat, True, arb.DisqualifiedResults.VOID)
    would = await organiser.correct_tournament(tournament_id, out, preview=True)
    assert await organiser.get_standings(tournament_id) == before, "nothing has happened"
    made = await organiser.correct_tournament(tournament_id, out, note="engine", revision=seen, request_id="d")
    assert made.changes == would.changes != ()
    assert made.later == ()
    assert [each.player for each in made.tournament.entrants if each.disqualified] == [cheat]
    after = await organiser.get_standings(tournament_id)
    assert (after.rows[-1].player, after.rows[-1].disqualified, after.rows[-1].games) == (cheat, True, 0)
    assert (await organiser.correct_tournament(tournament_id, out, note="engine", request_id="d")).changes == ()
    with pytest.raises(arb.ArbiterError) as caught:
        await organiser.correct_tournament(tournament_id, arb.Reinstatement(cheat), revision=seen)
    assert caught.value.reason is arb.Reason.TOURNAMENT_CHANGED
    await organiser.correct_tournament(tournament_id, arb.Reinstatement(cheat), note="it was not")
    assert (await organiser.get_standings(tournament_id)).rows == before.rows

    await organiser.correct_tournament(tournament_id, arb.PointsAward("ben", 1))
    rows = {row.player: row for row in (await organiser.get_standings(tournament_id)).rows}
    assert rows["ben"].awarded_half_points == 1
    lot = arb.LotDraw(("ann", "ben", "cat"))
    for _ in range(2):  # a repeated request has the seed that the server has drawn at first
        await organiser.correct_tournament(tournament_id, lot, request_id="lot")
    with pytest.raises(arb.ArbiterError) as caught:
        await organiser.correct_tournament(tournament_id, arb.Replay(1))
    assert caught.value.reason is arb.Reason.TOURNAMENT_CLOSED
    assert "rule on the game" in caught.value.facts["why"]

    found: list[arb.TournamentCorrected] = []
    async for event in organiser.observe_tournament(tournament_id, "0"):
        if isinstance(event.what, arb.TournamentCorrected):
            found.append(event.what)
            if isinstance(event.what.correction.what, arb.LotDraw):
                break
    assert found[:2] == [
        arb.TournamentCorrected(arb.Correction(disqualify=out), "engine", "org"),
        arb.TournamentCorrected(arb.Correction(reinstate=arb.Reinstatement(cheat)), "it was not", "org"),
    ]
    assert found[3].correction.lots is not None
    assert len(found[3].correction.lots.seed) == 16


@pytest.mark.long
async def test_an_organiser_rules_on_a_game_after_the_end(world: World) -> None:
    organiser, tournament_id, before = await played_league(world)
    seen = before.revision
    points = {row.player: row.half_points for row in before.rows}

    void = arb.RulingDecision.VOID
    would = await organiser.rule_on_game(tournament_id, 1, void, preview=True)
    assert await organiser.get_standings(tournament_id) == before, "nothing has happened"
    ruled = await organiser.rule_on_game(tournament_id, 1, void, note="late", revision=seen, request_id="r")
    assert ruled.changes == would.changes
    assert ruled.tournament.revision == seen + 1
    after = await organiser.get_standings(tournament_id)
    assert {row.player: row.half_points for row in after.rows} == points | {
        each.player: each.half_points for each in ruled.changes
    }
    assert sum(row.games for row in after.rows) == sum(row.games for row in before.rows) - 2

    assert (await organiser.rule_on_game(tournament_id, 1, void, note="late", request_id="r")).changes == ()
    with pytest.raises(arb.ArbiterError) as caught:
        await organiser.rule_on_game(tournament_id, 1, arb.RulingDecision.POINTS, (0, 2), revision=seen)
    assert caught.value.reason is arb.Reason.TOURNAMENT_CHANGED
    assert caught.value.facts["revision"] == str(seen + 1)
    for decision, given in ((arb.RulingDecision.UNSPECIFIED, ()), (arb.RulingDecision.POINTS, (2, 2))):
        with pytest.raises(arb.ArbiterError) as caught:
            await organiser.rule_on_game(tournament_id, 1, decision, given)
        assert caught.value.reason is arb.Reason.ARGUMENT_INVALID
    back = await organiser.rule_on_game(tournament_id, 1, arb.RulingDecision.STANDS, note="no")
    assert back.tournament.phase is arb.TournamentPhase.ENDED
    assert (await organiser.get_standings(tournament_id)).rows == before.rows

    found = []
    async for event in organiser.observe_tournament(tournament_id, "0"):
        if isinstance(event.what, arb.GameRuled):
            found.append(event.what)
            if event.what.decision == "stands":
                break
    assert found == [arb.GameRuled(1, "void", (), "late", "org"), arb.GameRuled(1, "stands", (), "no", "org")]


async def test_only_its_creator_runs_a_tournament(world: World, stubs: Stubs) -> None:
    tournament_id = await make(stubs)
    other = await world.server.token("other", Scope.ORGANISE)
    calls = stubs.tournaments
    for change, kind in (
        (calls.StartTournament, pb.StartTournamentRequest),
        (calls.PauseTournament, pb.PauseTournamentRequest),
        (calls.ResumeTournament, pb.ResumeTournamentRequest),
        (calls.CancelTournament, pb.CancelTournamentRequest),
    ):
        request = kind(request_id="r", tournament_id=tournament_id)
        await refused(change(request, metadata=other), Reason.SCOPE_MISSING, scope="admin")
    for who in (other, stubs.bob):
        for move, kind_of_move in (
            (calls.EnterTournament, pb.EnterTournamentRequest),
            (calls.WithdrawFromTournament, pb.WithdrawFromTournamentRequest),
        ):
            of_alice = kind_of_move(request_id="r", tournament_id=tournament_id, player="alice")
            await refused(move(of_alice, metadata=who), Reason.SCOPE_MISSING)
    enter = pb.EnterTournamentRequest(request_id="r", tournament_id=tournament_id)
    await refused(calls.EnterTournament(enter, metadata=other), Reason.SCOPE_MISSING, scope="play")
    enter.rating = 2_000
    await refused(calls.EnterTournament(enter, metadata=stubs.bob), Reason.ARGUMENT_INVALID, where="rating")
    enter.player = "alice"
    await calls.EnterTournament(enter, metadata=stubs.admin)
    cancel = pb.CancelTournamentRequest(request_id="cancel", tournament_id=tournament_id)
    await calls.CancelTournament(cancel, metadata=stubs.admin)


async def test_each_mistake_of_an_entry_has_a_reason(stubs: Stubs) -> None:
    tournament_id = await make(stubs)

    def enter(metadata: Any, **fields: Any) -> Awaitable[Any]:
        asked = {"request_id": "r", "tournament_id": tournament_id} | fields
        call: Awaitable[Any] = stubs.tournaments.EnterTournament(pb.EnterTournamentRequest(**asked), metadata=metadata)
        return call

    await refused(enter(stubs.alice, tournament_id="t0"), Reason.TOURNAMENT_NOT_FOUND, id="t0")
    await refused(enter(stubs.alice, request_id=""), Reason.ARGUMENT_INVALID)
    await refused(enter(stubs.alice, byes=[0]), Reason.ARGUMENT_INVALID, where="byes")
    await refused(enter(stubs.org, player="nobody"), Reason.PLAYER_NOT_FOUND, id="nobody")
    suspend = player_pb2.SuspendPlayerRequest(name="bob", suspended=True)
    await stubs.players.SuspendPlayer(suspend, metadata=stubs.admin)
    await refused(enter(stubs.org, player="bob"), Reason.PLAYER_SUSPENDED, id="bob")
    await enter(stubs.alice)
    await refused(enter(stubs.alice, request_id="again"), Reason.TOURNAMENT_CLOSED, phase="entry")
    start = pb.StartTournamentRequest(request_id="start", tournament_id=tournament_id)
    await refused(stubs.tournaments.StartTournament(start, metadata=stubs.org), Reason.TOURNAMENT_CLOSED)
    withdraw = pb.WithdrawFromTournamentRequest(request_id="out", tournament_id=tournament_id, player="org")
    await refused(stubs.tournaments.WithdrawFromTournament(withdraw, metadata=stubs.org), Reason.TOURNAMENT_CLOSED)


async def test_an_impossible_specification_is_refused(stubs: Stubs) -> None:
    def create(**fields: Any) -> Awaitable[Any]:
        asked: dict[str, Any] = {"name": "cup", "format": pb.TOURNAMENT_FORMAT_SWISS, "games": ["pods"], "time": "1m"}
        spec = pb.TournamentSpec(**(asked | {"options": pb.TournamentOptions(rounds=3)} | fields))
        request = pb.CreateTournamentRequest(request_id="r", spec=spec)
        call: Awaitable[Any] = stubs.tournaments.CreateTournament(request, metadata=stubs.org)
        return call

    invalid = Reason.PARAMETER_INVALID
    await refused(create(options=pb.TournamentOptions()), invalid, where="options.rounds")
    await refused(create(time="soon"), invalid)
    await refused(create(games=["ludo"]), Reason.GAME_UNKNOWN)
    await refused(create(policy=pb.TournamentPolicy(illegal_moves=0)), invalid, where="policy.illegal_moves")
    await refused(create(openings=pb.Openings(lines=[pb.OpeningLine(game="pods", moves=["castles"])])), invalid)
    await create()
    await refused(create(name="another"), Reason.REQUEST_ID_REUSED, request_id="r")


@pytest.mark.long
async def test_lists_have_pages_and_filters(world: World, stubs: Stubs) -> None:
    made = [await make(stubs, f"r{number}") for number in range(5)]
    organiser = await world.client("other", Scope.ORGANISE)
    swiss = (await organiser.create_tournament(SWISS)).tournament_id
    over = made.pop()
    cancel = pb.CancelTournamentRequest(request_id="r", tournament_id=over)
    await stubs.tournaments.CancelTournament(cancel, metadata=stubs.org)

    def ask(size: int, token: str) -> Awaitable[Any]:
        request = pb.ListTournamentsRequest(page_size=size, page_token=token)
        call: Awaitable[Any] = stubs.tournaments.ListTournaments(request, metadata=stubs.alice)
        return call

    whole = await check(ask, "tournaments", 6)
    assert [each.tournament_id for each in whole] == [swiss, over, *made[::-1]]

    async def found(**which: Any) -> list[str]:
        return [each.tournament_id for each in await organiser.list_tournaments(**which)]

    assert await found(format=arb.TournamentFormat.SWISS) == [swiss]
    assert await found(creator="other") == [swiss]
    assert await found(creator="x" * 200) == []
    assert await found(phase=arb.TournamentPhase.ENDED) == [over]
    assert await found(phase=arb.TournamentPhase.ENTRY, most=2) == [swiss, made[-1]]
    (ended,) = await organiser.list_tournaments(phase=arb.TournamentPhase.ENDED)
    assert (ended.name, ended.creator, ended.phase) == ("cup", "org", arb.TournamentPhase.ENDED)
    assert 0 < ended.created_ms <= ended.ended_ms


@pytest.mark.long
async def test_its_id_is_the_label_of_its_own_matches_alone_and_its_rules_end_them(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    short = replace(LEAGUE, games=("hop-it",), adjudication=arb.Adjudication(plies=3))
    wrong = replace(short, games=("hop-it", "pods"), adjudication=arb.Adjudication(material=2, material_plies=4))
    with pytest.raises(arb.ArbiterError) as refused_spec:
        await organiser.create_tournament(wrong)
    assert refused_spec.value.facts["where"] == "adjudication.material"
    with pytest.raises(arb.ArbiterError, match="none is installed"):
        await organiser.create_tournament(replace(LEAGUE, adjudication=arb.Adjudication(plugin="judge")))
    made = await organiser.create_tournament(short)
    for seed, name in enumerate(("ann", "ben")):
        await world.bot(name, RandomBot(seed))
        await organiser.enter_tournament(made.tournament_id, name)
    with pytest.raises(arb.ArbiterError) as refused_label:
        await organiser.create_match("hop-it", ("ann", "ben"), label=made.tournament_id)
    assert (refused_label.value.reason, refused_label.value.facts["where"]) == (arb.Reason.ARGUMENT_INVALID, "label")
    await organiser.start_tournament(made.tournament_id)
    await world.over(made.tournament_id)
    [match] = await organiser.list_matches(label=made.tournament_id)
    assert match.result is not None
    assert (match.ply, match.result.reason, match.result.cause) == (3, "adjudicated_length", arb.Cause.ORGANISER)


async def test_time_odds_in_messages(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    for name in ("ann", "ben"):
        await world.client(name)
    made = await organiser.create_match("hop-it", ("ann", "ben"), time_control="60s:10s+1s", rated=False)
    assert (made.time_control, made.time_controls) == ("1m:10s+1s", ("1m", "10s+1s"))
    [listed] = await organiser.list_matches()
    assert listed.time_controls == made.time_controls
    with pytest.raises(arb.ArbiterError) as caught:
        await organiser.create_match("hop-it", ("ann", "ben"), time_control="1m:10s", rated=True)
    assert caught.value.facts["where"] == "rated"


class Verified(NamedTuple):
    games: int
    points: dict[str, int]


async def verified(client: arb.Client, tournament_id: str) -> Verified:
    """Export a tournament by a client, verify it, and return its number of games and the points."""
    log = await client.export_tournament(tournament_id)
    events = [json.loads(line) for line in log.splitlines()]
    matches = {event["match"] for event in events if event["kind"] == "game_begun"}
    transcripts = {match_id: await client.transcript(match_id) for match_id in matches}
    keys = published_keys(await client.server_info())
    found = await verify_tournament(log, transcripts.get, checking(keys, holds))
    return Verified(len(found.tournament.results), {row.player: row.points for row in found.table.rows})


@pytest.mark.long
async def test_who_may_read_a_tournament_can_check_it(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    tournament_id = (await organiser.create_tournament(LEAGUE)).tournament_id
    for name in ("ann", "ben", "cat"):
        await (await world.bot(name, RandomBot(1))).enter_tournament(tournament_id)
    reader = await world.client("dan", Scope.OBSERVE)
    lines = (await reader.export_tournament(tournament_id)).splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["tournament_created", "entered", "entered", "entered"]
    await organiser.start_tournament(tournament_id)
    await world.over(tournament_id)
    await level(world.server)
    before = await verified(reader, tournament_id)
    assert before.games == 3
    ruled = await organiser.rule_on_game(tournament_id, 1, arb.RulingDecision.POINTS, (0, 0))
    await level(world.server)
    changes = {each.player: each.half_points for each in ruled.changes}
    assert (await verified(reader, tournament_id)).points == {**before.points, **changes} != before.points
    with pytest.raises(arb.ArbiterError) as caught:
        await reader.export_tournament("nowhere")
    assert caught.value.reason is arb.Reason.TOURNAMENT_NOT_FOUND
