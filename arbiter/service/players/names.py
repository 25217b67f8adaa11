"""Names of players: what a new one may be, and which two are taken for one another.

Names that are there stay as they are; what stands here is asked of new ones alone.
"""

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
