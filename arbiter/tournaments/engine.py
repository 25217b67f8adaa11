"""Decides what a command does to a tournament: commands in, events out. `evolution.apply` applies the events.

A recorded request gets its first answer again. Consequences of a command (walkovers, the tournament's end) are decided
together with the command, so no crash can separate them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from arbiter.errors import Reason, Refusal, argument_invalid, parameter_invalid, with_article
from arbiter.tournaments import commands as do
from arbiter.tournaments import correction_rules, formats, game_rulings
from arbiter.tournaments import events as ev
from arbiter.tournaments.entry import EntryChange, why_not, wrong_byes
from arbiter.tournaments.game_reports import report
from arbiter.tournaments.going_on import continuation
from arbiter.tournaments.meetings import Pair, make_meetings
from arbiter.tournaments.refusals import changed, closed, how_ended, where_it_is
from arbiter.tournaments.schedule import DATE, TooFew
from arbiter.tournaments.spec import Format, Spec
from arbiter.tournaments.tournament import Entrant, Tournament, TournamentPhase
from arbiter.tournaments.walkovers import with_due

DAY_MS: Final = 86_400_000
LATEST_MS: Final = DAY_MS  #: how long ago a time of the schedule may be at the creation


class TournamentDecision(NamedTuple):
    """What a command does: the events to store, in order, and the refusal if it was refused."""

    events: tuple[ev.Event, ...]
    refusal: Refusal | None = None


def create(tournament: str, spec: Spec, creator: str, request: str, now: int) -> tuple[Tournament, TournamentDecision]:
    """Return a new tournament and the event that creates it.

    Raises Refusal PARAMETER_INVALID for a start time, or an end of entry, more than a day ago: it is of another file or
    has a mistake in its year. One of today may have passed while the request was on its way, and then the tournament
    starts as soon as there are enough players.
    """
    for name in ("start_ms", "entry_closes_ms"):
        given = getattr(spec.schedule, name)
        if given and given < now - LATEST_MS:
            short = name.removesuffix("_ms")
            allowed = f"a time to come, or left out: it is {_ago(now - given)} ago. In a file, {short} = {DATE}"
            raise parameter_invalid(str(given), f"schedule.{name}", allowed, of="a tournament")
    created = ev.Created(now, tournament, spec, creator, request)
    return Tournament(created), TournamentDecision((created,))


def decide(tournament: Tournament, command: do.Command, now: int) -> TournamentDecision:
    """Return what a command does to a tournament at an instant. The tournament itself does not change.

    It never raises a refusal: a refusal is part of the decision. Refusals: TOURNAMENT_CLOSED (facts phase, why) if the
    tournament's phase or rules do not allow the command, TOURNAMENT_CHANGED (facts revision, why) if what it is about
    has changed since its revision, ARGUMENT_INVALID, REQUEST_ID_REUSED.
    """
    at = max(now, tournament.at)
    try:
        if isinstance(command, do.Request):
            known = tournament.requests.get((command.caller, command.request))
            if known is not None:
                _check_same(known, command)
                return TournamentDecision(())
        events = _HANDLERS[type(command)](tournament, command, at)
        return TournamentDecision(tuple(with_due(tournament, events, at)))
    except Refusal as refusal:
        return TournamentDecision((), refusal.with_traceback(None))


# Entering and leaving


def may_enter(tournament: Tournament, player: str, version: str, now: int) -> bool:
    """Return whether a tournament would accept a player at an instant, if its bot's version has the badge.

    The players of teams are entered by the organiser.
    """
    if tournament.spec.boards:
        return False
    try:
        _check_entry(tournament, player, version, True, max(now, tournament.at))
    except Refusal:
        return False
    return True


def _enter(tournament: Tournament, command: do.Enter, at: int) -> list[ev.Event]:
    _check_entry(tournament, command.player, command.version, command.badge, at)
    _check_byes(tournament, command.byes)
    if bool(command.team) != bool(tournament.spec.boards):
        why = "it has no teams" if command.team else f"it is for teams: say which team {command.player} plays in"
        raise closed(tournament, why)
    if command.category in tournament.spec.groups.authors:
        raise argument_invalid(command.category, "category", "a name that no author has")
    how = (command.version, command.rating, command.byes, command.caller, command.request, command.team)
    return [ev.Entered(at, command.player, *how, command.category)]


def _check_entry(tournament: Tournament, player: str, version: str, badge: bool, at: int) -> None:
    """Raise Refusal TOURNAMENT_CLOSED unless a tournament accepts a player."""
    spec, rules, pairer = tournament.spec, tournament.spec.entry, formats.of(tournament.spec)
    known = tournament.entrants.get(player)
    if tournament.phase is TournamentPhase.ENDED:
        raise closed(tournament, how_ended(tournament))
    if known is not None and known.disqualified:
        raise closed(tournament, f"{player} is disqualified")
    if known is not None and not known.withdrawn:
        raise closed(tournament, f"{player} has entered it already")
    refused = why_not(tournament, EntryChange.ENTER if known is None else EntryChange.RETURN)
    if refused:
        raise closed(tournament, refused)
    undone = known is not None and tournament.phase is TournamentPhase.ENTRY
    closes = spec.schedule.entry_closes_ms
    if closes and at >= closes and not undone:
        raise closed(tournament, "entry is closed")
    capacity = pairer.most_players or rules.capacity
    if capacity and len(tournament.players) >= capacity:
        raise closed(tournament, f"all {capacity} places are taken")
    if spec.league.divisions and tournament.seeds and player not in tournament.seeds:
        raise closed(tournament, "its players were placed as the season began: enter the next one")
    if rules.invited and player not in rules.invited:
        raise closed(tournament, f"it is by invitation, and {player} is not invited")
    if rules.versions and not version.startswith(rules.versions):
        raise closed(tournament, f"it is for versions {', '.join(rules.versions)}, not {version or 'none'!r}")
    if rules.badge and not badge:
        raise closed(
            tournament,
            f"it is for bots that have passed the conformance kit, and version {version or 'none'!r} of {player} has "
            f"not: an organiser can let it, by `arbiter conformance --bot COMMAND --badge {player}`",
        )


def _check_byes(tournament: Tournament, byes: tuple[int, ...], entrant: Entrant | None = None) -> None:
    wrong = wrong_byes(tournament, byes, entrant)
    if wrong:
        raise closed(tournament, wrong)


def _playing(tournament: Tournament, player: str) -> Entrant:
    """Return a player of a tournament. Raises Refusal TOURNAMENT_CLOSED if it does not play in it."""
    entrant = tournament.entrants.get(player)
    if tournament.phase is TournamentPhase.ENDED:
        raise closed(tournament, how_ended(tournament))
    if entrant is None or entrant.withdrawn:
        raise closed(tournament, f"{player} does not play in it")
    return entrant


def _change_entry(tournament: Tournament, command: do.ChangeEntry, at: int) -> list[ev.Event]:
    entrant = _playing(tournament, command.player)
    rating = entrant.rating if command.rating is None else command.rating
    byes = entrant.byes if command.byes is None else command.byes
    refused = why_not(tournament, EntryChange.SEED)
    if rating != entrant.rating and refused:
        raise closed(tournament, refused)
    _check_byes(tournament, byes, entrant)
    return [ev.EntryChanged(at, command.player, rating, byes, command.caller, command.request, command.version)]


def _withdraw(tournament: Tournament, command: do.Withdraw, at: int) -> list[ev.Event]:
    _playing(tournament, command.player)
    return [ev.Withdrawn(at, command.player, command.caller, command.request)]


# Life


def _start(tournament: Tournament, command: do.Start, at: int) -> list[ev.Event]:
    if tournament.phase is TournamentPhase.ENDED:
        raise closed(tournament, how_ended(tournament))
    if tournament.phase is not TournamentPhase.ENTRY:
        raise closed(tournament, "it has started already")
    return [_started(tournament, at, command.caller, command.request)]


def _go_on(tournament: Tournament, command: do.GoOn, at: int) -> list[ev.Event]:
    for player, version in zip(command.players, command.versions, strict=True):
        if player not in tournament.players:
            _check_entry(tournament, player, version, True, at)
    return continuation(tournament, command, at)


def _started(tournament: Tournament, at: int, caller: str, request: str) -> ev.Started:
    spec = tournament.spec
    players = [entrant for entrant in tournament.entrants.values() if not entrant.withdrawn]
    short = too_few(tournament)
    if short:
        raise closed(tournament, short)
    # Sorting is stable: players with the same rating keep their order of entry.
    seeds = tuple(entrant.player for entrant in sorted(players, key=lambda entrant: -entrant.rating))
    return ev.Started(at, seeds, caller, request, formats.of(spec).rules)


def too_few(tournament: Tournament) -> str:
    """Return why a tournament that has not started has too few players for it, as a clause; '' if it has enough."""
    pairer, there = formats.of(tournament.spec), len(tournament.players)
    least = pairer.needed(tournament)
    short = f"{_a(tournament.spec.format)} needs {least} players, and has {there}" if there < least else ""
    return pairer.incomplete(tournament) or short


def _start_by_time(tournament: Tournament, at: int) -> list[ev.Event]:
    """Start a tournament whose time has come; with too few players wait, or cancel it, as its specification says."""
    short = too_few(tournament)
    if not short:
        return [_started(tournament, at, "", "")]
    if tournament.spec.schedule.too_few is TooFew.CANCEL:
        return [ev.Ended(at, ev.End.CANCELLED, note=f"too few players at its start time: {short}")]
    if tournament.missed is not None:
        return []
    return [ev.StartMissed(at, len(tournament.players), formats.of(tournament.spec).needed(tournament))]


def _pause(tournament: Tournament, command: do.Pause, at: int) -> list[ev.Event]:
    if tournament.phase is not TournamentPhase.RUNNING:
        raise closed(tournament, where_it_is(tournament))
    return [ev.Paused(at, command.caller, command.request)]


def _continue(tournament: Tournament, command: do.Continue, at: int) -> list[ev.Event]:
    if tournament.phase is not TournamentPhase.PAUSED:
        raise closed(tournament, where_it_is(tournament))
    return [ev.Continued(at, command.caller, command.request)]


def _cancel(tournament: Tournament, command: do.Cancel, at: int) -> list[ev.Event]:
    if tournament.phase is TournamentPhase.ENDED:
        raise closed(tournament, how_ended(tournament))
    return [ev.Ended(at, ev.End.CANCELLED, command.caller, command.request, command.note)]


def _tick(tournament: Tournament, command: do.Tick, at: int) -> list[ev.Event]:
    if tournament.phase is TournamentPhase.ENTRY:
        due = tournament.spec.schedule.start_ms
        return _start_by_time(tournament, at) if due and at >= due else []
    if tournament.phase is not TournamentPhase.RUNNING:
        return []
    ends_at = tournament.ends_at
    if ends_at is not None and at >= ends_at:
        return [ev.Ended(at, ev.End.TIME)]
    if tournament.all_decided() and formats.of(tournament.spec).over(tournament):
        return [ev.Ended(at, ev.End.COMPLETE, note=formats.of(tournament.spec).end_note(tournament))]
    if tournament.held_by and tournament.rounds >= tournament.held_after and tournament.all_decided():
        return [ev.Paused(at, tournament.held_by, "")]
    return []


def _rule(tournament: Tournament, command: do.Rule, at: int) -> list[ev.Event]:
    if not game_rulings.are_valid(command.decision, command.points):
        allowed = "half points of seat 1 and seat 2 that add up to 2 at most, and none with another decision"
        raise argument_invalid(list(command.points), "points", allowed)
    refused = game_rulings.why_not(tournament, command)
    if refused:
        raise closed(tournament, refused)
    if 0 < command.revision < tournament.changed[command.game]:
        raise changed(tournament, command.revision, f"the result of game {command.game} is another one")
    what = (command.game, command.decision, command.points, command.note)
    return [ev.Ruled(at, *what, command.caller, command.request)]


def _correct(tournament: Tournament, command: do.Correct, at: int) -> list[ev.Event]:
    invalid = correction_rules.invalid(command.what)
    if invalid is not None:
        raise argument_invalid(*invalid)
    refused = correction_rules.why_not(tournament, command.what)
    if refused:
        raise closed(tournament, refused)
    since, newer = correction_rules.decided_at(tournament, command.what)
    if 0 < command.revision < since:
        raise changed(tournament, command.revision, newer)
    return [ev.Corrected(at, command.what, command.note, command.caller, command.request)]


# Play


def _arrange(tournament: Tournament, command: do.Arrange, at: int) -> list[ev.Event]:
    if not tournament.may_pair or _is_stale(tournament, command):
        return []  # the proposal was for an older state: a new one will be made
    _check_pairs(tournament, (*command.pairs, *(Pair(player, player) for player in command.byes)))
    meetings = make_meetings(
        tournament.spec, command.pairs, command.round, len(tournament.meetings), len(tournament.games)
    )
    if not meetings and not command.byes and not command.idle:
        return [ev.Ended(at, ev.End.COMPLETE, note="no further pairing is allowed")]
    return [ev.Paired(at, command.round, meetings, command.byes, command.free)]


def _is_stale(tournament: Tournament, command: do.Arrange) -> bool:
    """Return whether a proposal is outdated because something else has happened since it was made.

    In formats that pair free players something always has. There a proposal is valid while all players in it are free.
    """
    if not formats.of(tournament.spec).pairs_whoever_is_free:
        return command.revision != tournament.revision
    paired = {player for pair in command.pairs for player in pair.players}
    here = set(tournament.players)
    return command.round != tournament.rounds + 1 or not paired <= here or bool(paired & tournament.busy())


def _check_pairs(tournament: Tournament, pairs: tuple[Pair, ...]) -> None:
    for pair in pairs:
        for player in pair.players:
            if player not in tournament.entrants:
                raise ValueError(f"{player} was paired, and plays in another tournament")


def _begin(tournament: Tournament, command: do.Begin, at: int) -> list[ev.Event]:
    game, attempt = command.game, command.attempt
    if tournament.phase is TournamentPhase.ENDED or not 1 <= game <= len(tournament.games):
        return []
    if tournament.has_result(game) or game in tournament.running or attempt != tournament.attempts.get(game, 0) + 1:
        return []
    if tournament.is_stranded(tournament.games[game - 1]):
        return []
    return [ev.Begun(at, game, attempt, command.match, command.opening, command.position, command.entry)]


def _decide_trial(tournament: Tournament, command: do.Decide, at: int) -> list[ev.Event]:
    if tournament.phase is TournamentPhase.ENDED or not formats.of(tournament.spec).ends_by_test:
        return []
    return [ev.Ended(at, ev.End.DECIDED if command.decided else ev.End.COMPLETE, note=command.note)]


_HANDLERS: Final[dict[type, Callable[[Tournament, Any, int], list[ev.Event]]]] = {
    do.Enter: _enter,
    do.Withdraw: _withdraw,
    do.ChangeEntry: _change_entry,
    do.GoOn: _go_on,
    do.Start: _start,
    do.Pause: _pause,
    do.Continue: _continue,
    do.Cancel: _cancel,
    do.Rule: _rule,
    do.Correct: _correct,
    do.Tick: _tick,
    do.Arrange: _arrange,
    do.Begin: _begin,
    do.ReportResult: report,
    do.Decide: _decide_trial,
}

_LEAVES: Final = {
    do.Enter: ev.Entered,
    do.Withdraw: ev.Withdrawn,
    do.ChangeEntry: ev.EntryChanged,
    do.GoOn: ev.PlayedElsewhere,
    do.Start: ev.Started,
    do.Pause: ev.Paused,
    do.Continue: ev.Continued,
    do.Cancel: ev.Ended,
    do.Rule: ev.Ruled,
    do.Correct: ev.Corrected,
}
"""The event that a request leaves when it is carried out."""


def _check_same(known: ev.Event, command: do.Request) -> None:
    same = isinstance(known, _LEAVES[type(command)]) and all(
        getattr(known, name) == getattr(command, name)
        for name in (
            "player",
            "version",
            "rating",
            "byes",
            "game",
            "decision",
            "points",
            "what",
            "note",
            "team",
            "category",
            "report",
            "players",
        )
        if getattr(command, name, None) is not None
    )
    if not same:
        raise Refusal(
            Reason.REQUEST_ID_REUSED,
            f"request id {command.request!r} was used by another request to this tournament: choose a new one",
            request_id=command.request,
        )


def _ago(ms: int) -> str:
    """Return a duration of a day or more in words: `1 day`, `400 days`."""
    days = ms // DAY_MS
    return f"{days:,} day{'s' if days > 1 else ''}"


def _a(format_: Format) -> str:
    """Return the name of a format with its article: `a round robin`, `an arena`."""
    return with_article(format_.value.replace("_", " "))
