"""The table of OpenSpiel's games: those that are here, with their parameters, and those that are left out, with why.

`python -m arbiter_openspiel.listing` writes it as Markdown, and tries the laws of the arbiter's test kit on each game:
some minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from random import Random

import pyspiel

from arbiter.games import registry
from arbiter.games.contract import AnyGame, value_text
from arbiter.testing import laws
from arbiter_openspiel.game import PREFIX
from arbiter_openspiel.table import GAMES, LEFT_OUT


def of_the_kind() -> list[str]:
    """Return the sequential, deterministic games of two players with perfect information, by OpenSpiel's names."""
    kinds = pyspiel.GameType
    return sorted(
        game.short_name
        for game in pyspiel.registered_games()
        if game.dynamics == kinds.Dynamics.SEQUENTIAL
        and game.chance_mode == kinds.ChanceMode.DETERMINISTIC
        and game.information == kinds.Information.PERFECT_INFORMATION
        and game.min_num_players <= 2 <= game.max_num_players
    )


def rows(check: Callable[[AnyGame], None]) -> Iterator[tuple[str, str, str]]:
    """Yield each game of the kind: its name, its parameters with their bounds, and why it is left out, '' if it is not.

    check: raises AssertionError for a game that breaks a law.
    """
    for name in of_the_kind():
        if name not in GAMES:
            yield name, "", LEFT_OUT.get(name, "it is new: no row of the table describes it")
            continue
        game = registry.game(PREFIX + name)
        parameters = (f"{each.name}={value_text(each.default)} ({each.allowed})" for each in game.facts.parameters)
        try:
            check(game)
        except AssertionError as broken:
            yield name, ", ".join(parameters), f"it breaks a law: {str(broken).partition(chr(10))[0]}"
        else:
            yield name, ", ".join(parameters), ""


def main() -> None:
    """Write the table."""
    sys.stdout.write("| game | parameters | left out because |\n| -- | -- | -- |\n")
    for row in rows(lambda game: laws.check(game, Random(1).randrange)):
        sys.stdout.write(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
