"""Tournaments: driven by several servers, each has one log, whose rounds are legal, and one match for each game.

It ends with the standings with which it would end on one server, if its games had the same results and nobody corrected
it. Who is paired in an arena or a ladder depends on who is free at which instant, and how many games a trial has on
when they end: they end when they should.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from arbiter.service.ports.journal import StoreDamaged
from arbiter.service.record import tournament_log
from arbiter.service.tournaments.trial_decision import PairTest
from arbiter.testing.simulation.invariants.run_evidence import RunEvidence, Violation
from arbiter.tournaments import checker, engine, formats
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.corrections import Disqualify, Replay
from arbiter.tournaments.evolution import apply, replay
from arbiter.tournaments.game_ends import WALKOVER
from arbiter.tournaments.spec import options_in
from arbiter.tournaments.standings import standings
from arbiter.tournaments.tournament import Tournament, TournamentPhase

LEGAL = "Tournaments are legal"
ONE_GAME = "No game is lost or played twice"
VOID = "A void match is no result"
AS_ALONE = "A tournament ends as on one server"
IN_TIME = "A tournament ends when it should"
ALL_PLAY = "Whoever is free is paired"


def tournaments_are_legal(case: RunEvidence) -> Iterator[Violation]:
    """Check each tournament by its log: it has ended, its rounds are legal, and its games are matches."""
    if len(case.tournaments) != len(case.plan.tournaments):
        yield Violation("Exactly once", f"{len(case.tournaments)} tournaments, of {len(case.plan.tournaments)}")
    for tournament_id, records in case.tournaments.items():
        try:
            log = tournament_log.load(tournament_id, records)
        except StoreDamaged as damage:
            yield Violation("Proof", f"{tournament_id} can't be read: {damage.why}")
            continue
        events = log.events
        if not any(isinstance(event, ev.Ended) for event in events):
            yield Violation("Every match ends", f"{tournament_id} never ended; last {events[-1]}")
        for wrong in checker.violations(events):
            yield Violation(LEGAL, f"{tournament_id}: {wrong}")
        yield from games_are_matches(case, tournament_id, events)
        yield from _standings(case, tournament_id, log)


def games_are_matches(case: RunEvidence, tournament_id: str, events: Sequence[ev.Event]) -> Iterator[Violation]:
    """Check that each game has one match that counts, with the game's result, and one more each time it is replayed."""
    begun = {event.match: event.game for event in events if isinstance(event, ev.Begun)}
    ended = {event.match: event for event in events if isinstance(event, ev.EndedGame)}
    what = [event.what for event in events if isinstance(event, ev.Corrected)]
    replayed = Counter(each.game for each in what if isinstance(each, Replay))
    stops = any(isinstance(each, Disqualify) and each.stop for each in what)
    counting: Counter[int] = Counter()
    for match_id, entries in case.matches.items():
        end = entries[-1].event
        if entries[0].event.get("label") != tournament_id or end["kind"] != "ended":
            continue
        told = ended.get(match_id)
        if end["result"] == "void":
            nobody_came = (end["reason"], end["party"]) == ("no_show", "players")
            stopped = stops and end["reason"] == "aborted" and told is not None and told.reason == WALKOVER
            if told is not None and not stopped and (told.winner or not nobody_came):
                yield Violation(VOID, f"game {told.game} of {tournament_id} is {told}, and {match_id} was void: {end}")
            continue
        game = begun.get(match_id)
        if game is None:
            yield Violation(ONE_GAME, f"{match_id} belongs to no game of {tournament_id}")
            continue
        counting[game] += 1
        if told is None or (told.game, told.winner) != (game, end.get("winner", 0)):
            yield Violation(ONE_GAME, f"game {game} of {tournament_id} is {told}, and {match_id} ended with {end}")
    for game, times in counting.items():
        if times > 1 + replayed[game]:
            yield Violation(ONE_GAME, f"game {game} of {tournament_id} was played {times} times")


def _standings(case: RunEvidence, tournament_id: str, log: tournament_log.StoredLog) -> Iterator[Violation]:
    """Check that all servers show the same standings at the end, and that one server alone would."""
    stored = standings(log.tournament)
    for server, table in case.history.tables.get(tournament_id, {}).items():
        if table != stored:
            yield Violation(AS_ALONE, f"server {server} shows {table.rows}; by the log they are {stored.rows}")
    if any(isinstance(event, ev.Paused | ev.Ruled | ev.Corrected) for event in log.events):
        return  # what an organiser decides, and when, is no result
    pairer = formats.of(log.tournament.spec)
    if pairer.pairs_whoever_is_free:
        yield from free_play_ends_in_time(case, log)
        return
    if pairer.ends_by_test:
        yield from trial_ends_by_its_test(log)
        return
    alone = played_alone(log.events)
    if paired(log.tournament) != paired(alone):
        meetings = log.tournament.meetings
        yield Violation(AS_ALONE, f"{tournament_id} was paired otherwise: {meetings}, not {alone.meetings}")
    elif standings(alone).rows != stored.rows:
        yield Violation(AS_ALONE, f"{tournament_id} ended with {stored.rows}, not {standings(alone).rows}")


