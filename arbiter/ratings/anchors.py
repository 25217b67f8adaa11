"""Anchors: ratings that are given, which fix the scale, and what the games say about them.

`NAME` anchors every version of a player; `NAME@VERSION` anchors one version. An anchor that fits no player of a record
has no effect there. Two anchors that give one version different ratings are refused.

Several anchors can contradict the games: if one of two is wrong by 300 Elo, all other players are off by about half of
it. So each fixed player is compared with the games alone, in a fit without anchors that is shifted as a whole, such
that the mean of the fixed players is the mean of their anchors. Only differences have a meaning, so one fixed player
can't contradict anything. A player is CONTRADICTED if its anchor is more than three standard deviations away from what
the games say; where the anchors are right, that happens by chance to one player in 370.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from math import isfinite
from typing import Final

from arbiter.errors import argument_invalid
from arbiter.ratings.counts import VERSION_MARK, named
from arbiter.ratings.rating_results import AnchoredPlayer, Estimate

CONTRADICTED: Final = 3.0  #: standard deviations

ANCHOR_LIMIT: Final = 10_000.0
"""The largest anchor, up or down, in Elo: beyond it the arithmetic of a fit has no digits left."""

Anchors = Mapping[str, float]
"""Given ratings in Elo, by NAME or NAME@VERSION."""

_invalid: Final = partial(argument_invalid, of="an anchor")


def checked(anchors: Iterable[tuple[str, float]]) -> Anchors:
    """Return given ratings, in the order of their players.

    Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for an anchor without a name, one beyond ±10,000 Elo,
    and two that give one version different ratings.
    """
    found: dict[str, float] = {}
    for player, rating in sorted(anchors):
        name, version = named(player)
        if not name or (VERSION_MARK in player and not version):
            raise _invalid(player, "the player", "NAME, for all its versions, or NAME@VERSION")
        if not (isfinite(rating) and -ANCHOR_LIMIT <= rating <= ANCHOR_LIMIT):
            raise _invalid(rating, f"the rating of {player}", f"a number between ±{ANCHOR_LIMIT:g}")
        for there in (player, name):
            if found.get(there, rating) != rating:
                both = f"{there} = {found[there]:g} and {player} = {rating:g}"
                raise _invalid(both, "the anchors", "one rating for each version: leave one of these two out", of="")
        found[player] = rating
    return found


def fixed(anchors: Anchors, players: Iterable[str]) -> dict[str, float]:
    """Return the given ratings of the players of a record: each named as in counts."""
    keys = {player: _key(anchors, player) for player in players}
    return {player: anchors[key] for player, key in sorted(keys.items()) if key}


def compared(
    anchors: Anchors, players: Iterable[str], by_games: Mapping[str, tuple[Estimate, float]]
) -> tuple[AnchoredPlayer, ...]:
    """Return each anchor with each player that it fixes, and with what the games say; in order.

    An anchor without effect has one entry, whose player is ''. by_games: what the games say of the fixed players, if
    they are several, and how many standard deviations away their anchors are (`FittedRatings.shifted_to`).
    """
    found = []
    for player, rating in fixed(anchors, players).items():
        said, away = by_games.get(player, (None, 0.0))
        found.append(AnchoredPlayer(_key(anchors, player), player, rating, said, away > CONTRADICTED))
    idle = anchors.keys() - {each.anchor for each in found}
    return tuple(sorted([*found, *(AnchoredPlayer(anchor, "", anchors[anchor]) for anchor in idle)]))


def _key(anchors: Anchors, player: str) -> str:
    """Return the anchor of a player: that of its version, or that of its name; '' if it has none."""
    return next((key for key in (player, named(player)[0]) if key in anchors), "")
