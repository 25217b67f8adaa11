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
[OpenSpiel](https://openspiel.readthedocs.io) VERSION (Apache-2.0): each sequential, deterministic game of two players
with perfect information that it lists, but those at the end. `arbiter games GAME` says what the parameters mean.
`python -m arbiter_openspiel` prints this page.

- A move is OpenSpiel's text of an action as one word: blanks are `_`, and the sign of the player is left out.
- A position is the seat to move and the line of OpenSpiel's actions, each a number to the base 36 with two or three
  digits, or `-` at the start. `arbiter rules show GAME` has the line of Python that plays it in `pyspiel`.
- Seat 1 moves first. Where a game has a turn of several moves, the same seat is to move again.
- The reasons for an end are `won`, `drawn`, and `move_limit`: a draw after as many moves as OpenSpiel allows.
- A game whose pieces stand on squares or points has a board; the terminal shows OpenSpiel's own text of the others.
- A parameter with which a game breaks the laws of the arbiter's test kit, or ends the process, is missing here: sizes
  of Havannah, TwixT, Y and checkers, and the handicap of Go.

| game | players | parameters | board |
| -- | -- | -- | -- |
"""

TAIL = """
These are left out:

| OpenSpiel's name | why |
| -- | -- |
"""


def _parameter(parameter: Parameter) -> str:
    allowed = parameter.allowed.partition(",")[0].removeprefix("a number from ")
    return f"`{parameter.name}`: {allowed} ({value_text(parameter.default)})"


def page() -> str:
    """Return the page as Markdown. A parameter has its bounds, and its default in brackets."""
    text = HEAD.replace("VERSION", version("open-spiel"))
    for name, row in GAMES.items():
        parameters = "<br>".join(map(_parameter, kind(name).facts.parameters))
        text += f"| `{PREFIX}{name}` | {', '.join(row.seats)} | {parameters} | {'yes' if row.grid else ''} |\n"
    text += TAIL
    return text + "".join(f"| `{name}` | {why} |\n" for name, why in LEFT_OUT.items())


if __name__ == "__main__":
    sys.stdout.write(page())
