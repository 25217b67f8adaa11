"""Adjudication by rule: ends a match before its game is over, by rules that were set when the match was created.

Every rule depends only on the record after a move, so that a reader can check it: the number of plies, the material as
the game counts it (`arbiter.games.contract.Facts.material`), and the comments that the bots sent with their moves.
Comments are encrypted until the end of the match (`arbiter.matches.comments`), but the arbiter has the key.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from arbiter.errors import Refusal, parameter_invalid
from arbiter.games.contract import AnyGame

EVEN = 500  #: the evaluation of a level game, in permille
MOST_PLIES = 1_000_000
MOST_STREAK = 10_000  #: maximum of successive plies that a rule may require


@dataclass(frozen=True, slots=True)
class AdjudicationRules:
    """When a match ends by rule. A rule whose first number is 0 is off.

    plies: after this many plies, including the opening, the match is a draw.
    material, material_plies: a player wins if it is ahead by at least `material` after each of `material_plies`
    successive plies.
    evaluation, evaluation_plies: a player wins if both bots have claimed for `evaluation_plies` successive plies that
    this player is better by at least `evaluation` (permille above an even 500).
    draw_plies, draw_evaluation, draw_from_ply: the match is a draw if both bots have claimed for `draw_plies`
    successive plies, from ply `draw_from_ply` on, that the game is level within `draw_evaluation` permille.
    """

    plies: int = 0
    material: int = 0
    material_plies: int = 0
    evaluation: int = 0
    evaluation_plies: int = 0
    draw_evaluation: int = 0
    draw_plies: int = 0
    draw_from_ply: int = 0

    def __bool__(self) -> bool:
        return any(dataclasses.astuple(self))

    def json(self) -> dict[str, Any]:
        """Return the rules as JSON values, without zeros."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value}


BOUNDS: Mapping[str, int] = {
    "plies": MOST_PLIES,
    "material": 1_000,
    "material_plies": MOST_STREAK,
    "evaluation": EVEN,
    "evaluation_plies": MOST_STREAK,
    "draw_evaluation": EVEN,
    "draw_plies": MOST_STREAK,
    "draw_from_ply": MOST_PLIES,
}
"""The greatest value of each number of the rules."""


def check(rules: AdjudicationRules, game: AnyGame) -> None:
    """Raise Refusal PARAMETER_INVALID for rules that are out of range, or that a game does not support."""
    for name, most in BOUNDS.items():
        if not 0 <= getattr(rules, name) <= most:
            raise _invalid(getattr(rules, name), name, f"0 to {most}")
    if bool(rules.material) != bool(rules.material_plies):
        raise _invalid(rules.material_plies, "material_plies", "at least 1 where material is given, else 0")
    if rules.material and not game.facts.material:
        raise _invalid(rules.material, "material", f"0 for {game.facts.id}, in which counting says nothing")
    for lead, plies in (("evaluation", "evaluation_plies"), ("draw_from_ply", "draw_plies")):
        if getattr(rules, plies) == 1 or (getattr(rules, lead) and not getattr(rules, plies)):
            raise _invalid(getattr(rules, plies), plies, f"at least 2, so that both bots have commented on {lead}")
    if rules.evaluation_plies and not rules.evaluation:
        raise _invalid(0, "evaluation", f"1 to {EVEN} where evaluation_plies is given")
    if rules.draw_evaluation and not rules.draw_plies:
        raise _invalid(0, "draw_plies", "at least 2 where draw_evaluation is given")


def _invalid(what: int, name: str, allowed: str) -> Refusal:
    return parameter_invalid(what, f"adjudication.{name}", allowed)


class Lead(NamedTuple):
    """The seat that is ahead in material by the required amount (0: none), and for how many successive plies."""

    seat: int = 0
    plies: int = 0


def lead_after(rules: AdjudicationRules, lead: Lead, game: AnyGame, position: Any) -> Lead:
    """Return who is ahead after another ply, which led to this position."""
    first, second = game.material(position)
    ahead = 1 if first - second >= rules.material else 2 if second - first >= rules.material else 0
    return Lead(ahead, lead.plies + 1 if ahead == lead.seat else 1) if ahead else Lead()


class ScoreClaim(NamedTuple):
    """A bot's claim with its move: seat, ply, and the score that it expects in permille (None: no claim)."""

    ply: int
    seat: int
    evaluation: int | None


def agreed_winner(rules: AdjudicationRules, said: Iterable[ScoreClaim]) -> int:
    """Return the seat that both bots have claimed to be winning for long enough, or 0.

    `said`: claims, the latest first.
    """
    seats: set[int] = set()
    winner = 0
    for number, (_, seat, evaluation) in enumerate(said if rules.evaluation_plies else (), 1):
        if evaluation is None:
            return 0
        better = seat if evaluation >= EVEN else 3 - seat
        winner = winner or better
        if better != winner or abs(evaluation - EVEN) < rules.evaluation:
            return 0
        seats.add(seat)
        if number >= rules.evaluation_plies and len(seats) == 2:
            return winner
    return 0


def agreed_level(rules: AdjudicationRules, said: Iterable[ScoreClaim]) -> bool:
    """Return whether both bots have claimed for long enough that the game is level.

    `said`: claims, the latest first.
    """
    seats: set[int] = set()
    for number, (ply, seat, evaluation) in enumerate(said if rules.draw_plies else (), 1):
        if evaluation is None or ply < rules.draw_from_ply or abs(evaluation - EVEN) > rules.draw_evaluation:
            return False
        seats.add(seat)
        if number >= rules.draw_plies and len(seats) == 2:
            return True
    return False
