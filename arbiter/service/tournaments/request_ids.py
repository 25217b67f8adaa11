"""The request ids under which the tournaments of a series, and of a season of a league, are created and found."""

from __future__ import annotations

from typing import Final

from arbiter.service.lookup import findable
from arbiter.service.ports.journal import Journal, TournamentSummary
from arbiter.tournaments.tournament import Tournament

NEXT: Final = "next after "  #: the request ids of later tournaments of a series begin with it
DIVISION: Final = "division {} of {}"  #: of a lower division: its number, and the id of the highest one's tournament


async def before(journal: Journal, row: TournamentSummary) -> TournamentSummary | None:
    """Return the tournament before another one of its series, None if that is the first one."""
    name = row.request_id.removeprefix(NEXT)
    if name == row.request_id or not findable(name):
        return None
    earlier = await journal.tournament_summary(name)
    return earlier if earlier is not None and earlier.creator == row.creator else None


async def lower_divisions(journal: Journal, first: Tournament) -> list[TournamentSummary]:
    """Return the tournaments of the lower divisions in a season. first: that of the highest one."""
    found: list[TournamentSummary] = []
    for number in range(1, len(first.spec.league.divisions)):
        row = await journal.tournament_of_request(first.created.creator, DIVISION.format(number, first.id))
        if row is not None:
            found.append(row)
    return found
