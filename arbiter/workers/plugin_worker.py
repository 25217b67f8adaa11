"""The rules of the games of one package, in a process of their own (`arbiter.workers.process`).

Every answer is JSON, in an envelope of one field: `answer`, `refused`, `failed` with the reason, or `forgotten` if the
process does not have the position (any more). Nothing of a plug-in is pickled: what reads it has none of its code.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections import OrderedDict
from collections.abc import Sequence
from time import monotonic
from typing import Any, Final, NamedTuple

from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame, Game
from arbiter.games.remote import OPTIONAL, SNAPSHOT
from arbiter.games.remote_answers import board_json, facts_json, refusal_json, value_json
from arbiter.runtime.tied import tie
from arbiter.workers.process import Jobs

KEPT: Final = 4_096  #: positions: one that is asked for again later is reached by its line
FORGOTTEN: Final = '{"forgotten": true}'
ANSWERED: Final = '{"answer": '  #: the beginning of an answer that is one
MOST_CHARACTERS: Final = 1 << 18  #: of an answer, and of several
PLACED: Final = (
    "moves",
    "pieces",
    "steps",
    "notation",
    "from_notation",
    "number",
    "task",
    "counters",
    "picture",
    "regions",
)
"""The methods of `Game` whose first argument is a position."""

_positions: OrderedDict[int, Any] = OrderedDict()


def describe(name: str) -> str:
    """Return the description of a game by its id, for `arbiter.games.remote.remote_class`."""

    def described() -> object:
        kind: Any = registry.load(name)
        if not (isinstance(kind, type) and issubclass(kind, Game)):
            raise TypeError(f"its entry point leads to {kind!r}, which is no subclass of Game")
        code = registry.code(name)
        own = [method for method in OPTIONAL if getattr(kind, method) is not getattr(Game, method)]
        return {
            "facts": facts_json(kind.facts),
            "code": (code.package, code.version, code.sha256),
            "rules_text": registry.rules_text_of(kind),
            "methods": own,
        }

    return _enveloped(described)


Played = tuple[str, tuple[Any, ...], list[str]]
"""How a position is reached: the method that gives the first one, its arguments, and the moves since."""


def ask(
    variant: str, method: str, position: int, arguments: tuple[Any, ...], made: int, line: Played | None = None
) -> str:
    """Return the answer to a call; `made` is the number of the position that it makes."""
    return _enveloped(lambda: _answer(registry.game(variant), _Call(method, position, arguments, line), made))


def ask_several(calls: Sequence[tuple[str, str, int, tuple[Any, ...], int]], within_s: float) -> list[str]:
    """Return the answers to the first of some calls: of as many as take this many seconds in all, and at least of one.

    It stops before a call whose position the process does not have (any more), and before MOST_CHARACTERS.
    """
    found, until, characters = list[str](), monotonic() + within_s, 0
    for call in calls:
        text = ask(*call)
        characters += len(text)
        if text == FORGOTTEN or (found and characters > MOST_CHARACTERS):
            break
        found.append(text)
        if monotonic() > until:
            break
    return found


class _Call(NamedTuple):
    method: str
    position: int
    arguments: tuple[Any, ...]
    line: Played | None


class _Forgotten(Exception):
    """The process does not have a position."""


def _answer(game: AnyGame, call: _Call, made: int) -> object:
    match call.method:
        case "open":
            return _opened(game, made)
        case "parse" | "start":
            return _snapshot(game, _kept(made, getattr(game, call.method)(*call.arguments)))
        case "play":
            return _snapshot(game, _kept(made, game.play(_position(game, call), str(call.arguments[0]))))
        case method if method in PLACED:
            return _plain(getattr(game, method)(_position(game, call), *call.arguments))
        case method:
            return _plain(getattr(game, method)(*call.arguments))


def _opened(game: AnyGame, made: int) -> object:
    return {
        "variant": game.variant,
        "values": {name: value_json(value) for name, value in game.values.items()},
        "board": board_json(game.board),
        "bound": game.bound,
        "initial": _snapshot(game, _kept(made, game.initial())),
    }


def _snapshot(game: AnyGame, position: Any) -> object:
    outcome = position.outcome
    more = [getattr(game, method)(position) if _has(game, method) else None for method in SNAPSHOT]
    return (game.text(position), position.turn, None if outcome is None else tuple(outcome), *more)


def _has(game: AnyGame, method: str) -> bool:
    return getattr(type(game), method) is not getattr(Game, method)


def _kept(number: int, position: Any) -> Any:
    _positions[number] = position
    if len(_positions) > KEPT:
        _positions.popitem(last=False)
    return position


def _position(game: AnyGame, call: _Call) -> Any:
    position = _positions.get(call.position)
    if position is None:
        if call.line is None:
            raise _Forgotten
        method, arguments, moves = call.line
        position = getattr(game, method)(*arguments)
        for move in moves:
            position = game.play(position, move)
        _kept(call.position, position)
    _positions.move_to_end(call.position)
    return position


def _plain(value: Any) -> object:
    """Return an answer as JSON has it: some games list moves in tuples, sets or generators."""
    return value if value is None or isinstance(value, (str, int, float, dict)) else list(value)


def _enveloped(answer: Any) -> str:
    try:
        text = json.dumps({"answer": answer()}, allow_nan=False)
    except _Forgotten:
        return FORGOTTEN
    except Refusal as refusal:
        return json.dumps({"refused": refusal_json(refusal)})
    except MemoryError:
        raise  # this process may lack something now: it is replaced
    except BaseException as error:  # also SystemExit, which is no end of this process
        sys.stderr.write(traceback.format_exc(limit=-8))
        return json.dumps({"failed": f"{type(error).__name__}: {error}"[:MOST_CHARACTERS]})
    if len(text) > MOST_CHARACTERS:
        return json.dumps({"failed": f"it answered more than {MOST_CHARACTERS:,} characters"})
    return text


def jobs() -> Jobs:
    """Return the job handlers, by kind."""
    tie()  # a plug-in that hangs does not read the end of its input
    return {"describe": describe, "ask": ask, "ask_several": ask_several}
