"""How a situation ends that does not end well."""

from __future__ import annotations


class Failed(Exception):
    """The bot did not do what the clause asks; the text says what it did, or did not do, instead."""


class NotApplicable(Exception):
    """The clause asks nothing of this bot; the text says why, for example because it does not play such a game."""
