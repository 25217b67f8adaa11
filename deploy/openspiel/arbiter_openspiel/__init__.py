"""The games of OpenSpiel for an Arbiter server, each by an entry point of its own (`arbiter_openspiel.table`)."""

from __future__ import annotations

from arbiter_openspiel.game import SpielGame, kind
from arbiter_openspiel.table import GAMES


def __getattr__(name: str) -> type[SpielGame]:
    """Return the class of a game, by OpenSpiel's name."""
    if name in GAMES:
        return kind(name)
    raise AttributeError(name)
