"""JSON for people and diffs: keys are sorted, short values are on one line, long ones are spread over several lines."""

from __future__ import annotations

import json
from typing import Any, Final

WIDTH: Final = 118  #: maximum characters of a line before the value is spread over several


def laid_out(value: Any) -> str:
    """Return a value as JSON text, with UTF-8 not escaped, and a line feed at the end."""
    return _spread(value, 0) + "\n"


def _spread(value: Any, depth: int) -> str:
    flat = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(flat) + depth <= WIDTH or _is_list_of_scalars(value) or not isinstance(value, dict | list):
        return flat
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        items = [
            f"{pad}{json.dumps(key, ensure_ascii=False)}: {_spread(value[key], depth + 1)}" for key in sorted(value)
        ]
        return "{\n" + ",\n".join(items) + f"\n{' ' * depth}}}"
    return "[\n" + ",\n".join(pad + _spread(item, depth + 1) for item in value) + f"\n{' ' * depth}]"


def _is_list_of_scalars(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)
