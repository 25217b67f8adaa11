"""All clauses, and the selection of clauses by patterns."""

from __future__ import annotations

from fnmatch import fnmatchcase

from arbiter.conformance import situations  # noqa: F401 - to import them registers their clauses
from arbiter.conformance.clauses import Clause, registered
from arbiter.errors import OperatorError


def clauses() -> list[Clause]:
    """Return all clauses, in the order of the report."""
    return registered()


def chosen(patterns: list[str]) -> list[Clause]:
    """Return the clauses whose ids match at least one pattern (`reconnect.*`), or all. Raises OperatorError."""
    there = clauses()
    if not patterns:
        return there
    found = [item for item in there if any(fnmatchcase(item.id, pattern) for pattern in patterns)]
    if not found:
        raise OperatorError(f"no clause matches {', '.join(patterns)}: `arbiter conformance --list` names them all")
    return found
