"""Adjudicator plug-ins: code of the operator that ends a tournament's match when its result is clear.

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

Install it beside the arbiter and restart the server. Then a tournament's specification can name it
(`adjudication.plugin`). The arbiter calls it after the moves of the tournament's matches. The match goes on during the
call, and the next call is about the newest move. A plug-in runs in a process of its own, with a few seconds for each
case. If it raises an error or takes too long, this is logged, and the match goes on. Its verdict ends the match like an
organiser's adjudication, with reason `adjudicated` and a note that names the plug-in. A reader of the record can't
check it, because the record does not contain the plug-in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from arbiter.plain_text import plain

LONGEST_WORDS: Final = 300  #: characters of a verdict's note


class Case(NamedTuple):
    """A match after a move.

    game: the variant. players: by seat. position: its text. turn: the seat to move. moves: all of them; the first
    `opening` of them were not played by the players. seats: who played each move. evaluations: the mover's evaluation
    with each move, in permille, None for none. remaining_ms: on both clocks.
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
    """The end of a match: the seat that has won, or 0 for a draw. note: the reason, for people."""

    winner: int
    note: str = ""


Adjudicator = Callable[[Case], AdjudicatedEnd | None]
"""A plug-in."""


class AdjudicatorFailed(Exception):
    """A plug-in gave no verdict: it is missing, raised an error, or took too long. The message says which."""


class Adjudicators(Protocol):
    """The installed plug-ins."""

    @property
    def names(self) -> frozenset[str]:
        """Their names."""

    async def judge(self, name: str, case: Case) -> AdjudicatedEnd | None:
        """Return a plug-in's verdict, None if the match shall go on. Raises AdjudicatorFailed."""


class InProcessAdjudicators:
    """Calls plug-ins in the current process, where waiting does no harm, as in a simulation."""

    def __init__(self, plugins: Mapping[str, Adjudicator]) -> None:
        self._plugins = plugins

    @property
    def names(self) -> frozenset[str]:
        """The names of the plug-ins."""
        return frozenset(self._plugins)

    async def judge(self, name: str, case: Case) -> AdjudicatedEnd | None:
        try:
            return checked(self._plugins[name](case))
        except Exception as error:
            raise AdjudicatorFailed(f"{name}: {error!r}") from error


def checked(verdict: object) -> AdjudicatedEnd | None:
    """Return a plug-in's verdict if it is valid. Raises TypeError, ValueError otherwise."""
    if verdict is None:
        return None
    if not isinstance(verdict, AdjudicatedEnd):
        raise TypeError(f"expected an AdjudicatedEnd or None, found {verdict!r:.100}")
    winner, note = verdict
    if winner not in (0, 1, 2):
        raise ValueError(f"winner is {winner!r:.100}, expected 0, 1 or 2")
    return AdjudicatedEnd(int(winner), plain(str(note).strip())[:LONGEST_WORDS])
