"""Who plays in which division of a league: a function of the last season's standings and of the entries.

1. Whoever has withdrawn from its division, or is disqualified there, has left. Whoever has not played a game in
   `LeagueRules.missing` seasons in a row drops out.
2. All others are put in one order. Of two neighbouring divisions, first come the players of the upper one that stay,
   then those of the lower one that go up, then those of the upper one that go down, then those of the lower one that
   stay. `LeagueRules.move` of each go up and down, fewer if a division has become too small for that.
3. Newcomers come after all others, in the order in which they have asked.
4. The order is divided: `LeagueRules.size` players for each division, the rest for the last one. So a place that has
   become free is filled from below, first by whoever would have gone down. A last division that could not play joins
   the one above it.

In the first season all are newcomers, in the order of their ratings for seeding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from arbiter.tournaments.league_rules import LeagueRules


class Move(StrEnum):
    """What has happened to a player between two seasons."""

    PROMOTED = "promoted"
    RELEGATED = "relegated"
    ENTERED = "entered"
    LEFT = "left"
    DROPPED_OUT = "dropped out"


class Member(NamedTuple):
    """A player of a division that has ended.

    away: it has withdrawn, or is disqualified. missed: seasons in a row, up to this one, in which it played no game.
    """

    player: str
    away: bool = False
    missed: int = 0


class Placement(NamedTuple):
    """The players of each division that is played, the highest first, and the players by their moves."""

    divisions: tuple[tuple[str, ...], ...]
    moves: Mapping[str, tuple[str, ...]]


def place(rules: LeagueRules, last: Sequence[Sequence[Member]], asked: Sequence[str], least: int) -> Placement:
    """Return who plays in which division.

    last: the divisions of the last season in the order of their standings. asked: who has entered the coming season,
    members or not. least: how many players a division needs.
    """
    moves: dict[str, list[str]] = {each.value: [] for each in Move}
    staying: list[list[str]] = []
    for division in last:
        staying.append([])
        for member in division:
            if member.away:
                moves[Move.LEFT].append(member.player)
            elif rules.missing and member.missed >= rules.missing:
                moves[Move.DROPPED_OUT].append(member.player)
            else:
                staying[-1].append(member.player)
    before = {player: number for number, division in enumerate(staying) for player in division}
    moves[Move.ENTERED] = [player for player in asked if player not in before]
    divisions = _divided([*_ordered(staying, rules.move), *moves[Move.ENTERED]], rules, least)
    for number, players in enumerate(divisions):
        for player in players:
            if before.get(player, number) != number:
                moves[Move.PROMOTED if number < before[player] else Move.RELEGATED].append(player)
    return Placement(tuple(map(tuple, divisions)), {name: tuple(players) for name, players in moves.items() if players})


def _ordered(divisions: Sequence[list[str]], move: int) -> list[str]:
    """Return the players of all divisions in one order, in which those that go up stand before those that go down."""
    up = [min(move, len(players) // 2) if number else 0 for number, players in enumerate(divisions)]
    found: list[str] = []
    for number, players in enumerate(divisions):
        is_last = number + 1 == len(divisions)
        stay = len(players) if is_last else len(players) - min(move, len(players) - up[number])
        found += players[up[number] : stay]
        if not is_last:
            found += divisions[number + 1][: up[number + 1]]
        found += players[stay:]
    return found


def _divided(order: list[str], rules: LeagueRules, least: int) -> list[list[str]]:
    last = len(rules.divisions) - 1
    found = [order[number * rules.size : (number + 1) * rules.size] for number in range(last)]
    found = [players for players in (*found, order[last * rules.size :]) if players]
    if len(found) > 1 and len(found[-1]) < least:
        few = found.pop()
        found[-1] += few
    return found


def in_words(moves: Mapping[str, Sequence[str]]) -> str:
    """Return the moves between two seasons: `promoted: ann, ben; dropped out: cat`."""
    said = "; ".join(f"{name}: {', '.join(moves[name])}" for name in Move if moves.get(name))
    return said or "nobody has moved"
