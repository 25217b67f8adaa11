"""Plug-ins that judge: programs of the operator's that end a tournament's game when they see who has won.

A plug-in is a function from a `Case` to an `AdjudicatedEnd`, or None to let the game go on. A Python package offers it
as an entry point of the group `arbiter.adjudicators`:

    [project.entry-points."arbiter.adjudicators"]
    first-to-ten = "my_package:judge"

    from arbiter.games import registry
    from arbiter.service.tournaments.adjudicators import AdjudicatedEnd, Case

    def judge(case: Case) -> AdjudicatedEnd | None:
        game = registry.game(case.game)
        first, second = game.material(game.parse(case.position))
        return AdjudicatedEnd(1 if first > second else 2, "ten ahead") if abs(first - second) >= 10 else None

Installed beside the arbiter it can be named in a tournament's specification (`adjudication.plugin`) after the next
start of the server. It is asked after the moves of the tournament's matches; while it thinks the match goes on, and the
next time it is asked about the newest move. It runs in a process of its own, with a few seconds for each case: what it
raises, or does not answer in time, is logged and ends nothing. Its verdict ends the match as an organiser's word does,
with reason `adjudicated` and a note that names the plug-in: a reader of the record can't work it out again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

LONGEST_WORDS: Final = 300  #: characters of a verdict's note


class Case(NamedTuple):
    """A match after a move.

    game: the variant. players: by seat. position: its text; turn: the seat to move. moves: all of them, the first
    `opening` of which nobody played; seats: who played each. evaluations: what the mover said with each move, in
    permille, None for nothing. remaining_ms: on both clocks.
    """

    match_id: str
    game: str
    players: tuple[str, str]
    position: str
    turn: int
    moves: tuple[str, ...]
    opening: int
    seats: tuple[int, ...]
    evaluations: tuple[int | None, ...]
    remaining_ms: tuple[int, int]


class AdjudicatedEnd(NamedTuple):
    """How a match ends: the seat that has won, or 0 for a draw, and why, in words for people."""

    winner: int
    note: str = ""


Adjudicator = Callable[[Case], AdjudicatedEnd | None]
"""A plug-in."""


class AdjudicatorFailed(Exception):
    """A plug-in gave no verdict: it is not there, raised something, or took too long; says what is known."""


class Adjudicators(Protocol):
    """The plug-ins that there are."""

    @property
    def names(self) -> frozenset[str]:
        """Their names."""

    async def judge(self, name: str, case: Case) -> AdjudicatedEnd | None:
        """Return what a plug-in says. Raises AdjudicatorFailed."""


class InProcessAdjudicators:
    """Asks plug-ins on the spot: where nobody minds waiting, as in a simulation."""

    def __init__(self, plugins: Mapping[str, Adjudicator]) -> None:
        self._plugins = plugins

    @property
    def names(self) -> frozenset[str]:
        """The names of the plug-ins."""
        return frozenset(self._plugins)

    async def judge(self, name: str, case: Case) -> AdjudicatedEnd | None:
        """Return what a plug-in says; see the port."""
        try:
            return checked(self._plugins[name](case))
        except Exception as error:
            raise AdjudicatorFailed(f"{name}: {error!r}") from error


def checked(verdict: object) -> AdjudicatedEnd | None:
    """Return a verdict as it can be carried out. Raises TypeError, ValueError for anything else."""
    if verdict is None:
        return None
    if not isinstance(verdict, AdjudicatedEnd):
        raise TypeError(f"expected an AdjudicatedEnd or None, found {verdict!r:.100}")
    winner, note = verdict
    if winner not in (0, 1, 2):
        raise ValueError(f"winner is {winner!r:.100}, expected 0, 1 or 2")
    words = "".join(letter if letter.isprintable() else " " for letter in str(note)[:LONGEST_WORDS])
    return AdjudicatedEnd(int(winner), words.strip())