def free_play_ends_in_time(case: RunEvidence, log: tournament_log.StoredLog) -> Iterator[Violation]:
    """Check that an arena or a ladder ends at its time, and that without faults nobody waits while others play on.

    Newcomers of a ladder may first have to play a slow game against themselves.
    """
    tournament = log.tournament
    ends_at = tournament.ends_at or 0
    for event in log.events:
        if isinstance(event, ev.Paired) and event.at >= ends_at:
            yield Violation(IN_TIME, f"{tournament.id} was to end at {ends_at}, but {event}")
        if isinstance(event, ev.Ended) and (event.end is not ev.End.TIME or event.at < ends_at):
            yield Violation(IN_TIME, f"{tournament.id} was to end at {ends_at}, but {event}")
    met = [pair for pair in tournament.met if len(pair) > 1]
    waiting = [player for player in tournament.players if not any(player in pair for pair in met)]
    validates = "validation" in options_in(tournament.spec.format) and tournament.spec.options.validation
    enough = sum(tournament.met[pair] for pair in met) >= len(tournament.players)
    if case.plan.calm and waiting and enough and not validates:
        yield Violation(ALL_PLAY, f"{', '.join(waiting)} never met another in {tournament.id}, and others met again")


def trial_ends_by_its_test(log: tournament_log.StoredLog) -> Iterator[Violation]:
    """Check that a trial ends with the verdict of its test, or undecided, with its state and why no more was played."""
    tournament, end = log.tournament, log.tournament.end
    if end is None or not tournament.seeds:
        return
    test = PairTest(tournament)
    wanted = ev.End.DECIDED if test.has_decided else ev.End.COMPLETE
    said = test.answer()
    if (end.end, end.note) != (wanted, said) or not said:
        yield Violation(IN_TIME, f"{tournament.id} ended with {end}, but its test says {said or 'nothing'}")


class _Spot(NamedTuple):
    """Where a game has its place in a tournament: in a bracket, the tie and the number in it; else just a number."""

    tie: str
    number: int


def _spots(tournament: Tournament) -> dict[int, _Spot]:
    """Return the spot of each game, by its number.

    Which tie of a bracket gets its next game first depends on how long games take, and so do their numbers.
    """
    played: Counter[str] = Counter()
    spots = {}
    for meeting in tournament.meetings:
        for game in meeting.games:
            played[meeting.place] += 1
            spots[game.number] = _Spot(meeting.place, played[meeting.place] if meeting.place else game.number)
    return spots


def paired(tournament: Tournament) -> list[tuple[_Spot, int, str, str, str]]:
    """Return who played whom, by spots: the round, unless there is a bracket, the players, and the game."""
    spots = _spots(tournament)
    return sorted(
        (spots[game.number], 0 if meeting.place else meeting.round, game.seat1, game.seat2, game.game)
        for meeting in tournament.meetings
        for game in meeting.games
    )


class _Entry(NamedTuple):
    """A player enters. paired: how many meetings were paired by then; None before the tournament has started."""

    command: do.Enter
    paired: int | None


def _entries(events: Iterable[ev.Event]) -> Iterator[_Entry]:
    paired: int | None = None
    for event in events:
        match event:
            case ev.Entered(_, player, version, rating, byes, caller, request):
                yield _Entry(do.Enter(player, caller, request, version, rating, byes), paired)
            case ev.Started():
                paired = 0
            case ev.Paired():
                paired = (paired or 0) + len(event.meetings)
            case _:
                pass


def played_alone(events: Sequence[ev.Event]) -> Tournament:
    """Return a tournament as one server leaves it where its games have the same results, one after the other.

    Whoever entered late enters between the same rounds. events: of a tournament from which nobody withdrew.
    """
    created, *others = events
    assert isinstance(created, ev.Created)
    tournament, _ = engine.create(created.tournament, created.spec, created.creator, created.request, created.at)
    started = next((event for event in others if isinstance(event, ev.Started)), None)
    if started is None:
        return tournament

    def act(command: do.Command) -> bool:
        decided = engine.decide(tournament, command, started.at).events
        for event in decided:
            apply(tournament, event)
        return bool(decided)

    entries = deque(_entries(others))
    while entries and entries[0].paired is None:
        act(entries.popleft().command)
    act(do.Start(created.creator, "start"))
    spots = _spots(replay(events))
    results = {spots[event.game]: event for event in others if isinstance(event, ev.EndedGame)}
    pairer, goes_on = formats.of(created.spec), True
    while goes_on and tournament.phase is TournamentPhase.RUNNING:
        while entries and (entries[0].paired or 0) <= len(tournament.meetings):
            act(entries.popleft().command)
        proposal = pairer.propose(tournament, formats.FreePlayers())
        goes_on = act(do.Tick()) or (proposal is not None and act(proposal))
        begun = []
        for game in list(tournament.ready()):  # all begin first: an absent player may lose those that have not
            end = results.get(_spots(tournament)[game.number])
            if end is not None and end.reason != WALKOVER and act(do.Begin(game.number, 1, end.match)):
                begun.append((game.number, end))
        for number, end in begun:
            goes_on = _ended_alone(act, number, end, created.spec.attempts)
    return tournament


def _ended_alone(act: Callable[[do.Command], bool], number: int, end: ev.EndedGame, attempts: int) -> bool:
    """End a game that has begun as another tournament ended it, if all its matches were void too."""
    if end.match:
        return act(do.ReportResult(number, end.match, end.winner, end.reason, end.cause, end.moves))
    absent = (3 - end.winner,) if end.winner else ()
    for attempt in range(1, attempts + 1):
        act(do.Begin(number, attempt, end.match))
        act(do.ReportResult(number, end.match, None, end.reason, end.cause, "", absent))
    return True


CHECKS = (tournaments_are_legal,)
