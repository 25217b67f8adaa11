"""The formats decide who meets whom next. One module for each; `of` returns the pairer of a specification."""

from __future__ import annotations

from typing import Final

from arbiter.tournaments.formats.arena import Arena
from arbiter.tournaments.formats.gauntlet import Gauntlet
from arbiter.tournaments.formats.knockout import Knockout
from arbiter.tournaments.formats.ladder import Ladder, Shares
from arbiter.tournaments.formats.pairer import FreePlayers, Pairer, Rating, Strength
from arbiter.tournaments.formats.round_robin import RoundRobin
from arbiter.tournaments.formats.swiss import Swiss
from arbiter.tournaments.formats.teams import RoundRobinOfTeams, SwissOfTeams
from arbiter.tournaments.formats.trial import Trial
from arbiter.tournaments.spec import Format, Spec, TieBreak

__all__ = [
    "OF_TEAMS",
    "PAIRERS",
    "FreePlayers",
    "Pairer",
    "Rating",
    "Shares",
    "Strength",
    "of",
    "pairer_of",
    "tie_breaks",
]

PAIRERS: Final[dict[Format, Pairer]] = {
    Format.ROUND_ROBIN: RoundRobin(),
    Format.GAUNTLET: Gauntlet(),
    Format.SWISS: Swiss(),
    Format.KNOCKOUT: Knockout(),
    Format.ARENA: Arena(),
    Format.LADDER: Ladder(),
    Format.TRIAL: Trial(),
}
OF_TEAMS: Final[dict[Format, Pairer]] = {Format.ROUND_ROBIN: RoundRobinOfTeams(), Format.SWISS: SwissOfTeams()}
"""The formats that a tournament of teams can have."""


def of(spec: Spec) -> Pairer:
    """Return the pairer of a tournament's format."""
    return pairer_of(spec.format, spec.boards)


def pairer_of(format_: Format, boards: int) -> Pairer:
    """Return the pairer of a format: that of teams if these have boards, and the format can be one of teams."""
    return OF_TEAMS[format_] if boards and format_ in OF_TEAMS else PAIRERS[format_]


def tie_breaks(spec: Spec) -> tuple[TieBreak, ...]:
    """Return a tournament's tie-breaks in order: those of its specification, or the format's defaults."""
    return spec.tie_breaks or of(spec).tie_breaks
