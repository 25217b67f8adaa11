"""What the suspension of a player means for the tournaments that it plays in: they go on without it at once.

It is a correction like an organiser's, by the operator: disqualified from now on, its results stand, its games under
way are stopped. So nobody waits for it round by round. The end of the suspension takes it back; walkovers in between
stand, and the organiser can let such games be played again. Who had withdrawn, or was disqualified by an organiser,
stays so.
"""

from __future__ import annotations

from typing import Final

from arbiter.errors import Reason, Refusal
from arbiter.service.tournaments.registry import TournamentRegistry
from arbiter.tournaments.commands import Correct
from arbiter.tournaments.corrections import Correction, Disqualify, Reinstate
from arbiter.tournaments.tournament import Tournament

NOTE: Final = "suspended by the operator"


async def reach(tournaments: TournamentRegistry, operator: str, player: str, *, suspended: bool) -> None:
    """Let all tournaments that have not ended know that a player is suspended, or not any more.

    Raises Refusal as `TournamentRegistry.act`, except where a tournament has just ended or the player left it.
    """
    for tournament in list(tournaments.open()):
        what = _wanted(tournament, player, suspended=suspended)
        if what is None:
            continue
        request = f"{what.name} {tournament.revision} {player}"[:100]
        try:
            await tournaments.act(tournament.id, Correct(operator, request, what, NOTE))
        except Refusal as refusal:
            if refusal.reason is not Reason.TOURNAMENT_CLOSED:
                raise


def _wanted(tournament: Tournament, player: str, *, suspended: bool) -> Correction | None:
    entrant, out = tournament.entrants.get(player), tournament.disqualified.get(player)
    if suspended:
        return Disqualify(player) if entrant is not None and not entrant.withdrawn else None
    return Reinstate(player) if out is not None and out.note == NOTE else None
