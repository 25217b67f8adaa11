"""Injected faults of servers that share a store: the simulation finds each of them, by a seed that is named here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.matches.events import EventKind
from arbiter.matches.match import Match
from arbiter.service.matches.live import LiveMatches
from arbiter.service.play import replica
from arbiter.service.play.delivery import Delivery
from arbiter.service.play.session import Session
from arbiter.service.players.accounts import Accounts
from arbiter.service.ports.journal import Append, Subject
from arbiter.service.ports.notices import Notice
from arbiter.service.ports.replicas import Taken
from arbiter.service.record import news
from arbiter.service.record.published import Published
from arbiter.testing.memory import MemoryJournal, MemoryReplicas
from arbiter.testing.simulation.invariants import RunEvidence, violations
from arbiter.testing.simulation.plan import Fault, draw
from arbiter.testing.simulation.run import play_out

pytestmark = pytest.mark.long

Inject = Callable[[pytest.MonkeyPatch], None]
SERVERS = 3
MATCHES = 8
SEEDS = 6  #: that are tried
OUTAGE = "The outage is charged to nobody"


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
    patch.setattr(LiveMatches, "_give", lambda self, live, command, then, answer, written: then(answer))


def lets_an_older_stream_live(patch: pytest.MonkeyPatch) -> None:
    """A server that does not end a stream whose player has opened another one elsewhere."""
    elsewhere = Refusal(Reason.SESSION_SUPERSEDED, "on another server")
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
        if self._matches.decided_here or any(each.event.kind is not EventKind.MOVED for each in events):
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
        self: MemoryReplicas, player: str, replica: str, bot_version: str, most_matches: int, now_ms: int
    ) -> Taken | None:
        taken = await take(self, player, replica, bot_version, most_matches, now_ms)
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


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("inject", "faults", "seed", "invariants"),
    [
        (ticks_twice, {Fault.RACE: 60.0}, 2, {"Typed ends", "Proof"}),
        (answers_a_lost_race_as_it_was_decided, {Fault.RACE: 60.0}, 1, {"No acknowledged move is lost"}),
        (lets_an_older_stream_live, {Fault.MOVE: 30.0}, 1, {"One live Play stream a player"}),
        (tells_no_turn_that_began_elsewhere, {Fault.MOVE: 2.0}, 1, {"Every turn is received", "Every match ends"}),
        (hears_of_no_revocation, {Fault.MOVE: 2.0}, 4, {"Revocation is heard"}),
        (remembers_one_earlier_server, {Fault.CHASE: 20.0}, 200, {OUTAGE}),
        (reads_only_what_it_hears_of, {Fault.BUS_AWAY: 6.0}, 11, {"Every server knows the same"}),
    ],
)
def test_the_fault_is_found(
    inject: Inject,
    faults: dict[Fault, float],
    seed: int,
    invariants: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By this seed; a change of the arbiter that asks the store once more may need one of the next seeds."""
    inject(monkeypatch)
    assert any(invariants & promises_broken(each, faults) for each in range(seed, seed + SEEDS))


def promises_broken(seed: int, faults: dict[Fault, float]) -> set[str]:
    """Return the promises that a run of three servers breaks, with these faults alone."""
    plan = replace(draw(seed, MATCHES, SERVERS), faults=faults)
    return {violation.promise for violation in violations(RunEvidence(play_out(plan)))}
