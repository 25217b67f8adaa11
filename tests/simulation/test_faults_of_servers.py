"""Injected faults of servers that share a store: the simulation finds each of them, by one of the seeds tried."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.matches.events import EventKind
from arbiter.matches.match import Match, Phase
from arbiter.ratings.rulings import Rulings
from arbiter.runtime.system_clock import FollowingClock
from arbiter.service.cut_off import CutOff
from arbiter.service.gate import player_calls as gate_of_players
from arbiter.service.matches.decisions import Decisions
from arbiter.service.play.challenges import Challenges
from arbiter.service.play.delivery import Delivery
from arbiter.service.play.session import Session
from arbiter.service.play.sessions import Sessions
from arbiter.service.players.accounts import Accounts
from arbiter.service.ports.journal import Append, Record, StoredRecord, StoreFailed, Subject
from arbiter.service.ports.notices import Notice
from arbiter.service.ports.replicas import Taken
from arbiter.service.record import tournament_log
from arbiter.service.record.published import Published
from arbiter.service.sharing import news, replica
from arbiter.service.sharing.following import Follower
from arbiter.service.sharing.shared_server import Sharing
from arbiter.service.tournaments import live_log
from arbiter.service.tournaments.driver import TournamentDriver
from arbiter.service.tournaments.ended import EndedTournaments
from arbiter.service.tournaments.tournament_registry import TournamentRegistry
from arbiter.testing.memory import MemoryJournal, MemoryReplicas
from arbiter.testing.simulation import run
from arbiter.testing.simulation.invariants.corrections import NO_OTHER, ONCE, RATINGS, SUSPENDED
from arbiter.testing.simulation.invariants.tournaments import AS_ALONE
from arbiter.testing.simulation.invariants.waits import WAIT
from arbiter.testing.simulation.plan import Fault, Plan, draw
from arbiter.tournaments import commands as do
from arbiter.tournaments import correction_rules, engine, evolution
from arbiter.tournaments import events as ev
from arbiter.tournaments.spec import Format
from arbiter.tournaments.tournament import Tournament
from tests.simulation.plans import promises_broken, short, without_corrections
from tests.simulation.test_injected_faults import begins_no_late_turn_again, counts_a_stream_from_when_it_is_open

pytestmark = pytest.mark.long

Inject = Callable[[pytest.MonkeyPatch], None]
SERVERS = 3
MATCHES = 8
SEEDS = 10  #: that are tried, at most
OUTAGE = "The outage is charged to nobody"
KEPT = "A server without the store keeps nobody"
HELD = {Fault.LOCKED: 10.0, Fault.CUT: 20.0, Fault.MOVE: 30.0}
OFTEN_HELD = {Fault.LOCKED: 25.0, Fault.CUT: 40.0, Fault.MOVE: 30.0}
SOON = "Players of a killed server soon go on"


def ticks_twice(patch: pytest.MonkeyPatch) -> None:
    """A store that appends the end of a match after the events that another server was quicker to append."""
    store = MemoryJournal.store

    def lenient(self: MemoryJournal, append: Append) -> int:
        records = append.records
        late = len(self.of_match(records[0].match_id)) + 1 - records[0].revision
        if late > 0 and records[0].subject is Subject.MATCH and append.closed is not None:
            moved = tuple(record._replace(revision=record.revision + late) for record in records)
            append = append._replace(records=moved, basis=None)
        return store(self, append)

    patch.setattr(MemoryJournal, "store", lenient)


def answers_a_lost_race_as_it_was_decided(patch: pytest.MonkeyPatch) -> None:
    """An arbiter that answers with its decision, although another server was first and nothing of it is stored."""
    patch.setattr(Decisions, "_give", lambda self, live, command, then, answer, written: then(answer))


def lets_an_older_stream_live(patch: pytest.MonkeyPatch) -> None:
    """A server that does not end a stream whose player has opened another one elsewhere."""
    elsewhere = Refusal(Reason.SESSION_SUPERSEDED, "on another server", resume_from="")
    end = Session.end

    def lenient(self: Session, refusal: Refusal) -> None:
        if refusal is not elsewhere:
            end(self, refusal)

    patch.setattr(replica, "superseded", lambda player: elsewhere)
    patch.setattr(Session, "end", lenient)


def tells_no_turn_that_began_elsewhere(patch: pytest.MonkeyPatch) -> None:
    """A server that does not send a player the turn that an opponent on another server has begun."""
    changed = Delivery.match_changed

    def deaf(self: Delivery, match: Match, events: Sequence[Published]) -> None:
        if events[0].decided_here or any(each.event.kind is not EventKind.MOVED for each in events):
            changed(self, match, events)

    patch.setattr(Delivery, "match_changed", deaf)


def hears_of_no_revocation(patch: pytest.MonkeyPatch) -> None:
    """A server that does not hear of tokens that another server has revoked, nor of suspensions."""

    async def deaf(self: Accounts, notice: Notice) -> None:
        pass

    patch.setattr(Accounts, "hear", deaf)


def remembers_one_earlier_server(patch: pytest.MonkeyPatch) -> None:
    """Rows of players that remember only the first of the servers that may be dead."""
    take = MemoryReplicas.take

    async def forgetful(
        self: MemoryReplicas, player: str, replica: str, bot_version: str, most_matches: int
    ) -> Taken | None:
        taken = await take(self, player, replica, bot_version, most_matches)
        left = self._players[player].left if player in self._players else {}
        for later in list(left)[1:]:
            del left[later]
        return taken and taken._replace(left_ms=max(left.values(), default=None))

    patch.setattr(MemoryReplicas, "take", forgetful)


def reads_only_what_it_hears_of(patch: pytest.MonkeyPatch) -> None:
    """A server that trusts the bus, and does not read the log unless a message says so."""

    async def wait(self: news._Due, often_s: float, rarely: bool) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(often_s):
                await self._now.wait()
        told = self._now.is_set()
        self._now.clear()
        return told

    patch.setattr(news._Due, "wait", wait)


def cleans_up_after_nobody(patch: pytest.MonkeyPatch) -> None:
    """A server that notices that another one is dead, and does nothing about it."""

    async def idle(self: replica.Replica, gone: str) -> None:
        pass

    patch.setattr(replica.Replica, "_clean_up", idle)


def goes_on_when_it_is_cut_off(patch: pytest.MonkeyPatch) -> None:
    """A server that keeps its streams although the others may have declared it dead."""
    patch.setattr(replica.Replica, "expire", lambda self, reason: None)


def lets_callers_wait_when_it_is_cut_off(patch: pytest.MonkeyPatch) -> None:
    """A server that ends its streams, but lets those wait that are about to open."""
    patch.setattr(CutOff, "waiting", lambda self: nullcontext())


def keeps_observers_when_it_is_cut_off(patch: pytest.MonkeyPatch) -> None:
    """A server that sends its players away, but not those who watch."""
    begin = CutOff.begin

    def partly(self: CutOff, refusal: StoreFailed) -> None:
        self._begun = self._begun[:1]
        begin(self, refusal)

    patch.setattr(CutOff, "begin", partly)


def follows_no_clock(patch: pytest.MonkeyPatch) -> None:
    """A server that has the store's time at its start, and runs by its own clock from then on."""
    patch.setattr(FollowingClock, "follow", lambda self, readings: 0)


