"""The rules of each format, written independently of the pairers. One module for each format."""

from __future__ import annotations

from typing import Final

from arbiter.tournaments.checks.arena import ArenaCheck
from arbiter.tournaments.checks.check import FormatCheck
from arbiter.tournaments.checks.gauntlet import GauntletCheck
from arbiter.tournaments.checks.knockout import KnockoutCheck
from arbiter.tournaments.checks.ladder import LadderCheck
from arbiter.tournaments.checks.round_robin import RoundRobinCheck
from arbiter.tournaments.checks.swiss import SwissCheck
from arbiter.tournaments.checks.teams import RoundRobinOfTeamsCheck, SwissOfTeamsCheck
from arbiter.tournaments.checks.trial import TrialCheck
from arbiter.tournaments.spec import Format, Spec

CHECKS: Final[dict[Format, FormatCheck]] = {
    Format.ROUND_ROBIN: RoundRobinCheck(),
    Format.GAUNTLET: GauntletCheck(),
    Format.SWISS: SwissCheck(),
    Format.KNOCKOUT: KnockoutCheck(),
    Format.ARENA: ArenaCheck(),
    Format.LADDER: LadderCheck(),
    Format.TRIAL: TrialCheck(),
}
OF_TEAMS: Final[dict[Format, FormatCheck]] = {
    Format.ROUND_ROBIN: RoundRobinOfTeamsCheck(),
    Format.SWISS: SwissOfTeamsCheck(),
}


def of(spec: Spec) -> FormatCheck:
    """Return the check of a tournament's format."""
    return OF_TEAMS[spec.format] if spec.boards else CHECKS[spec.format]
