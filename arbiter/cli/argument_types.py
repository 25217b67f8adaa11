"""The types of arguments that several commands have, with the meaning that the help shows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

Flag: TypeAlias = Annotated[bool, Parameter(negative=())]
"""An option without a value, and without another one that denies it."""

GameName: TypeAlias = Annotated[str, Parameter(help='A game, such as `pods`, or a variant, such as `"pods(size=5)"`.')]
RatedVariant: TypeAlias = Annotated[
    str, Parameter(help='A variant, such as "pods(size=5)". [default: all games together]')
]
OwnPlayer: TypeAlias = Annotated[
    str, Parameter(help="The player; another one needs scope admin. [default: the caller]")
]
OutFile: TypeAlias = Annotated[
    Path | None, Parameter(name=["--out", "-o"], help="Write to this file instead of standard output.")
]
