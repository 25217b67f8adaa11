"""Groups of players: parts of a tournament's specification."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlayerGroup:
    """Players with a name for all of them."""

    name: str
    players: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlayerGroups:
    """Groups of players that the organiser names.

    categories: with standings of their own. authors: the bots of each author of several; a category too. apart: two
    bots of one author never meet. one_prize: only the best bot of an author has a place for the prizes.
    """

    categories: tuple[PlayerGroup, ...] = ()
    authors: tuple[PlayerGroup, ...] = ()
    apart: bool = False
    one_prize: bool = False
