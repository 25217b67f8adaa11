"""The openings of games: random plies from a recorded seed, or lines from a list. Anyone can reproduce them."""

from __future__ import annotations

from typing import Final

from arbiter.games import registry
from arbiter.tournaments.lots import Lots
from arbiter.tournaments.spec import Openings

#: tries for a line that does not end the game; after them the game starts at its initial position
MOST_TRIES: Final = 100


def opening(openings: Openings, game: str, number: int) -> tuple[str, ...]:
    """Return the first moves of a meeting's games, by the meeting's number from 0; () for the initial position.

    Both games of a pair belong to one meeting, so they start alike. Lines are used in turn. Random plies: each move is
    drawn from the legal moves in bytewise order; if a line ends the game, another one is drawn. The seed of try t is
    "SEED/GAME/NUMBER/t". Raises Refusal as the registry of games does.
    """
    lines = openings.lines.get(game)
    if lines:
        return lines[number % len(lines)]
    if not openings.plies:
        return ()
    rules = registry.game(game)
    for attempt in range(MOST_TRIES):
        lots = Lots(f"{openings.seed}/{game}/{number}/{attempt}")
        position = rules.initial()
        moves: list[str] = []
        while len(moves) < openings.plies and position.outcome is None:
            moves.append(lots.one_of(sorted(rules.moves(position))))
            position = rules.play(position, moves[-1])
        if position.outcome is None:
            return tuple(moves)
    return ()


def different(openings: Openings, game: str, most: int) -> int:
    """Return how many different openings the games of a variant can have; `most` if there are as many or more.

    Raises Refusal as the registry of games does.
    """
    lines = openings.lines.get(game)
    if lines:
        return min(most, len(set(lines)))
    rules = registry.game(game)
    open_lines = [(rules.initial(), 0)]
    found = 0
    while open_lines and found < most:
        position, plies = open_lines.pop()
        if position.outcome is not None:
            continue
        if plies == openings.plies:
            found += 1
        else:
            open_lines += [(rules.play(position, move), plies + 1) for move in rules.moves(position)]
    return max(1, found)
