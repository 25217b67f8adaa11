"""Why a player of a tournament has no game just now: what the pairer and the driver would do with it."""

from __future__ import annotations

from collections.abc import Callable

from arbiter.service.tournaments.capacity import Capacity
from arbiter.tournaments import formats
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.tournaments.unpaired_reasons import Why


def why_unpaired(
    tournament: Tournament, player: str, capacity: Capacity, field: Callable[[], formats.FreePlayers]
) -> Why | None:
    """Return why a player has no game under way; None if it has one, is not in the tournament, or that has ended.

    field: returns the free players, in formats that pair them.
    """
    entrant = tournament.entrants.get(player)
    if entrant is None or entrant.withdrawn or tournament.phase is TournamentPhase.ENDED:
        return None
    if tournament.phase is TournamentPhase.ENTRY:
        return Why.NOT_STARTED
    if any(player in tournament.games[number - 1].players for number in tournament.running):
        return None
    if tournament.phase is TournamentPhase.PAUSED:
        return Why.PAUSED
    if tournament.has_games_to_play(player):
        return _not_begun(tournament, player, capacity)
    if not formats.of(tournament.spec).pairs_whoever_is_free:
        return _between_rounds(tournament, player)
    if not capacity.is_present(player):
        return Why.AWAY
    return _not_chosen(tournament, player, field()) if capacity.is_free(player) else Why.FULL


def _not_begun(tournament: Tournament, player: str, capacity: Capacity) -> Why:
    """Return why no game of a paired player begins."""
    if capacity.full:
        return Why.SERVER_FULL
    if not capacity.may_play(player):
        return Why.FULL
    able = any(
        player in game.players and all(map(capacity.may_play, {game.seat1, game.seat2})) for game in tournament.ready()
    )
    return Why.NEXT if able else Why.OPPONENT


def _between_rounds(tournament: Tournament, player: str) -> Why:
    pairer, spec = formats.of(tournament.spec), tournament.spec
    found = pairer.waits(tournament, formats.FreePlayers(), player)
    if found is not None:
        return found
    rounds = tournament.rounds
    sits_out = player in tournament.byes.get(rounds, ()) or rounds in tournament.entrants[player].byes
    if sits_out and not tournament.all_decided():
        return Why.BYE
    present = len(tournament.players)
    if pairer.meetings_to_come(spec.options, rounds, len(tournament.seeds), present) == 0:
        return Why.DONE
    return Why.NEXT if tournament.all_decided() else Why.ROUND


def _not_chosen(tournament: Tournament, player: str, field: formats.FreePlayers) -> Why:
    """Return why a free player is not paired with another."""
    pairer, never = formats.of(tournament.spec), tournament.forbidden
    own = pairer.waits(tournament, field, player)
    if own in (Why.VALIDATION, Why.FAILED_VALIDATION):
        return own
    others = [other for other in field.free if other != player]
    if not others:
        return Why.NOBODY
    if all(frozenset((player, other)) in never for other in others):
        return Why.FORBIDDEN
    return own or Why.NEXT
