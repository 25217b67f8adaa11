"""The calls that show series of tournaments, for every API."""

from __future__ import annotations

from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.rights import Action
from arbiter.service.tournaments.series_tables import Series, SeriesTables


class SeriesGate:
    """The calls about series. Each raises what `Admission.caller` raises, and what its own docstring says."""

    def __init__(self, admission: Admission, tables: SeriesTables) -> None:
        self._admission = admission
        self._tables = tables

    async def get(self, call: Call, tournament_id: str) -> Series:
        """Return the table over a series after one of its tournaments. Raises Refusal TOURNAMENT_NOT_FOUND."""
        caller = await self._admission.caller(call, Action.GET_SERIES)
        async with self._admission.turn(caller):
            found = await self._tables.of(tournament_id)
            self._admission.charge(caller, sum(len(row.results) for row in found.rows) + len(found.tournaments))
        return found
