"""The line numbers of the fields of a TOML file; the standard parser does not provide them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

_HEADER: Final = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.\-\" ]+?)\s*\]\]?\s*(?:#.*)?")
_KEY: Final = re.compile(r"\s*([A-Za-z0-9_.\-\"']+(?:\s*\.\s*[A-Za-z0-9_.\-\"']+)*)\s*=")
_LAST: Final = re.compile(r"(\[\d+\]|(^|\.)[^.\[\]]+)$")


def places(text: str) -> dict[str, int]:
    """Return the line of each table and key of a TOML text, by names like `options.rounds` or `bots[2].command`.

    `bots[2]` is the second table with the header [[bots]]. Fields of an inline table have no entries of their own, only
    its key has.
    """
    found: dict[str, int] = {}
    table, seen = "", Counter[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.fullmatch(line):
            table = _plain(header[2])
            if header[1] == "[[":
                seen[table] += 1
                table = f"{table}[{seen[table]}]"
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault(f"{table}.{_plain(key[1])}" if table else _plain(key[1]), number)
    return found


def line_of(found: Mapping[str, int], field: str) -> int:
    """Return the line of a field, or of the nearest table or key around it; 0 if there is none."""
    while field and field not in found:
        field = _LAST.sub("", field)
    return found.get(field, 0)


def _plain(key: str) -> str:
    return re.sub(r"[\s\"']", "", key)
