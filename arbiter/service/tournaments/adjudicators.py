"""Adjudicators outside of the arbiter: plug-ins and Syzygy tables. They end a tournament's match whose result is clear.

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
NO_TABLES: Final = "this server has no Syzygy tables: its setting `syzygy` names no folder"


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

Tables = Callable[[str, bool], AdjudicatedEnd | None]
"""Syzygy tables; see `Adjudicators.by_tables`."""


class AdjudicatorFailed(Exception):
    """A plug-in gave no verdict: it is missing, raised an error, or took too long. The message says which."""


class Adjudicators(Protocol):
    """The installed plug-ins, and the Syzygy tables of the server."""

    @property
    def names(self) -> frozenset[str]:
        """The names of the plug-ins."""

    @property
    def has_tables(self) -> bool:
        """Whether there are tables."""

    async def judge(self, name: str, case: Case) -> AdjudicatedEnd | None:
        """Return a plug-in's verdict, None if the match shall go on. Raises AdjudicatorFailed."""

    async def by_tables(self, position: str, ignore_50: bool) -> AdjudicatedEnd | None:
        """Return the verdict of the tables on a position of chess, None if they have none. Raises AdjudicatorFailed.

        A win counts only directly after a capture or pawn move, when nobody has come nearer to a draw by the 50-move
        rule, and only if that rule does not turn it into a draw. ignore_50: any win counts.
        """


class InProcessAdjudicators:
    """Calls plug-ins in the current process, where waiting does no harm, as in a simulation. tables: in `by_tables`."""

    def __init__(self, plugins: Mapping[str, Adjudicator], tables: Tables | None = None) -> None:
        self._plugins = plugins
        self._tables = tables

    @property
    def names(self) -> frozenset[str]:
        """The names of the plug-ins."""
        return frozenset(self._plugins)

    @property
    def has_tables(self) -> bool:
        """Whether there are tables."""
        return self._tables is not None

    async def judge(self, name: str, case: Case) -> AdjudicatedEnd | None:
        try:
            return checked(self._plugins[name](case))
        except Exception as error:
            raise AdjudicatorFailed(f"{name}: {error!r}") from error

    async def by_tables(self, position: str, ignore_50: bool) -> AdjudicatedEnd | None:
        if self._tables is None:
            raise AdjudicatorFailed(NO_TABLES)
        return self._tables(position, ignore_50)


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
