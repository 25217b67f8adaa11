"""The words in a drawing: whose move it is, how the game ended, and the numbers beside the board."""

from __future__ import annotations

from typing import Any

from arbiter.games.contract import AnyGame


def state(game: AnyGame, position: Any) -> str:
    """Return whose move it is, or how the game ended: `Orca to move`, `Humpback wins: territory`, `a draw: length`."""
    outcome = position.outcome
    if outcome is None:
        claim = game.claim(position)
        return f"{game.facts.seat_name(position.turn)} to move" + (f", may claim a draw: {claim}" if claim else "")
    reason = outcome.reason.replace("_", " ")
    return f"{game.facts.seat_name(outcome.winner)} wins: {reason}" if outcome.winner else f"a draw: {reason}"


def numbers(game: AnyGame, position: Any) -> str:
    """Return the game's counters in one line, or an empty text."""
    return " · ".join(f"{label}: {number}" for label, number in game.counters(position).items())


def sentence(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def cased(letter: str, owner: int) -> str:
    """Return a piece's letter in the case of its seat: upper for seat 1, lower for seat 2."""
    return letter.lower() if owner == 2 else letter.upper()
