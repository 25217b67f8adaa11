"""What the tournaments of a player do when it is suspended, retires or is deleted: they go on without it at once.

A suspension is a correction like an organiser's, by the operator: disqualified from now on, its results stand, its
games under way are stopped. So nobody waits for it round by round. The end of the suspension takes it back; walkovers
in between stand, and the organiser can let such games be played again. A player that had withdrawn, or was disqualified
by an organiser, stays so. A player that retires or is deleted is withdrawn.
"""

from __future__ import annotations

from typing import Final

from arbiter.errors import Reason, Refusal
from arbiter.service.tournaments.tournament_registry import TournamentRegistry
from arbiter.tournaments.commands import Correct, Withdraw
from arbiter.tournaments.corrections import Correction, Disqualify, Reinstate
from arbiter.tournaments.tournament import Tournament

NOTE: Final = "suspended by the operator"
LEAVES: Final = "leaves at revision "  #: request ids of withdrawals of players who retire or are deleted begin with it


async def follow_suspension(tournaments: TournamentRegistry, operator: str, player: str, *, suspended: bool) -> None:
    """Let all tournaments that have not ended know that a player is suspended, or not any more.

    Raises Refusal as `TournamentRegistry.act`, except where a tournament has just ended or the player left it.
    """
    for tournament in list(tournaments.open()):
        what = _correction(tournament, player, suspended=suspended)
        if what is not None:
            request = f"{what.name} {tournament.revision} {player}"[:100]
            await _act(tournaments, tournament, Correct(operator, request, what, NOTE))


async def withdraw_everywhere(tournaments: TournamentRegistry, player: str) -> None:
    """Withdraw a player from all tournaments that have not ended. Raises as `follow_suspension`."""
    for tournament in list(tournaments.open()):
        if _is_in(tournament, player):
            await _act(tournaments, tournament, Withdraw(player, player, f"{LEAVES}{tournament.revision}"))


async def _act(tournaments: TournamentRegistry, tournament: Tournament, command: Correct | Withdraw) -> None:
    try:
        await tournaments.act(tournament.id, command)
    except Refusal as refusal:
        if refusal.reason is not Reason.TOURNAMENT_CLOSED:
            raise


def _is_in(tournament: Tournament, player: str) -> bool:
    entrant = tournament.entrants.get(player)
    return entrant is not None and not entrant.withdrawn


def _correction(tournament: Tournament, player: str, *, suspended: bool) -> Correction | None:
    if suspended:
        return Disqualify(player) if _is_in(tournament, player) else None
    out = tournament.disqualified.get(player)
    return Reinstate(player) if out is not None and out.note == NOTE else None
