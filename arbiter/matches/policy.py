"""The published policy of a match: how the arbiter handles absence, illegal moves and slow answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Annotated, Any, Final

from arbiter.errors import parameter_invalid
from arbiter.event_json.canonical import Json
from arbiter.matches.clock import CreditRules
from arbiter.matches.time_control import LONGEST_MS
from arbiter.options import Option, bounds_of


class ClockStart(StrEnum):
    """When the first clock starts: as soon as both players are present, or with the creation of the match."""

    WHEN_PRESENT = "when_present"
    AT_ONCE = "at_once"


class NoShow(StrEnum):
    """What happens when a match waited in vain: the absent player forfeits it, or it is void.

    If neither player is present the match is void in any case.
    """

    FORFEIT = "forfeit"
    VOID = "void"


CREDIT_BOUNDS: Final = (0, 3_600_000)  #: range of every number of the credit rules


@dataclass(frozen=True, slots=True)
class Policy:
    """The published policy of a match. Times are milliseconds; `CREDIT_BOUNDS` are those of `credit`.

    Illegal moves include malformed ones. A repeated request gets the same answer while its refusal is kept; further
    refusals are not kept, and a repeated request is decided again. If both players stay away for `abandon_ms`, the
    match is void. `move_cap_ms` holds whatever the time control says. A record without `ready_ms` has 0.
    Raises Refusal PARAMETER_INVALID (facts what, where, allowed) for values out of range.
    """

    illegal_moves: Annotated[int, Option("A player with this many illegal moves has lost.", (1, 100))] = 4
    kept_refusals: Annotated[
        int, Option("How many refused requests of a player are recorded, besides strikes.", (0, 1_000))
    ] = 100
    no_show_ms: Annotated[int, Option("How long a match waits for both players before it starts.", (1, LONGEST_MS))] = (
        60_000
    )
    abandon_ms: Annotated[
        int,
        Option(
            "A player that is absent this long loses if the other one is there; 0: never, but its clock runs.",
            (0, LONGEST_MS),
        ),
    ] = 60_000
    move_cap_ms: Annotated[int, Option("The most that one move is charged.", (1, LONGEST_MS))] = 3_600_000
    resume_ms: Annotated[
        int,
        Option(
            "After an outage, how long the clock waits for the player to move.",
            (0, LONGEST_MS),
        ),
    ] = 30_000
    start: Annotated[ClockStart, Option("When the first clock starts.")] = ClockStart.WHEN_PRESENT
    no_show: Annotated[NoShow, Option("What becomes of a game if one player does not come.")] = NoShow.FORFEIT
    credit: CreditRules = field(default_factory=CreditRules)
    ready_ms: Annotated[
        int,
        Option(
            "How long a clock waits for connected bots to be ready, at the start and after an outage.",
            (0, LONGEST_MS),
        ),
    ] = 0

    def __post_init__(self) -> None:
        for name, bounds in BOUNDS.items():
            _within(f"policy.{name}", getattr(self, name), bounds)
        for name, value in self.credit._asdict().items():
            _within(f"policy.credit.{name}", value, CREDIT_BOUNDS)

    def json(self) -> dict[str, Json]:
        """Return the policy's JSON form in the record."""
        values: dict[str, Json] = {item.name: getattr(self, item.name) for item in fields(self)}
        if not self.ready_ms:
            del values["ready_ms"]
        return values | {"start": self.start.value, "no_show": self.no_show.value, "credit": self.credit._asdict()}


BOUNDS: Final[Mapping[str, tuple[int, int]]] = bounds_of(Policy)


def read_policy(values: Mapping[str, Any]) -> Policy:
    """Return the policy of a record or a request: missing values get defaults, unknown ones are ignored.

    Raises Refusal PARAMETER_INVALID (facts what, where, allowed).
    """
    known: dict[str, Any] = {name: values[name] for name in BOUNDS if name in values}
    for name, kind in (("start", ClockStart), ("no_show", NoShow)):
        if name in values:
            known[name] = _word(f"policy.{name}", values[name], kind)
    credit = values.get("credit", {})
    if not isinstance(credit, Mapping):
        raise parameter_invalid(credit, "policy.credit", "an object")
    rules = CreditRules(**{name: credit[name] for name in CreditRules._fields if name in credit})
    return Policy(**known, credit=rules)


def _within(where: str, value: object, bounds: tuple[int, int]) -> None:
    low, high = bounds
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise parameter_invalid(value, where, f"a whole number from {low} to {high}")


def _word(where: str, value: object, kind: type[StrEnum]) -> StrEnum:
    try:
        return kind(str(value))
    except ValueError:
        raise parameter_invalid(value, where, " or ".join(kind)) from None