def takes_twice(patch: pytest.MonkeyPatch, kind: type[ev.Event]) -> None:
    """A store that also appends an event of a tournament that another server was quicker to append."""
    store = MemoryJournal.store

    def lenient(self: MemoryJournal, append: Append) -> int:
        records = append.records
        late = len(self.of_match(records[0].match_id)) + 1 - records[0].revision
        if (
            late > 0
            and records[0].subject is Subject.TOURNAMENT
            and any(isinstance(event_in(each), kind) for each in records)
        ):
            moved = tuple(record._replace(revision=record.revision + late) for record in records)
            append = append._replace(records=moved, basis=None)
        return store(self, append)

    patch.setattr(MemoryJournal, "store", lenient)


def event_in(record: Record) -> ev.Event:
    return tournament_log.event_of(StoredRecord(0, record.match_id, record.revision, record.body, record.subject))


def pairs_a_round_twice(patch: pytest.MonkeyPatch) -> None:
    """Two servers that both pair the next round of a tournament."""
    takes_twice(patch, ev.Paired)


def starts_a_tournament_twice(patch: pytest.MonkeyPatch) -> None:
    """Two servers that both start a tournament whose time has come."""
    takes_twice(patch, ev.Started)


def pairs_only_its_own_players(patch: pytest.MonkeyPatch) -> None:
    """A server that takes players for absent whose Play stream is at another one."""
    patch.setattr(Sessions, "most_matches", lambda self, player: 10 if self.of(player) is not None else None)


def completes_no_challenge(patch: pytest.MonkeyPatch) -> None:
    """A server that leaves a challenge as it is whose match another server was to create."""

    async def idle(self: Challenges) -> None:
        pass

    patch.setattr(Challenges, "complete_always", idle)


