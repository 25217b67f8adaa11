"""Circle of Life: every species is placed beside every species, to see which of them is eaten."""

from __future__ import annotations

from collections.abc import Iterator

from arbiter.games import registry
from arbiter.games.circle_of_life_species import SPECIES, critters
from tests.generators.transcripts import Dice

GAME = "circle-of-life"


def meals() -> Iterator[tuple[str, str, str, str]]:
    """Yield name, variant, position and move of turns in which a stone completes a critter beside one of the opponent.

    Each of the twelve species is completed beside each of the twelve, by both seats in turn, somewhere on the board.
    """
    board = registry.game(GAME).board
    table = critters(board)
    kinds = [sorted(mask for mask, critter in table.items() if critter.species == kind) for kind in range(len(SPECIES))]
    dice = Dice("meals")
    for eater, own_masks in enumerate(kinds):
        for food, other_masks in enumerate(kinds):
            own = other = 0
            while own & other or not table.get(own) or not table[own].reach & other:
                own, other = own_masks[dice.below(len(own_masks))], other_masks[dice.below(len(other_masks))]
            cells = [cell for cell in range(board.size) if own >> cell & 1]
            last = cells[dice.below(len(cells))]
            seat = 1 + (eater + food) % 2
            signs = ["." for _ in range(board.size)]
            for cell in range(board.size):
                if own >> cell & 1 and cell != last:
                    signs[cell] = "Ss"[seat - 1]
                elif other >> cell & 1:
                    signs[cell] = "sS"[seat - 1]
            rows = "/".join("".join(signs[cell] for cell in line) for line in board.lines)
            name = f"a {SPECIES[eater].name} beside a {SPECIES[food].name}"
            yield name, GAME, f"{rows} {seat} 0 0", board.names[last]
