"""Corrections: each is in the record once if it was acknowledged, and not at all if it was refused.

The file of a tournament, and which matches count for ratings, follow from the record with all of them. Who corrected a
tournament in a run, and how, is in its observations (`AskedDecision`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from arbiter.event_json.canonical import MalformedRecordError
from arbiter.keys.key_ring import holds
from arbiter.matches.events import Ended
from arbiter.matches.record import read
from arbiter.matches.signing import checking
from arbiter.ratings.rulings import Command, Ruling, Rulings
from arbiter.service.matches.transcripts import signature_of
from arbiter.service.ports.journal import StoreDamaged, StoredRecord, Subject
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.service.record import tournament_log
from arbiter.service.tournaments.departures import NOTE
from arbiter.service.tournaments.exported import exported
from arbiter.service.tournaments.tournament_verification import TournamentError, verify
from arbiter.testing.clock import run
from arbiter.testing.memory import OneKey
from arbiter.testing.simulation.invariants.run_evidence import RunEvidence, Violation
from arbiter.testing.simulation.observations import AskedDecision
from arbiter.testing.simulation.plan import GUEST
from arbiter.tournaments import events as ev
from arbiter.tournaments.commands import Correct, Rule
from arbiter.tournaments.corrections import Reinstate, Replay
from arbiter.tournaments.evolution import replay
from arbiter.tournaments.tournament import TournamentPhase

ONCE: Final = "A correction is made once, or not at all"
NO_OTHER: Final = "A correction on a revision overwrites no other"
EXPORT: Final = "An export verifies"
RATINGS: Final = "Ratings follow from the rulings"
SUSPENDED: Final = "A suspension reaches tournaments at once"
SIGNER: Final = OneKey()


class _Decided(NamedTuple):
    """A decision in a log: its sequence number (0: not known), and its revision there."""

    sequence: int
    revision: int
    event: ev.Ruled | ev.Corrected


def _log_of(case: RunEvidence, tournament_id: str) -> tournament_log.StoredLog | None:
    """Return the log of a tournament; None if it is damaged, which is found elsewhere."""
    try:
        return tournament_log.load(tournament_id, case.tournaments[tournament_id])
    except StoreDamaged:
        return None


def corrections_are_made_once(case: RunEvidence) -> Iterator[Violation]:
    """Check that decisions on tournaments are in their logs, each as often and as early as its caller was told."""
    for tournament_id, records in case.tournaments.items():
        log = _log_of(case, tournament_id)
        if log is None:
            continue
        made: dict[tuple[str, str], list[_Decided]] = {}
        for record, event in zip(records, log.events, strict=True):
            if isinstance(event, ev.Ruled | ev.Corrected) and event.note != NOTE:
                decided = _Decided(record.sequence, record.revision, event)
                made.setdefault((event.caller, event.request), []).append(decided)
        for asked in case.history.decisions:
            if asked.of == tournament_id:
                found = made.pop((asked.caller, asked.request), [])
                wrong = [each.event for each in found if not _is_of(each.event, asked)]
                yield from _once(asked, [each.sequence for each in found], wrong)
                yield from _no_other(asked, found, log.events)
        for (caller, request), found in made.items():
            yield Violation(ONCE, f"{tournament_id} has {found}, but {caller} has not asked for {request!r}")


def _is_of(event: ev.Ruled | ev.Corrected, asked: AskedDecision) -> bool:
    """Return whether an event is what was asked for."""
    match asked.asked:
        case Correct(what=what, note=note):
            return isinstance(event, ev.Corrected) and (event.what, event.note) == (what, note)
        case Rule(game=game, decision=decision, points=points):
            return isinstance(event, ev.Ruled) and (event.game, event.decision, event.points) == (
                game,
                decision,
                points,
            )
        case _:
            return False


def _once(asked: AskedDecision, sequences: Sequence[int], wrong: Sequence[object]) -> Iterator[Violation]:
    """Check where a decision is in the record. sequences: the journal's head when each of its records was stored."""
    said = f"{asked.request!r} ({asked.asked})"
    if len(sequences) > 1:
        yield Violation(ONCE, f"{said} was made {len(sequences)} times")
    if wrong:
        yield Violation(ONCE, f"{said} is in the record as {wrong}")
    if not asked.is_made and asked.answers and sequences:
        yield Violation(ONCE, f"{said} was refused, and yet it is in the record: {asked.answers}")
    for answer in asked.answers:
        if answer.refused is None and not any(sequence <= answer.place for sequence in sequences):
            yield Violation(ONCE, f"{said} was acknowledged, but was not in the record then: {answer}, {sequences}")
        if answer.refused is not None and any(sequence <= answer.began for sequence in sequences):
            yield Violation(ONCE, f"{said} was made, and refused when it was repeated: {answer}, {sequences}")


def _no_other(asked: AskedDecision, found: Sequence[_Decided], events: Sequence[ev.Event]) -> Iterator[Violation]:
    """Check that nothing has changed between the revision that a caller has seen and its decision."""
    seen = asked.asked.revision if isinstance(asked.asked, Rule | Correct) else 0
    for made in found if seen else ():
        between = events[seen : made.revision - 1]
        if others := [event for event in between if _forestalls(event, made.event)]:
            yield Violation(NO_OTHER, f"{made.event} on revision {seen} came after {others}")


