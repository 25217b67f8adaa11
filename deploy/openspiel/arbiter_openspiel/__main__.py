"""Print `deploy/OPENSPIEL.md`: the games with their parameters and bounds, and those that are left out."""

from __future__ import annotations

import sys
from importlib.metadata import version

from arbiter.games.contract import Parameter, value_text
from arbiter_openspiel.game import PREFIX, kind
from arbiter_openspiel.table import GAMES, LEFT_OUT

HEAD = """\
# Games of OpenSpiel

`pip install 'game-arbiter[openspiel]'` adds these games, with the rules of
[OpenSpiel](https://openspiel.readthedocs.io) VERSION (Apache-2.0). They are each sequential, deterministic game of two
players with perfect information that it lists, but those at the end. `python -m arbiter_openspiel` prints this page.

- A move is OpenSpiel's text of an action as one word: blanks are `_`, and the sign of the player is left out.
- A position is the seat to move and the line of OpenSpiel's actions, each a number to the base 36 with two or three
  digits, or `-` at the start. `arbiter rules show GAME` has the line of Python that plays it in `pyspiel`.
- Seat 1 moves first. Where a game has a turn of several moves, the same seat is to move again.
- OpenSpiel does not say why a game is over, so the reasons are `won` and `drawn`; `move_limit` is a draw after as many
  moves as OpenSpiel allows, where its rules go on.
- A game whose pieces stand on squares or points has a board; the terminal shows OpenSpiel's own text of the others.
- The laws of the arbiter's test kit hold for each game and each bound of its parameters. Random games of all variants
  of a game, mixed in one process, run through. A parameter for which they do not is missing here: two sizes of
  Havannah, TwixT or Y in one process end it, some sizes of checkers have positions without a move and without an end,
  and Go with a handicap works on one board only.

| game | players | parameters | board |
| -- | -- | -- | -- |
"""

TAIL = """
These are left out:

| OpenSpiel's name | why |
| -- | -- |
"""


def _parameter(parameter: Parameter) -> str:
    allowed = parameter.allowed.partition(",")[0]
    return f"`{parameter.name}`: {parameter.text} ({allowed}; {value_text(parameter.default)})"


def page() -> str:
    """Return the page as Markdown. A parameter has its bounds and its default in brackets."""
    text = HEAD.replace("VERSION", version("open-spiel"))
    for name, row in GAMES.items():
        parameters = "<br>".join(map(_parameter, kind(name).facts.parameters))
        text += f"| `{PREFIX}{name}` | {', '.join(row.seats)} | {parameters} | {'yes' if row.grid else ''} |\n"
    text += TAIL
    return text + "".join(f"| `{name}` | {why} |\n" for name, why in LEFT_OUT.items())


if __name__ == "__main__":
    sys.stdout.write(page())
