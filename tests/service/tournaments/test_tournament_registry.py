"""Tournaments through the whole service, in virtual time."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.matches.adjudication import AdjudicationRules
from arbiter.matches.commands import ReportFault
from arbiter.matches.events import Cause
from arbiter.matches.match import with_position
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.observing.feed import Reached
from arbiter.service.ports.journal import Filter, TournamentFilter
from arbiter.service.record.published import Published
from arbiter.testing import guarantees
from arbiter.testing.clock import NOON_MS, settle, virtually
from arbiter.testing.guarantees import Received
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.game_ends import WALKOVER
from arbiter.tournaments.schedule import Schedule
from arbiter.tournaments.spec import Adjudication, Format, Openings
from arbiter.tournaments.tournament import TournamentPhase
from tests.refusals import refusing
from tests.service.tournaments.contest import Contest, spec_of

SPECS = {
    "a round robin": (spec_of(Format.ROUND_ROBIN, cycles=2), 5),
    "a round robin of pairs, two games at a time": (spec_of(Format.ROUND_ROBIN, paired=True, at_once=2), 5),
    "a gauntlet": (spec_of(Format.GAUNTLET, heads=2), 6),
    "a round robin of teams": (spec_of(Format.ROUND_ROBIN, boards=2, cycles=2), 5),
    "a Swiss": (spec_of(Format.SWISS, rounds=4), 9),
    "a knockout": (spec_of(Format.KNOCKOUT, third_place=True, best_of=3), 7),
    "a double elimination": (spec_of(Format.KNOCKOUT, double=True), 6),
    "an arena": (spec_of(Format.ARENA), 7),
    "a large arena, which is paired apart": (spec_of(Format.ARENA, duration_ms=3_000), 14),
    "a ladder": (spec_of(Format.LADDER), 6),
    "a trial": (spec_of(Format.TRIAL, paired=True), 2),
}


@pytest.mark.long
@pytest.mark.parametrize("what", SPECS)
@virtually
async def test_every_format_is_played_to_its_end(what: str) -> None:
    spec, players = SPECS[what]
    contest = Contest(players)
    log = await contest.ended(await contest.start(spec))
    assert log.tournament.end is not None
    timed = spec.format in (Format.ARENA, Format.LADDER)
    assert log.tournament.end.end is (ev.End.TIME if timed else ev.End.COMPLETE)
    assert log.tournament.results


@virtually
async def test_a_trial_ends_when_its_test_is_decided() -> None:
    contest = Contest(2)
    spec = spec_of(Format.TRIAL, paired=True, elo0=0, elo1=400, most_meetings=500)
    log = await contest.ended(await contest.start(spec))
    assert log.tournament.end is not None
    assert log.tournament.end.end is ev.End.DECIDED
    assert log.tournament.end.note.startswith(
        "h0: p000 is not better than p001 by 400 Elo from the openings of this trial;"
    )
    assert len(log.tournament.meetings) < 100


@virtually
async def test_a_repeated_request_creates_one_tournament() -> None:
    tournaments = InMemoryArbiter().arbiter.tournaments
    spec = spec_of(Format.SWISS)
    made = await asyncio.gather(*(tournaments.create(spec, "org", "r1") for _ in range(3)))
    assert len({tournament.id for tournament in made}) == 1
    assert len(await tournaments.summaries(TournamentFilter(), 0, 10)) == 1
    with refusing(Reason.REQUEST_ID_REUSED):
        await tournaments.create(dataclasses.replace(spec, name="another"), "org", "r1")
    assert (await tournaments.create(spec, "another", "r1")).id != made[0].id


@virtually
async def test_impossible_tournaments_are_refused_at_once() -> None:
    server = InMemoryArbiter(limits={"open_tournaments": 1})
    tournaments = server.arbiter.tournaments
    for wrong in (spec_of(Format.SWISS, policy={"nonsense": 1}), spec_of(Format.SWISS, policy={"illegal_moves": 0})):
        with refusing(Reason.PARAMETER_INVALID):
            await tournaments.create(wrong, "org", "r1")
    for name in ("t404", "m404", "", "\0"):
        with refusing(Reason.TOURNAMENT_NOT_FOUND):
            await tournaments.get(name)
    made = await tournaments.create(spec_of(Format.SWISS), "org", "r1")
    with refusing(Reason.RATE_LIMITED):
        await tournaments.create(spec_of(Format.SWISS), "org", "r2")
    await tournaments.act(made.id, do.Cancel("org", "enough"))
    await settle()
    await tournaments.create(spec_of(Format.SWISS), "org", "r2")


@virtually
async def test_requests_are_refused_with_a_reason_and_repeated_ones_answered_after_the_end() -> None:
    contest = Contest(3)
    tournament_id = await contest.open(spec_of(Format.ROUND_ROBIN))
    with refusing(Reason.TOURNAMENT_CLOSED):
        await contest.act(tournament_id, do.Enter("p000", "org", "again"))
    await contest.act(tournament_id, do.Start("org", "start"))
    await contest.ended(tournament_id)
    assert (await contest.act(tournament_id, do.Start("org", "start"))).phase is TournamentPhase.ENDED, (
        "the same request again"
    )
    with refusing(Reason.TOURNAMENT_CLOSED):
        await contest.act(tournament_id, do.Pause("org", "pause"))


@virtually
async def test_no_game_begins_during_a_pause() -> None:
    contest = Contest(6)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN, cycles=2))
    await asyncio.sleep(0.3)
    await contest.act(tournament_id, do.Pause("org", "pause"))
    await asyncio.sleep(20)
    tournament = await contest.tournament(tournament_id)
    begun = len(tournament.attempts)
    assert 0 < begun < len(tournament.games)
    assert not tournament.running, "running games are played to their end"
    await asyncio.sleep(1_000)
    assert len((await contest.tournament(tournament_id)).attempts) == begun
    await contest.act(tournament_id, do.Continue("org", "go on"))
    log = await contest.ended(tournament_id)
    assert len(log.tournament.results) == 30


@virtually
async def test_a_tournament_that_is_cancelled_ends_its_matches() -> None:
    contest = Contest(6)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN))
    await asyncio.sleep(0.03)
    await contest.act(tournament_id, do.Cancel("org", "cancel", "rain"))
    log = await contest.ended(tournament_id)
    voided = {event.match for event in log.events if isinstance(event, ev.Voided)}
    assert voided, "some matches were running"
    assert isinstance(log.events[-1], ev.Ended), "the end is the last event"
    rows = await contest.server.journal.summaries(Filter(label=tournament_id), 0, 100)
    assert {row.end.result for row in rows if row.end is not None and row.match_id in voided} == {"void"}
    assert not len(contest.server.arbiter.matches.live)


@virtually
async def test_a_player_who_withdraws_loses_its_games_that_have_not_begun() -> None:
    contest = Contest(5)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN, cycles=3))
    await asyncio.sleep(0.05)
    await contest.act(tournament_id, do.Withdraw("p001", "org", "withdraw"))
    log = await contest.ended(tournament_id)
    assert any(played.reason == WALKOVER for played in log.tournament.results.values())


async def faulted(matches: MatchRegistry, contest: Contest, tournament_id: str) -> str:
    """End a match of a tournament by a fault of the arbiter; return its id."""
    while not (running := (await contest.tournament(tournament_id)).running):  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.01)
    match_id = next(iter(running.values())).match
    await matches.act(match_id, ReportFault("a test asked for it"))
    return match_id


@virtually
async def test_a_void_game_is_played_again() -> None:
    contest = Contest(4)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN))
    match_id = await faulted(contest.server.arbiter.matches, contest, tournament_id)
    log = await contest.ended(tournament_id)
    voided = [event for event in log.events if isinstance(event, ev.Voided)]
    assert [event.match for event in voided] == [match_id]
    assert log.tournament.attempts[voided[0].game] == 2
    assert log.tournament.results[voided[0].game].match != match_id


@virtually
async def test_an_absent_player_forfeits_and_two_absent_players_both_lose() -> None:
    contest = Contest(3)
    tournament_id = await contest.open(spec_of(Format.ROUND_ROBIN))
    await contest.leave("p000")
    await contest.leave("p001")
    await contest.act(tournament_id, do.Start("org", "start"))
    log = await contest.ended(tournament_id)
    for game in log.tournament.games:
        played = log.tournament.results[game.number]
        assert played.cause == Cause.ABSENCE
        there = {"p002"} & {game.seat1, game.seat2}
        assert played.winner == ((1 if game.seat1 == "p002" else 2) if there else 0)


@pytest.mark.long
@virtually
async def test_an_arena_pairs_players_who_are_connected() -> None:
    contest = Contest(6)
    tournament_id = await contest.open(spec_of(Format.ARENA))
    await contest.leave("p000")
    await contest.act(tournament_id, do.Start("org", "start"))
    await asyncio.sleep(3)
    assert not (await contest.tournament(tournament_id)).meetings_of["p000"]
    await contest.connect("p000")
    await contest.ended(tournament_id)
    assert (await contest.tournament(tournament_id)).meetings_of["p000"]


@pytest.mark.long
@virtually
async def test_a_bot_in_two_tournaments_plays_no_more_matches_at_once_than_it_accepts() -> None:
    contest = Contest(6, most_matches=2)
    first = await contest.start(spec_of(Format.ROUND_ROBIN, cycles=2, at_once=2))
    second = await contest.server.arbiter.tournaments.create(spec_of(Format.ARENA, at_once=3), "org", "second")
    for name in contest.names:
        await contest.act(second.id, do.Enter(name, "org", f"enter {name}"))
    await contest.act(second.id, do.Start("org", "start"))
    most = 0
    matches = contest.server.arbiter.matches
    while (await contest.tournament(first)).phase is not TournamentPhase.ENDED:
        most = max(most, *(len(matches.live.of_player(name)) for name in contest.names))
        await asyncio.sleep(0.005)
    assert most == 2
    await contest.ended(first)
    await contest.ended(second.id)


@virtually
async def test_it_starts_by_itself_at_its_time() -> None:
    contest = Contest(4)
    schedule = Schedule(start_ms=NOON_MS + 90_000, entry_closes_ms=NOON_MS + 60_000)
    tournament_id = await contest.open(spec_of(Format.ROUND_ROBIN, schedule=schedule))
    await asyncio.sleep(70)
    with pytest.raises(Refusal):
        await contest.act(tournament_id, do.Enter("late", "org", "late"))
    log = await contest.ended(tournament_id)
    assert log.tournament.started_at == NOON_MS + 90_000


@pytest.mark.long
@virtually
async def test_games_that_are_too_long_are_drawn() -> None:
    contest = Contest(4)
    spec = spec_of(Format.ROUND_ROBIN, games=("circle-of-life",), adjudication=Adjudication(plies=6))
    log = await contest.ended(await contest.start(spec))
    drawn = [played for played in log.tournament.results.values() if played.reason == "adjudicated_length"]
    assert drawn
    assert all((played.winner, played.cause) == (0, "organiser") for played in drawn)
    for played in drawn:
        match = await contest.server.arbiter.matches.match(played.match)
        assert (match.ply, match.created.adjudication) == (6, AdjudicationRules(plies=6)), "no ply after that"


@virtually
async def test_adjudication_rules_that_the_game_does_not_have_are_refused() -> None:
    tournaments = InMemoryArbiter().arbiter.tournaments
    wrong = {
        "adjudication.material": Adjudication(material=3, material_plies=2),
        "adjudication.material_plies": Adjudication(material=3),
        "adjudication.evaluation_plies": Adjudication(evaluation=300, evaluation_plies=1),
    }
    for where, rules in wrong.items():
        spec = spec_of(Format.ROUND_ROBIN, games=("circle-of-life", "pods"), adjudication=rules)
        with pytest.raises(Refusal) as caught:
            await tournaments.create(spec, "org", "r")
        assert (caught.value.reason, caught.value.facts["where"]) == (Reason.PARAMETER_INVALID, where)


@virtually
async def test_a_player_who_is_ahead_for_long_enough_wins() -> None:
    contest = Contest(4)
    rules = Adjudication(material=1, material_plies=2)
    spec = spec_of(Format.ROUND_ROBIN, games=("circle-of-life",), adjudication=rules)
    log = await contest.ended(await contest.start(spec))
    reasons = {played.reason for played in log.tournament.results.values()}
    assert reasons == {"adjudicated_material", "resignation"}
    for played in log.tournament.results.values():
        if played.reason == "adjudicated_material":
            match = await contest.server.arbiter.matches.match(played.match)
            eaten = with_position(match).position.eaten
            assert eaten[played.winner - 1] > eaten[2 - played.winner]


@pytest.mark.long
@virtually
async def test_both_games_of_a_pair_begin_with_the_same_opening() -> None:
    contest = Contest(3)
    spec = spec_of(Format.ROUND_ROBIN, paired=True, games=("circle-of-life",), openings=Openings(4, "a seed"))
    log = await contest.ended(await contest.start(spec))
    for meeting in log.tournament.meetings:
        matches = [
            await contest.server.arbiter.matches.match(log.tournament.results[game.number].match)
            for game in meeting.games
        ]
        first, second = (match.created.opening for match in matches)
        assert len(first) == 4
        assert first == second


@virtually
async def test_streams_have_a_tournament_and_its_matches_in_order_and_without_a_gap() -> None:
    contest = Contest(4)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN))
    feed = contest.server.arbiter.feed
    live: list[Published] = []

    async def watch() -> None:
        async with feed.of_all(0, tournament_id) as stream:
            async for batch in stream:
                if not isinstance(batch, Reached):
                    live.extend(batch)

    watching = asyncio.create_task(watch())
    await contest.ended(tournament_id)
    watching.cancel()
    later: list[Published] = []
    async with feed.of_all(0, "") as everything:
        async for batch in everything:
            if isinstance(batch, Reached):
                break
            later.extend(batch)
    for seen in (live, later):
        guarantees.kept([Received(each.match_id, each.revision, each.body) for each in seen])
        assert [each.sequence for each in seen] == sorted(each.sequence for each in seen)
    assert {each.match_id for each in live if each.match_id == tournament_id} == {tournament_id}
    assert [each.body for each in live] == [each.body for each in later]
    own = [each.event for each in later if each.match_id == tournament_id]
    assert own == (await contest.checked(tournament_id)).events


@virtually
async def test_time_odds_apply_to_each_seat_and_their_games_are_not_rated() -> None:
    contest = Contest(3)
    spec = spec_of(Format.ROUND_ROBIN, paired=True, rated=True, time_odds={"p001": "1m+1s"})
    log = await contest.ended(await contest.start(spec))
    rows = await contest.server.journal.summaries(Filter(label=log.tournament.id), 0, 100)
    assert {(row.player_1, row.player_2, row.time_control, row.rated) for row in rows} == {
        ("p000", "p001", "10s:1m+1s", False),
        ("p001", "p000", "1m+1s:10s", False),
        ("p002", "p001", "10s:1m+1s", False),
        ("p001", "p002", "1m+1s:10s", False),
        ("p000", "p002", "10s", True),
        ("p002", "p000", "10s", True),
    }
    for row in rows:
        match = await contest.server.arbiter.matches.match(row.match_id)
        assert [str(control) for control in match.controls] == (row.time_control.split(":") * 2)[:2]


@virtually
async def test_impossible_time_odds_are_refused() -> None:
    tournaments = InMemoryArbiter().arbiter.tournaments
    spec = spec_of(Format.ROUND_ROBIN, time="123456789ms+123456789ms", time_odds={"ann": "123456788ms+123456788ms"})
    with pytest.raises(Refusal, match="at most 40 characters together"):
        await tournaments.create(spec, "org", "r")
    await tournaments.create(dataclasses.replace(spec, time_odds={}), "org", "r")


@virtually
async def test_no_other_match_can_have_a_tournaments_id_as_its_label() -> None:
    contest = Contest(2)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN))
    for label in (tournament_id + "x", "training"):
        assert (await contest.server.create(players=("p000", "p001"), label=label)).created.label == label
    with pytest.raises(Refusal) as caught:
        await contest.server.create(players=("p000", "p001"), label=tournament_id)
    assert (caught.value.reason, caught.value.facts["where"]) == (Reason.ARGUMENT_INVALID, "label")
    await contest.ended(tournament_id)
    with pytest.raises(Refusal):
        await contest.server.create(players=("p000", "p001"), label=tournament_id)


@virtually
async def test_a_tournament_that_ended_long_ago_is_read_once_for_all_who_ask() -> None:
    contest = Contest(3)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN))
    log = await contest.ended(tournament_id)
    await contest.server.restart()
    journal, reads = contest.server.journal, 0

    async def reading() -> None:
        nonlocal reads
        reads += 1

    journal.before_reading = reading  # type: ignore[method-assign]
    tournaments = contest.server.arbiter.tournaments
    leaving = asyncio.create_task(tournaments.get(tournament_id))
    await asyncio.sleep(0)
    leaving.cancel()
    found = await asyncio.gather(*(tournaments.get(tournament_id) for _ in range(5)))
    assert reads == 1
    assert all(each is found[0] for each in found)
    assert found[0].results == log.tournament.results
    with pytest.raises(Refusal):
        await tournaments.get("t-none")
