"""Pairing in a process of its own: however long a round takes to draw, the event loop goes on."""

from __future__ import annotations

import asyncio
import pickle
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from arbiter.runtime.rules_worker import frame
from arbiter.runtime.worker import Worker
from arbiter.service.ports import Journal, Tally
from arbiter.service.tournament_ports import PairingFailed
from arbiter.service.undivided import Undivided
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats import Field, Strength
from arbiter.tournaments.openings import opening
from arbiter.tournaments.spec import Openings
from arbiter.tournaments.tournament import Tournament

KEPT: Final = 8  #: tournaments that the process keeps in memory
LONGEST_S: Final = 600.0  #: a job that takes longer never ends


class PairingProcess:
    """A worker process behind the port `arbiter.service.tournament_ports.Pairing`.

    It is started with the first job, and anew after it has died. Jobs are done one after the other. The worker follows
    the tournaments by their records, so that a job costs no more to send than what is new.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._worker: Worker | None = None
        self._revisions: OrderedDict[str, int] = OrderedDict()  # of what the worker keeps
        self._turn = asyncio.Lock()
        self._undivided = Undivided()  # an exchange that is left in the middle would answer the next one
        self._closed = False

    async def close(self) -> None:
        """Stop the worker; jobs under way fail."""
        self._closed = True
        await self._dismiss()

    async def propose(self, tournament: Tournament, field: Field) -> Arrange | None:
        """Return what a tournament's format proposes; see the port. Raises StoreFailed too."""
        proposal: Arrange | None = await self._undivided.run(self._propose(tournament.id, field))
        return proposal

    async def strengths(self, tallies: Sequence[Tally]) -> Mapping[str, Strength]:
        """Return what a record says of the strengths of its players; see the port."""
        found: Mapping[str, Strength] = await self._undivided.run(self._ask("strengths", (tuple(tallies),)))
        return found

    async def opening(self, openings: Openings, game: str, number: int) -> tuple[str, ...]:
        """Return the opening of a meeting's games; see the port."""
        if not openings.plies:
            return opening(openings, game, number)  # a line from a list takes no time
        moves: tuple[str, ...] = await self._undivided.run(self._ask("opening", (openings, game, number)))
        return moves

    async def _propose(self, tournament: str, field: Field) -> Any:
        async with self._turn:
            await self._ready()
            known = self._revisions.pop(tournament, 0)
            records = await self._journal.read(tournament, known)
            forget = [self._revisions.popitem(last=False)[0] for _ in range(len(self._revisions) - KEPT + 1)]
            if not known:
                forget.append(tournament)  # what it had of it when a job failed
            self._revisions[tournament] = known + len(records)
            return await self._exchange("propose", (tournament, [record.body for record in records], field, forget))

    async def _ask(self, kind: str, arguments: tuple[Any, ...]) -> Any:
        async with self._turn:
            await self._ready()
            return await self._exchange(kind, arguments)

    async def _ready(self) -> None:
        """Have a worker that takes jobs. Raises PairingFailed."""
        if self._closed:
            raise PairingFailed("the server is stopping")
        if self._worker is not None and self._worker.gone:
            await self._dismiss()
        try:
            if self._worker is None:
                self._worker = await Worker.start("arbiter.runtime.pairing_worker")
            await self._worker.ready()
        except (OSError, EOFError, TimeoutError) as error:
            await self._dismiss()
            raise PairingFailed(f"no process to pair in could be started ({error!r})") from None

    async def _exchange(self, kind: str, arguments: tuple[Any, ...]) -> Any:
        assert self._worker is not None
        try:
            async with asyncio.timeout(LONGEST_S):
                [body] = await self._worker.exchange(frame((kind, arguments), last=True))
        except (OSError, EOFError, TimeoutError) as error:
            await self._dismiss()
            raise PairingFailed(f"the process that pairs gave no answer ({error!r})") from None
        said, value = pickle.loads(body)
        if said == "failed":
            self._revisions.clear()  # who knows what it has made of them
            raise PairingFailed(f"the process that pairs failed:\n{value}")
        return value

    async def _dismiss(self) -> None:
        worker, self._worker = self._worker, None
        self._revisions.clear()
        if worker is not None:
            await worker.end()
