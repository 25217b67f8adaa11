"""Decides what the end of a game's match does to its tournament: commands in, events out, as in `engine`."""

from __future__ import annotations

from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments import formats
from arbiter.tournaments.game_ends import GameResult, after_last, winner_of
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.tournaments.walkovers import walkover


def report(tournament: Tournament, command: do.ReportResult, at: int) -> list[ev.Event]:
    """Return the events of the end of a match, with the walkovers in the other games of its meeting."""
    running = tournament.running.get(command.game)
    if running is None or running.match != command.match or tournament.phase is TournamentPhase.ENDED:
        return []  # reported twice, or after the end
    events = _result(tournament, command, running.attempt, at)
    return events + _not_waited_for(tournament, events[-1])


def _result(tournament: Tournament, command: do.ReportResult, attempt: int, at: int) -> list[ev.Event]:
    """Return what the end of the match of a game means for the game."""
    winner = winner_of(command.winner, command.reason, command.absent)
    if winner is not None:
        how = (command.reason, command.cause, command.moves, command.versions)
        return [ev.EndedGame(at, command.game, command.match, winner, *how)]
    voided = ev.Voided(at, command.game, attempt, command.match, command.reason)
    game = tournament.games[command.game - 1]
    withdrawn = [tournament.entrants[player].withdrawn for player in (game.seat1, game.seat2)]
    if not any(withdrawn):
        if command.stopped or attempt - tournament.tries[command.game] < tournament.spec.attempts:
            return [voided]
        winner, reason = after_last(command.reason, command.absent)
        return [voided, ev.EndedGame(at, command.game, "", winner, reason, command.cause)]
    gone = (withdrawn[0] or 1 in command.absent, withdrawn[1] or 2 in command.absent)
    return [voided, walkover(command.game, gone, at)] if all(gone) else [voided]


def _not_waited_for(tournament: Tournament, event: ev.Event) -> list[ev.Event]:
    """Return the walkovers in the other games of a bracket's meeting, if a player did not come to one of them."""
    if not isinstance(event, ev.EndedGame) or not formats.of(tournament.spec).has_bracket:
        return []
    game = tournament.games[event.game - 1]
    result = GameResult(event.winner, event.match, event.reason, event.cause)
    absent = {player for seat, player in ((1, game.seat1), (2, game.seat2)) if result.fault(seat)}
    if result.played or not absent:
        return []
    others = tournament.meetings[game.meeting - 1].games
    return [
        walkover(other.number, (other.seat1 in absent, other.seat2 in absent), event.at)
        for other in tournament.waiting
        if other in others and other.number != event.game
    ]
