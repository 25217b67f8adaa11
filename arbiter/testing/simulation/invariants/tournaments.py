"""Tournaments: driven by several servers, each has one log, whose rounds are legal, and one match for each game."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from arbiter.service.ports.journal import StoreDamaged
from arbiter.service.record import tournaments as tournament_log
from arbiter.testing.simulation.invariants.evidence import RunEvidence, Violation
from arbiter.tournaments import checker
from arbiter.tournaments import events as ev

LEGAL = "Tournaments are legal"
ONE_GAME = "No game is lost or played twice"


def tournaments_are_legal(case: RunEvidence) -> Iterator[Violation]:
    """Check each tournament by its log: it has ended, its rounds are legal, and its games are matches."""
    if len(case.tournaments) != len(case.plan.tournaments):
        yield Violation("Exactly once", f"{len(case.tournaments)} tournaments, of {len(case.plan.tournaments)}")
    for tournament_id, records in case.tournaments.items():
        try:
            events = tournament_log.load(tournament_id, records).events
        except StoreDamaged as damage:
            yield Violation("Proof", f"{tournament_id} can't be read: {damage.why}")
            continue
        if not any(isinstance(event, ev.Ended) for event in events):
            yield Violation("Every match ends", f"{tournament_id} never ended; last {events[-1]}")
        for wrong in checker.violations(events):
            yield Violation(LEGAL, f"{tournament_id}: {wrong}")
        yield from _games(case, tournament_id, events)


def _games(case: RunEvidence, tournament_id: str, events: Sequence[ev.Event]) -> Iterator[Violation]:
    """Check that each game has one match that counts, whose result is the game's."""
    begun = {event.match: event.game for event in events if isinstance(event, ev.Begun)}
    ended = {event.game: event for event in events if isinstance(event, ev.EndedGame)}
    counting: Counter[int] = Counter()
    for match_id, entries in case.matches.items():
        end = entries[-1].event
        if entries[0].event.get("label") != tournament_id or end["kind"] != "ended" or end["result"] == "void":
            continue
        game = begun.get(match_id)
        if game is None:
            yield Violation(ONE_GAME, f"{match_id} belongs to no game of {tournament_id}")
            continue
        counting[game] += 1
        told = ended.get(game)
        if told is None or (told.match, told.winner) != (match_id, end.get("winner", 0)):
            yield Violation(ONE_GAME, f"game {game} of {tournament_id} is {told}, and {match_id} ended with {end}")
    for game, times in counting.items():
        if times > 1:
            yield Violation(ONE_GAME, f"game {game} of {tournament_id} was played {times} times")


CHECKS = (tournaments_are_legal,)
