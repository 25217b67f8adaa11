"""Adjudication by rule: ends a match before its game is over, by rules that were set when the match was made.

Every rule looks at what stands in the record after a move, so that a reader can follow it: the number of plies, what
the game counts as material (`arbiter.games.contract.Facts.material`), and what the bots said with their moves. What
they say is sealed until the end (`arbiter.matches.comments`); the arbiter, which has the key, may look.
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
MOST_STREAK = 10_000  #: successive plies that a rule may ask for


@dataclass(frozen=True, slots=True)
class Rules:
    """When a match ends by rule; a rule whose first number is 0 is none.

    plies: a match of so many plies, with those of the opening, is a draw.
    material, material_plies: who is ahead by at least so much after each of so many successive plies wins.
    evaluation, evaluation_plies: once both bots have said of so many successive plies that the same one of them is
    better by at least so much (permille over an even 500), that one wins.
    draw_plies, draw_evaluation, draw_from_ply: once both have said of so many successive plies, from a ply on, that the
    game is level within so much, it is a draw.
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


def check(rules: Rules, game: AnyGame) -> None:
    """Raise Refusal PARAMETER_INVALID for rules that are out of bounds, or of no use in a game."""
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
    """Which seat is ahead in material by what the rules ask for, 0 for none, and after how many plies in a row."""

    seat: int = 0
    plies: int = 0


def lead_after(rules: Rules, lead: Lead, game: AnyGame, position: Any) -> Lead:
    """Return who is ahead after another ply, which led to a position."""
    first, second = game.material(position)
    ahead = 1 if first - second >= rules.material else 2 if second - first >= rules.material else 0
    return Lead(ahead, lead.plies + 1 if ahead == lead.seat else 1) if ahead else Lead()


class Said(NamedTuple):
    """What the bot of a seat said with its move at a ply: the score that it expects in permille, None for nothing."""

    ply: int
    seat: int
    evaluation: int | None


def agreed_winner(rules: Rules, said: Iterable[Said]) -> int:
    """Return the seat that both bots have said for long enough to be winning, or 0. `said`: the last move's first."""
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


def agreed_level(rules: Rules, said: Iterable[Said]) -> bool:
    """Say whether both bots have said for long enough that the game is level. `said`: the last move's first."""
    seats: set[int] = set()
    for number, (ply, seat, evaluation) in enumerate(said if rules.draw_plies else (), 1):
        if evaluation is None or ply < rules.draw_from_ply or abs(evaluation - EVEN) > rules.draw_evaluation:
            return False
        seats.add(seat)
        if number >= rules.draw_plies and len(seats) == 2:
            return True
    return False
