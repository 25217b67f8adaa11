"""The words in a drawing: whose move it is, how the game ended, and the numbers beside the board."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from arbiter.games.contract import AnyGame


class GameNumbers(NamedTuple):
    """The game's numbers, by what they count: those of each seat, and the others."""

    of_seats: tuple[Mapping[str, int], Mapping[str, int]]
    others: Mapping[str, int]


def state(game: AnyGame, position: Any) -> str:
    """Return whose move it is, or how the game ended: `Orca to move`, `Humpback wins: territory`, `a draw: length`."""
    if not game.installed:
        return "the rules are not installed here, so there is no board"
    outcome = position.outcome
    if outcome is None:
        claim, mover = game.claim(position), game.facts.seat_name(position.turn)
        return f"{mover} to {game.task(position)}" + (f", may claim a draw: {claim}" if claim else "")
    reason = outcome.reason.replace("_", " ")
    return f"{game.facts.seat_name(outcome.winner)} wins: {reason}" if outcome.winner else f"a draw: {reason}"


def start_name(game: AnyGame, start: str) -> str:
    """Return the name of a start position: with its number where tournaments draw one, `start position 534`."""
    starts = game.starts()
    return f"start position {starts.index(start)}" if start in starts else "start position"


def numbers(game: AnyGame, position: Any) -> str:
    """Return the game's counters in one line, or an empty text."""
    return " · ".join(f"{label}: {number}" for label, number in game.counters(position).items())


def counts(game: AnyGame, position: Any) -> GameNumbers:
    """Return the game's counters, those of a seat apart: their labels name it, as `Yellow eggs`, `eaten by seat 1`."""
    seats: tuple[dict[str, int], dict[str, int]] = {}, {}
    others: dict[str, int] = {}
    for words, count in game.counters(position).items():
        for seat, found in enumerate(seats, 1):
            if (rest := _without_seat(words, game.facts.seat_name(seat), f"seat {seat}")) is not None:
                found[rest] = count
                break
        else:
            others[words] = count
    return GameNumbers(seats, others)


def _without_seat(words: str, *names: str) -> str | None:
    for name in names:
        if words.startswith(f"{name} "):
            return words.removeprefix(f"{name} ")
        for link in (" by ", " of "):
            if words.endswith(link + name):
                return words.removesuffix(link + name)
    return None


def signs(game: AnyGame, position: Any) -> Iterator[tuple[str, str]]:
    """Yield what the texts on pieces mean, as (text, words): letters where pieces differ, signs of groups, threats."""
    letters = game.facts.letters or {}
    if len(letters) > 1:
        yield from letters.items()
    named = {region.sign: region.name for region in game.regions(position) if region.sign}
    yield from sorted(named.items(), key=lambda item: (len(item[0]), item[0]))


def sentence(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def cased(letter: str, owner: int) -> str:
    """Return a piece's letter in the case of its seat: upper for seat 1, lower for seat 2."""
    return letter.lower() if owner == 2 else letter.upper()
