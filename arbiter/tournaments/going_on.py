"""A Swiss that was begun elsewhere goes on here: what follows from its report (`arbiter.tournaments.report_history`).

Its rounds become events like those of rounds that were played here, so that standings, pairings and checks need no rule
of their own: the players enter, the tournament starts with them in the order of their numbers, and each round is paired
and has its results, of games without a match (`game_ends.ELSEWHERE`). A meeting has one such game, whatever the
specification has, since a report has one result for it. What a winner, a draw or a forfeit can't express, such as half
a point for one side alone, is a ruling of the organiser who has brought the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from arbiter.tournaments import commands as do
from arbiter.tournaments import corrections as cor
from arbiter.tournaments import events as ev
from arbiter.tournaments import formats
from arbiter.tournaments.game_ends import ABSENCE, DRAW, ELSEWHERE, LOSS, WIN, Winner
from arbiter.tournaments.meetings import Meeting, Pair, ScheduledGame, make_meetings
from arbiter.tournaments.refusals import closed
from arbiter.tournaments.report_history import History, PastGame, PastRound, history_of
from arbiter.tournaments.spec import Spec
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.tournaments.trf import read_with_lines

NOTE: Final = "as reported"  #: of the ruling on a game whose points are none of a game


def continuation(tournament: Tournament, command: do.GoOn, at: int) -> list[ev.Event]:
    """Return the events with which a tournament that has not started goes on after a report.

    Raises Refusal TOURNAMENT_CLOSED if it is not for the report, and TrfError if the report is none.
    """
    history = history_of(read_with_lines(command.report))
    refused = _too_late(tournament, command) or why_not(tournament.spec, history)
    if refused:
        raise closed(tournament, refused)
    report = ev.PlayedElsewhere(at, command.report, command.players, command.versions, command.caller, command.request)
    return [report, *_Continuation(tournament, command, history, at).events()]


def _too_late(tournament: Tournament, command: do.GoOn) -> str:
    if tournament.phase is not TournamentPhase.ENTRY:
        return "it has started already, and a report is read instead"
    strangers = [player for player in tournament.players if player not in command.players]
    return f"{strangers[0]} has entered it, and is not in the report: withdraw it first" if strangers else ""


def why_not(spec: Spec, history: History) -> str:
    """Return why a tournament of a specification can't go on after what was played, as a clause; '' if it can."""
    rounds = spec.options.rounds
    if not (formats.of(spec).reported and formats.of(spec).in_rounds):
        found = f"{spec.format.value.replace('_', ' ')}{' of teams' if spec.boards else ''}"
        return f"a report is read into a Swiss of players, and this is a {found}"
    if history.planned not in (0, rounds):
        return f"the report plans {history.planned} rounds, and its specification {rounds}"
    if len(history.rounds) > rounds:
        return f"the report has {len(history.rounds)} rounds, and its specification {rounds}"
    if history.baku and not history.virtual and not spec.options.accelerated:
        return "the report is accelerated, and its specification is not: set accelerated in its options"
    if 0 < spec.entry.capacity < len(history.players):
        return f"it has {spec.entry.capacity} places, and the report {len(history.players)} players"
    if len(history.players) < formats.of(spec).least_players:
        return f"the report has {len(history.players)} player"
    return ""


class _Continuation:
    """The events after a report, in their order."""

    def __init__(self, tournament: Tournament, command: do.GoOn, history: History, at: int) -> None:
        self._tournament = tournament
        self._caller = command.caller
        self._history = history
        self._at = at
        numbers = [each.number for each in history.players]
        self._names = dict(zip(numbers, command.players, strict=True))
        self._versions = dict(zip(numbers, command.versions, strict=True))
        self._meetings = self._games = 0  # how many there were so far

    def events(self) -> Iterator[ev.Event]:
        """Yield them."""
        yield from self._entries(1)
        seeds = tuple(self._names[each.number] for each in self._history.players if each.joined == 1)
        yield ev.Started(self._at, seeds, self._caller, "", formats.of(self._tournament.spec).rules)
        yield from self._withdrawals(0)
        for number, round_ in enumerate(self._history.rounds, 1):
            yield from self._round(number, round_)
            yield from self._entries(number + 1)
            yield from self._withdrawals(number)
        yield from self._corrections()

    def _entries(self, joined: int) -> Iterator[ev.Event]:
        for each in self._history.players:
            if each.joined == joined:
                name, version = self._names[each.number], self._versions[each.number]
                there = self._tournament.entrants.get(name)
                if there is not None and not there.withdrawn:
                    yield ev.EntryChanged(self._at, name, each.rating, each.byes, self._caller, "", version)
                else:
                    yield ev.Entered(self._at, name, version, each.rating, each.byes, self._caller, "")

    def _withdrawals(self, left: int) -> Iterator[ev.Event]:
        names = (self._names[each.number] for each in self._history.players if each.left == left)
        return (ev.Withdrawn(self._at, name, self._caller, "") for name in names)

    def _round(self, number: int, round_: PastRound) -> Iterator[ev.Event]:
        meetings = tuple(self._meeting(number, game) for game in round_.games)
        byes = tuple(self._names[each] for each in round_.byes)
        yield ev.Paired(self._at, number, meetings, byes)
        for meeting, game in zip(meetings, round_.games, strict=True):
            yield from self._result(meeting.games[0], game)

    def _meeting(self, round_: int, game: PastGame) -> Meeting:
        """Return the meeting of a game: with one game, or as the specification has it if it is still to be played."""
        spec = self._tournament.spec
        pair = Pair(self._names[game.white], self._names[game.black])
        [meeting] = make_meetings(spec, [pair], round_, self._meetings, self._games)
        if game.half_points is not None:
            meeting = meeting._replace(games=meeting.games[:1])
        self._meetings += 1
        self._games += len(meeting.games)
        return meeting

    def _result(self, game: ScheduledGame, past: PastGame) -> Iterator[ev.Event]:
        if past.half_points is None:
            return
        winner = _WINNERS.get(past.half_points)
        cause = "" if past.played else ABSENCE
        yield ev.EndedGame(self._at, game.number, "", winner or 0, ELSEWHERE, cause)
        if past.played and winner is None:
            points = past.half_points
            yield ev.Ruled(self._at, game.number, ev.Decision.POINTS, points, NOTE, self._caller, "")

    def _corrections(self) -> Iterator[ev.Event]:
        wanted: list[cor.Correction] = []
        known = self._tournament.forbidden
        for one, other in self._history.forbidden:
            pair = (self._names[one], self._names[other])
            if frozenset(pair) not in known:
                wanted.append(cor.Forbid(*pair))
        for each in self._history.players:
            wanted += [cor.GiveBye(self._names[each.number], round_, WIN) for round_ in each.full_byes]
        for what in wanted:
            yield ev.Corrected(self._at, what, NOTE, self._caller, "")


_WINNERS: Final[Mapping[tuple[int, int], Winner]] = {(WIN, LOSS): 1, (LOSS, WIN): 2, (DRAW, DRAW): 0}
"""The winner of a game by the half points of both; others are of no game."""
