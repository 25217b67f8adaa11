"""The games that there are: the five that come with the arbiter, and those of installed packages.

A package adds a game through the entry point group `arbiter.games`: the name is the game's id, the object a subclass
of `arbiter.games.contract.Game`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import entry_points

from arbiter.errors import Reason, Refusal
from arbiter.games.contract import AnyGame, Value, parameter_invalid

BUNDLED = {
    "circle-of-life": "arbiter.games.circle_of_life:CircleOfLife",
    "elevation": "arbiter.games.elevation:Elevation",
    "hop-it": "arbiter.games.hop_it:HopIt",
    "pods": "arbiter.games.pods:Pods",
    "pondlife": "arbiter.games.pondlife:Pondlife",
}

GROUP = "arbiter.games"
LONGEST_VARIANT = 200  #: characters in a variant's name

_CALL = re.compile(r"([a-z0-9-]+)(?:\(([a-zA-Z0-9=,-]*)\))?", re.ASCII)


@cache
def classes() -> dict[str, type[AnyGame]]:
    """Return the game classes by id, bundled ones first; an installed package can't replace a bundled game."""
    found: dict[str, type[AnyGame]] = {}
    for name, place in BUNDLED.items():
        module, attribute = place.split(":")
        found[name] = getattr(import_module(module), attribute)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        if entry.name not in found:
            found[entry.name] = entry.load()
    return found


def game(variant: str) -> AnyGame:
    """Return the game of a variant's name, such as `pods` or `pods(size=5)`.

    Parameters may stand in any order and repeat their default; `Game.variant` gives the canonical name.
    Raises Refusal GAME_UNKNOWN (facts what, allowed) or PARAMETER_INVALID (facts what, where, allowed).
    """
    return _build(variant) if len(variant) <= LONGEST_VARIANT else _unknown(variant[:57] + "…")


@lru_cache(maxsize=256)
def _build(variant: str) -> AnyGame:
    call = _CALL.fullmatch(variant)
    if call is None or call[1] not in classes():
        return _unknown(call[1] if call else variant)
    kind = classes()[call[1]]
    parameters = {parameter.name: parameter for parameter in kind.facts.parameters}
    values: dict[str, Value] = {}
    for item in (call[2] or "").split(",") if call[2] else []:
        name, equals, word = item.partition("=")
        if not equals or name not in parameters or name in values:
            allowed = ", ".join(parameters) or "no parameters"
            raise Refusal(
                Reason.PARAMETER_INVALID,
                f"{item!r} is not a parameter of {call[1]}: expected NAME=VALUE, once each, of {allowed}",
                what=item,
                where=variant,
                allowed=allowed,
            )
        try:
            values[name] = parameters[name].read(word)
        except ValueError:
            raise parameter_invalid(word, f"{call[1]}({name}=…)", parameters[name].allowed) from None
    return kind(**values)


def _unknown(what: str) -> AnyGame:
    allowed = ", ".join(classes())
    raise Refusal(
        Reason.GAME_UNKNOWN, f"there is no game {what!r}: the games are {allowed}", what=what, allowed=allowed
    )
