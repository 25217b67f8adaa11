"""A worker process for tournaments: `python -m arbiter.workers.pairing_worker`; see `arbiter.workers.jobs`.

It keeps the state of the tournaments that it pairs. Each job brings only the records since the job before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arbiter.service.record.tournaments import Chain
from arbiter.tournaments import formats
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.openings import Turn, opening
from arbiter.tournaments.spec import Openings
from arbiter.tournaments.tournament import Tournament, replay
from arbiter.workers.jobs import Jobs, work


class PairingJobs:
    """The worker's state and its jobs."""

    def __init__(self) -> None:
        self._tournaments: dict[str, tuple[Tournament, Chain]] = {}

    def propose(
        self, tournament: str, bodies: Sequence[bytes], field: formats.FreePlayers, forget: Iterable[str]
    ) -> Arrange | None:
        """Add new records to a tournament, return what its format proposes, and forget other tournaments."""
        for each in forget:
            self._tournaments.pop(each, None)
        known = self._tournaments.pop(tournament, None)
        if known is None:
            chain = Chain(tournament)
            followed = replay(chain.follow(bodies))
        else:
            followed, chain = known
            for event in chain.follow(bodies):
                followed.apply(event)
        self._tournaments[tournament] = followed, chain
        return formats.of(followed.spec).propose(followed, field)

    def opening(self, openings: Openings, game: str, turn: Turn) -> tuple[str, ...]:
        """Return the opening of a meeting's games."""
        return opening(openings, game, turn)

    @property
    def jobs(self) -> Jobs:
        """Return the job handlers, by kind."""
        return {"propose": self.propose, "opening": self.opening}


if __name__ == "__main__":
    work(PairingJobs().jobs)
