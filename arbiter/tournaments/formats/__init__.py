"""The formats: who is to meet whom next. One module each; `of` finds the pairer of a specification."""

from __future__ import annotations

from typing import Final

from arbiter.tournaments.formats.arena import Arena
from arbiter.tournaments.formats.gauntlet import Gauntlet
from arbiter.tournaments.formats.knockout import Knockout
from arbiter.tournaments.formats.ladder import Ladder
from arbiter.tournaments.formats.pairer import Field, Pairer, Strength
from arbiter.tournaments.formats.round_robin import RoundRobin
from arbiter.tournaments.formats.swiss import Swiss
from arbiter.tournaments.formats.trial import Trial
from arbiter.tournaments.spec import Format, Spec

__all__ = ["Field", "Pairer", "Strength", "of"]

_PAIRERS: Final[dict[Format, Pairer]] = {
    Format.ROUND_ROBIN: RoundRobin(),
    Format.GAUNTLET: Gauntlet(),
    Format.SWISS: Swiss(),
    Format.KNOCKOUT: Knockout(),
    Format.ARENA: Arena(),
    Format.LADDER: Ladder(),
    Format.TRIAL: Trial(),
}


def of(spec: Spec) -> Pairer:
    """Return the pairer of a tournament's format."""
    return _PAIRERS[spec.format]