def counts_a_wait_from_the_last_request(patch: pytest.MonkeyPatch) -> None:
    """A server that charges players for the time in which it was asked in vain, or another one was."""
    patch.setattr(Follower, "silence_s", lambda self: 0.0)
    patch.setattr(Delivery, "_begins_again_as_stored_late", lambda self, match: False)


def takes_who_waits_elsewhere_for_absent(patch: pytest.MonkeyPatch) -> None:
    """A server that ends a match although it can't know what the others have stored."""
    patch.setattr(Follower, "is_silent", lambda self: False)


def takes_who_has_come_elsewhere_for_absent(patch: pytest.MonkeyPatch) -> None:
    """A server that ends a match whose player is at another one, which can't store that it has come."""
    waits_ms = Sharing.flag_waits_ms

    def at_once(self: Sharing, match: Match, awaited: Collection[str], waited: bool) -> int:
        return 0 if match.phase is Phase.PENDING else waits_ms(self, match, awaited, waited)

    patch.setattr(Sharing, "flag_waits_ms", at_once)


def remembers_no_correction(patch: pytest.MonkeyPatch) -> None:
    """Servers that make a correction again when its request is repeated."""
    apply = evolution.apply

    def forgetful(tournament: Tournament, event: ev.Event) -> None:
        apply(tournament, event)
        if isinstance(event, ev.Ruled | ev.Corrected):
            del tournament.requests[event.caller, event.request]

    for module in (evolution, live_log, tournament_log):
        patch.setattr(module, "apply", forgetful)


def acknowledges_before_it_stores(patch: pytest.MonkeyPatch) -> None:
    """A server that acknowledges a correction at once: it is lost with the server."""
    request = TournamentDriver.request

    async def hasty(self: TournamentDriver, command: do.Request) -> Refusal | None:
        asked = asyncio.create_task(request(self, command))
        await asyncio.sleep(0)
        if not isinstance(command, do.AfterTheEnd) or asked.done():
            return await asked
        asked.add_done_callback(lambda task: task.cancelled() or task.exception())
        return engine.decide(self.tournament, command, self.tournament.at).refusal

    patch.setattr(TournamentDriver, "request", hasty)


def ignores_what_others_decided(patch: pytest.MonkeyPatch) -> None:
    """A server that makes a correction although somebody has decided since its caller looked."""
    patch.setattr(correction_rules, "decided_at", lambda tournament, what: (0, ""))


def hears_of_no_correction_after_the_end(patch: pytest.MonkeyPatch) -> None:
    """A server that goes on to show the table with which a tournament ended."""
    patch.setattr(EndedTournaments, "grown", lambda self, tournament_id, _: self.get(tournament_id) is not None)


def lets_a_suspended_player_play_on(patch: pytest.MonkeyPatch) -> None:
    """An operator's suspension that tournaments do not hear of."""

    async def idle(tournaments: TournamentRegistry, operator: str, player: str, *, suspended: bool) -> None:
        pass

    patch.setattr(gate_of_players, "follow_suspension", idle)


def rules_again_on_ratings(patch: pytest.MonkeyPatch) -> None:
    """A server that makes a ruling on ratings again when its request is repeated."""
    patch.setattr(Rulings, "made", lambda self, command: 0)


def lists_what_is_unrated_as_rated(patch: pytest.MonkeyPatch) -> None:
    """A store that keeps a ruling on ratings, but not which matches it changes."""
    rule = MemoryJournal.rule_now
    patch.setattr(MemoryJournal, "rule_now", lambda self, ruling, changes: rule(self, ruling, {}))


def corrected(plan: Plan) -> Plan | None:
    return plan if any(each.corrections for each in plan.tournaments) else None


def anything(plan: Plan) -> Plan | None:
    return plan


def tournaments(plan: Plan) -> Plan | None:
    return plan if plan.tournaments else None


def free_play(plan: Plan) -> Plan | None:
    """Nobody errs, and several players enter an arena."""
    arena = any(each.spec.format is Format.ARENA and len(each.players) > 2 for each in plan.tournaments)
    return plan if arena and not draw(plan.seed, MATCHES).faults else None


def schedules(plan: Plan) -> Plan | None:
    return plan if any(each.spec.schedule.start_ms for each in plan.tournaments) else None


def challenges(plan: Plan) -> Plan | None:
    """Many of them: a server must die in one of few steps."""
    return replace(plan, challenges=plan.challenges * 5) if plan.challenges else None


