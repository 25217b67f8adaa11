"""The choice of the sandbox in which a command starts bots, and the message about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from arbiter.cli.failure import Failure
from arbiter.sandbox.bubblewrap import Sandbox, find
from arbiter.sandbox.cgroup import delegated
from arbiter.sandbox.limits import BOUNDS, DEFAULT, ResourceLimits

Wanted = Literal["auto", "require", "off"]

CLOSED: Final = "Bots run in a sandbox: they see their own files, reach the arbiter alone, and have limits."


def chosen(wanted: Wanted, limits: ResourceLimits = DEFAULT) -> tuple[Sandbox | None, str]:
    """Return the sandbox for bots, and a message about it. Raises Failure if one is required but not available."""
    if wanted == "off":
        return None, "Bots run without a sandbox, as you asked: they have all of your rights."
    found = find(limits)
    if isinstance(found, Sandbox):
        return found._replace(cgroup=delegated()), CLOSED
    if wanted == "require":
        raise Failure(f"there is no sandbox to run bots in: {found}")
    return None, f"Bots run without a sandbox, and have all of your rights: {found}."


def limits_of(words: Sequence[str]) -> ResourceLimits:
    """Parse the limits of a command line, such as `memory_mb=512`. Raises Failure."""
    given: dict[str, int] = {}
    for word in words:
        name, _, value = word.partition("=")
        least, most = BOUNDS.get(name, (0, 0))
        if name not in BOUNDS or not value.isdecimal() or not least <= int(value) <= most:
            known = ", ".join(f"{each} ({least} to {most})" for each, (least, most) in BOUNDS.items())
            raise Failure(f"--limit {word} is no limit of a sandbox: write NAME=NUMBER, with one of {known}")
        given[name] = int(value)
    return ResourceLimits(**given)