def _forestalls(event: ev.Event, decision: ev.Ruled | ev.Corrected) -> bool:
    """Return whether a decision on an earlier revision has to be refused once an event has happened."""
    about = decision.what if isinstance(decision, ev.Corrected) else decision
    if not isinstance(about, ev.Ruled | Replay):
        return isinstance(event, ev.Ruled | ev.Corrected)
    game = about.game
    if isinstance(event, ev.Corrected):
        return event.what == Replay(game)
    return isinstance(event, ev.Ruled | ev.EndedGame) and event.game == game


def exports_verify(case: RunEvidence) -> Iterator[Violation]:
    """Check that the file of each tournament that has ended, with the transcripts of its matches, verifies offline."""
    for tournament_id, records in case.tournaments.items():
        log = _log_of(case, tournament_id)
        if log is not None and log.tournament.end is not None:
            problem = run(_problem(case.records, log, records))
            if problem:
                yield Violation(EXPORT, f"{tournament_id}: {problem}")


async def _problem(
    all_records: Sequence[StoredRecord], log: tournament_log.StoredLog, records: Sequence[StoredRecord]
) -> str:
    """Return what is wrong with the file of a tournament, '' if nothing is."""
    rater, named = InProcessRating(), {event.match for event in log.events if isinstance(event, ev.Begun)}
    data = await exported(log, [record.body for record in records], SIGNER, rater)
    of_match: dict[str, list[StoredRecord]] = {}
    for record in all_records:
        if record.subject is Subject.MATCH and record.match_id in named:
            of_match.setdefault(record.match_id, []).append(record)
    transcripts = {match_id: _transcript(found) for match_id, found in of_match.items()}
    try:
        await verify(data, transcripts.get, checking(SIGNER.public_keys(), holds), rater)
    except TournamentError as error:
        return str(error)
    return ""


def _transcript(records: Sequence[StoredRecord]) -> bytes:
    last = read(records[-1].body)
    lines = [record.body for record in records]
    if isinstance(last, Ended):
        lines.append(signature_of(SIGNER, records[-1], last).line())
    return b"".join(line + b"\n" for line in lines)


def ratings_follow_from_rulings(case: RunEvidence) -> Iterator[Violation]:
    """Check the log of rulings on ratings, and that the list of matches says what follows from it."""
    stored, log = case.history.ratings, Rulings()
    try:
        rulings = [log.follow(record.body) for record in stored.log]
    except MalformedRecordError as error:
        yield Violation("Proof", f"the rulings on ratings can't be read: {error}")
        return
    if log.unrated() != stored.unrated:
        yield Violation(RATINGS, f"unrated are {stored.unrated}, but by the rulings {log.unrated()}")
    made = _numbers(rulings)
    for asked in case.history.decisions:
        if isinstance(asked.asked, Command):
            found = made.get((asked.caller, asked.request), [])
            yield from _ruled_once(asked, asked.asked, found, rulings)


def _numbers(rulings: Sequence[Ruling]) -> Mapping[tuple[str, str], list[int]]:
    """Return the numbers of the rulings of each request."""
    found: dict[tuple[str, str], list[int]] = {}
    for number, ruling in enumerate(rulings, 1):
        found.setdefault((ruling.caller, ruling.request), []).append(number)
    return found


def _ruled_once(
    asked: AskedDecision, command: Command, found: Sequence[int], rulings: Sequence[Ruling]
) -> Iterator[Violation]:
    if len(found) > 1 or bool(found) != asked.is_made:
        yield Violation(ONCE, f"{command} was answered {asked.answers}, and is in the record as {found}")
    for number in found:
        ruling = rulings[number - 1]
        if (ruling.decision, ruling.ruling) != (command.decision, command.ruling):
            yield Violation(ONCE, f"{command} is in the record as {ruling}")
        if command.revision is not None and command.revision != number - 1:
            yield Violation(NO_OTHER, f"{command} is ruling {number}")


def suspensions_reach_tournaments(case: RunEvidence) -> Iterator[Violation]:
    """Check that a player is out of its tournaments once its suspension was acknowledged, unless it was reinstated."""
    for asked in case.history.decisions:
        if asked.asked is not True or not asked.is_made:
            continue
        until = min(answer.place for answer in asked.answers if answer.refused is None)
        for tournament_id, records in case.tournaments.items():
            log = _log_of(case, tournament_id)
            if log is None:
                continue
            before, by_then = (sum(record.sequence <= end for record in records) for end in (asked.place, until))
            if not before or not by_then:
                continue
            tournament, after = replay(log.events[:before]), replay(log.events[:by_then])
            reinstated = any(_reinstates(event) for event in log.events[before:by_then])
            if GUEST not in tournament.entrants or after.phase is TournamentPhase.ENDED or reinstated:
                continue
            if not after.entrants[GUEST].withdrawn:
                yield Violation(SUSPENDED, f"{GUEST} still plays in {tournament_id} after {asked}")


def _reinstates(event: ev.Event) -> bool:
    return isinstance(event, ev.Corrected) and event.what == Reinstate(GUEST)


CHECKS = (
    corrections_are_made_once,
    exports_verify,
    ratings_follow_from_rulings,
    suspensions_reach_tournaments,
)