WHOLE = {  # these faults show only in a whole plan
    remembers_one_earlier_server,
    reads_only_what_it_hears_of,
    pairs_only_its_own_players,
    takes_who_waits_elsewhere_for_absent,
    takes_who_has_come_elsewhere_for_absent,
    hears_of_no_correction_after_the_end,
    lets_a_suspended_player_play_on,
    lists_what_is_unrated_as_rated,
}


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("inject", "faults", "seed", "invariants", "needs"),
    [
        (ticks_twice, {Fault.RACE: 60.0}, 3, {"Typed ends", "Proof"}, anything),
        (answers_a_lost_race_as_it_was_decided, {Fault.RACE: 60.0}, 11, {"No acknowledged move is lost"}, anything),
        (lets_an_older_stream_live, {Fault.MOVE: 30.0}, 3, {"One live Play stream a player"}, anything),
        (tells_no_turn_that_began_elsewhere, {Fault.MOVE: 2.0}, 3, {"Every turn is received"}, anything),
        (hears_of_no_revocation, {Fault.MOVE: 2.0}, 7, {"Revocation is heard"}, anything),
        (remembers_one_earlier_server, {Fault.CHASE: 20.0}, 201, {OUTAGE}, anything),
        (reads_only_what_it_hears_of, {Fault.BUS_AWAY: 6.0}, 17, {"Every server knows the same"}, anything),
        (cleans_up_after_nobody, {Fault.CRASH: 6.0}, 3, {SOON}, anything),
        (goes_on_when_it_is_cut_off, {Fault.CUT_OFF: 12.0}, 6, {KEPT}, anything),
        (lets_callers_wait_when_it_is_cut_off, {Fault.CUT_OFF: 12.0, Fault.MOVE: 2.0}, 5, {KEPT}, anything),
        (keeps_observers_when_it_is_cut_off, {Fault.CUT_OFF: 12.0}, 6, {KEPT}, anything),
        (follows_no_clock, {Fault.PACE: 20.0}, 2, {"Fair clocks"}, anything),
        (pairs_a_round_twice, {Fault.MOVE: 2.0}, 10, {"Proof"}, tournaments),
        (starts_a_tournament_twice, {Fault.MOVE: 2.0}, 13, {"Proof"}, schedules),
        (pairs_only_its_own_players, {}, 288, {"Whoever is free is paired"}, free_play),
        (counts_a_stream_from_when_it_is_open, {Fault.LOCKED: 10.0, Fault.MOVE: 30.0}, 8, {WAIT}, anything),
        (begins_no_late_turn_again, {Fault.LOCKED: 10.0}, 8, {WAIT}, anything),
        (counts_a_wait_from_the_last_request, OFTEN_HELD, 11, {WAIT}, anything),
        (takes_who_waits_elsewhere_for_absent, OFTEN_HELD, 17, {WAIT}, anything),
        (takes_who_has_come_elsewhere_for_absent, HELD, 93, {WAIT}, anything),
        (completes_no_challenge, {Fault.ACCEPTING: 1.0}, 6, {"A challenge ends in one way"}, challenges),
        (remembers_no_correction, {Fault.CORRECTING: 0.1}, 2, {ONCE}, corrected),
        (acknowledges_before_it_stores, {Fault.CORRECTING: 0.1}, 2, {ONCE}, corrected),
        (ignores_what_others_decided, {Fault.MOVE: 2.0}, 2, {NO_OTHER}, corrected),
        (hears_of_no_correction_after_the_end, {Fault.MOVE: 2.0}, 16, {AS_ALONE}, corrected),
        (lets_a_suspended_player_play_on, {Fault.MOVE: 2.0}, 16, {SUSPENDED}, corrected),
        (rules_again_on_ratings, {Fault.CORRECTING: 0.1}, 2, {ONCE}, corrected),
        (lists_what_is_unrated_as_rated, {Fault.MOVE: 2.0}, 19, {RATINGS}, corrected),
    ],
)
def test_the_fault_is_found(
    inject: Inject,
    faults: dict[Fault, float],
    seed: int,
    invariants: set[str],
    needs: Callable[[Plan], Plan | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By one of the first seeds from this one on whose plan has what the fault needs.

    Tournaments are corrected only where the fault is about that: so the other seeds stand for what they have stood for.
    """
    inject(monkeypatch)
    monkeypatch.setattr(run, "LONGEST_CALM_S", 60.0)  # what never ends costs less
    monkeypatch.setattr(run, "AFTERWARDS_S", 5.0)
    drawn = (replace(draw(each, MATCHES, SERVERS), faults=faults) for each in itertools.count(seed))
    plans = (needs(plan if needs is corrected else without_corrections(plan)) for plan in drawn)
    tried = itertools.islice((plan if inject in WHOLE else short(plan) for plan in plans if plan is not None), SEEDS)
    assert any(invariants & promises_broken(plan) for plan in tried)
