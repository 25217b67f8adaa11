"""A worker process for tournaments: `python -m arbiter.runtime.pairing_worker`.

It reads jobs from standard input and writes answers to standard output, in frames as `arbiter.runtime.rules_worker`. A
job is (kind, arguments); its answer is one frame: ("done", value) or ("failed", traceback). It keeps the tournaments
that it pairs, and is told of each only what has happened since the last time. At the end of its input it leaves.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from arbiter.runtime.rules_worker import HEAD, frame
from arbiter.service.ports import Tally
from arbiter.service.tournament_log import Chain
from arbiter.service.tournament_ports import strengths_of
from arbiter.tournaments import formats
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.openings import opening
from arbiter.tournaments.spec import Openings
from arbiter.tournaments.tournament import Tournament, replay

NICE = 5  #: live matches come first


class Desk:
    """What a worker knows and does."""

    def __init__(self) -> None:
        self._tournaments: dict[str, tuple[Tournament, Chain]] = {}

    def propose(
        self, tournament: str, bodies: Sequence[bytes], field: formats.Field, forget: Iterable[str]
    ) -> Arrange | None:
        """Return what a tournament's format proposes after more of its records; some others are over."""
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

    def strengths(self, tallies: Sequence[Tally]) -> Mapping[str, formats.Strength]:
        """Return what a record says of its players' strengths."""
        return strengths_of(tallies)

    def opening(self, openings: Openings, game: str, number: int) -> tuple[str, ...]:
        """Return the opening of a meeting's games."""
        return opening(openings, game, number)


def answer(desk: Desk, kind: str, arguments: tuple[Any, ...]) -> bytes:
    """Return the frame that answers a job."""
    jobs: dict[str, Callable[..., object]] = {
        "propose": desk.propose,
        "strengths": desk.strengths,
        "opening": desk.opening,
    }
    try:
        return frame(("done", jobs[kind](*arguments)), last=True)
    except Exception:
        return frame(("failed", traceback.format_exc(limit=-8)), last=True)


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Say that jobs are taken, and answer them until their stream ends."""
    desk = Desk()
    answers.write(frame(("done", None), last=True))
    answers.flush()
    while head := jobs.read(HEAD.size):
        _, length = HEAD.unpack(head)
        answers.write(answer(desk, *pickle.loads(jobs.read(length))))
        answers.flush()


def main() -> None:
    """Serve on standard input and output, at a lower priority."""
    os.nice(NICE)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a game prints must not get between the answers
    with suppress(BrokenPipeError):  # whoever asked is gone
        serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
