"""The exceptions with which a situation ends if it does not pass."""

from __future__ import annotations


class Failed(Exception):
    """The bot violates the clause; the text says what it did, or did not do, instead."""


class NotApplicable(Exception):
    """The clause does not apply to this bot; the text says why, for example because it does not play such a game."""
