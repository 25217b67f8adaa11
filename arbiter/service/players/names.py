"""Names of players: the rule for new ones. Existing names are not checked."""

from __future__ import annotations

import re
from typing import Final

from arbiter.errors import argument_invalid

NAME: Final = re.compile(r"(?=.{1,40}\Z)[a-z0-9]+(?:[_.-][a-z0-9]+)*", re.ASCII)
NAME_RULE: Final = "1 to 40 of a-z and 0-9; between two of these may stand one '-', '_' or '.'"


def check_new_name(name: str) -> str:
    """Return the name of a new player. Raises Refusal ARGUMENT_INVALID for one that is not allowed."""
    if not NAME.fullmatch(name):
        raise argument_invalid(name, "name", NAME_RULE)
    return name
