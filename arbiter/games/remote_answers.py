"""What the rules of a game say from another process, in JSON: written there, and read and checked in a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Any, Final, Literal, TypeVar

from arbiter.boards.board import Board, Tile
from arbiter.errors import Reason, Refusal, RulesFailed, shortened
from arbiter.games.contract import Basis, EndReason, Facts, Look, Parameter, Piece, Region, Ruling, Step, Value

T = TypeVar("T")
# Each `read_…` raises an error of `WRONG` for another value; `with_check` gives it a name.

WRONG: Final = (TypeError, ValueError, KeyError, IndexError, AttributeError)
LONGEST_MESSAGE: Final = 1_000  #: characters of a refusal's message

REFUSES: Final = {
    reason.value: reason
    for reason in (
        Reason.MOVE_MALFORMED,
        Reason.MOVE_ILLEGAL,
        Reason.POSITION_MALFORMED,
        Reason.PARAMETER_INVALID,
        Reason.GAME_UNKNOWN,
    )
}
"""The reasons for which rules refuse something."""


def refusal_json(refusal: Refusal) -> list[Any]:
    """Return a refusal of rules in JSON."""
    return [refusal.reason.value, refusal.message, refusal.facts]


def refusal_of(variant: str, method: str, value: Any) -> Refusal:
    """Return the refusal that rules have answered. Raises RulesFailed for one that rules have no say in."""

    def read(value: Any) -> Refusal:
        reason, message = REFUSES[value[0]], read_text(value[1])
        facts = {read_text(name): read_text(fact) for name, fact in value[2].items()}
        if facts.keys() != reason.always.keys():
            raise ValueError(f"a refusal {reason.value} has the facts {', '.join(reason.always)}")
        return Refusal.said(reason, shortened(message, LONGEST_MESSAGE), facts)

    return with_check(variant, method, read, value)


def with_check(variant: str, method: str, read: Callable[[Any], T], answer: Any) -> T:
    """Return what an answer means. Raises RulesFailed for one that means nothing."""
    try:
        return read(answer)
    except WRONG as error:
        raise nonsense(variant, method, str(error)) from None


def nonsense(variant: str, method: str, why: str) -> RulesFailed:
    """Return the error for an answer that the contract of games does not allow."""
    return RulesFailed(variant, f"{method}() answered nonsense: {why}")


def read_text(value: Any) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise TypeError(f"expected a text, not {type(value).__name__}")
    return value


def read_plain(value: Any) -> str:
    """Return a line of printable characters, which is not empty."""
    if not read_text(value) or not value.isprintable():
        raise ValueError(f"expected a line of printable characters, not {shortened(ascii(value))}")
    return str(value)


def read_texts(value: Any) -> tuple[str, ...]:
    """Return a list of such lines."""
    return tuple(read_plain(each) for each in read_list(value))


def read_list(value: Any) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise TypeError(f"expected a list, not {type(value).__name__}")
    return value


def read_whole(value: Any, least: int | None = None, most: int | None = None) -> int:
    """Return a whole number between two bounds."""
    if type(value) is not int:
        raise TypeError(f"expected a whole number, not {type(value).__name__}")
    if (least is not None and value < least) or (most is not None and value > most):
        raise ValueError(f"expected a number from {least} to {most}, not {value}")
    return value


def read_value(value: Any) -> Value:
    """Return a parameter's value."""
    kind, plain = value
    return Decimal(read_text(plain)) if kind == "decimal" else _scalar(plain)


def _scalar(value: Any) -> bool | int | str:
    if not isinstance(value, (bool, int, str)):
        raise TypeError(f"expected the value of a parameter, not {type(value).__name__}")
    return value


def value_json(value: Value) -> tuple[str, bool | int | str]:
    """Return a parameter's value in JSON: its kind, and the value, for a decimal its text."""
    return ("decimal", str(value)) if isinstance(value, Decimal) else (type(value).__name__, value)


def read_pieces(cells: int, value: Any) -> tuple[Piece, ...]:
    """Return the content of as many cells."""
    found = tuple(
        Piece(read_whole(owner, 0, 2), read_text(letter), _or_none(facing), _or_none(height), read_text(mark))
        for owner, letter, facing, height, mark in read_list(value)
    )
    if len(found) != cells:
        raise ValueError(f"expected the content of {cells} cells, not of {len(found)}")
    return found


def _or_none(value: Any) -> int:
    return read_whole(value, -1)


def read_steps(cells: Mapping[str, int], value: Any) -> tuple[Step, ...]:
    """Return steps on a board, given the numbers of its cells by their names."""
    found = tuple(
        Step(read_text(action), read_text(source), read_text(target), read_text(piece), read_whole(facing))
        for action, source, target, piece, facing in read_list(value)
    )
    wrong = next((cell for step in found for cell in (step.source, step.target) if cell and cell not in cells), None)
    if wrong is not None:
        raise ValueError(f"{wrong!r} is no cell of the board")
    return found


def read_regions(value: Any) -> tuple[Region, ...]:
    """Return regions."""
    return tuple(
        Region(_kind(kind), read_whole(owner, 0, 2), tuple(map(read_whole, cells)), read_text(sign), read_text(name))
        for kind, owner, cells, sign, name in read_list(value)
    )


def _kind(value: Any) -> Literal["territory", "group", "threat"]:
    match value:
        case "territory":
            return "territory"
        case "group":
            return "group"
        case "threat":
            return "threat"
        case _:
            raise ValueError("a region is a territory, a group or a threat")


def read_counters(value: Any) -> dict[str, int]:
    """Return numbers by their labels."""
    return {read_plain(name): read_whole(count) for name, count in value.items()}


def read_board(value: Any) -> Board:
    """Return a board."""
    names = tuple(read_plain(name) for name in value["names"])
    centres = tuple((float(x), float(y)) for x, y in value["centres"])
    neighbours = tuple(tuple(read_whole(cell, -1, len(names) - 1) for cell in each) for each in value["neighbours"])
    lines = tuple(tuple(read_whole(cell, 0, len(names) - 1) for cell in each) for each in value["lines"])
    if not len(names) == len(centres) == len(neighbours) == len(set(names)):
        raise ValueError("the cells of its board do not agree")
    title, directions = read_plain(value["title"]), tuple(map(read_text, value["directions"]))
    return Board(title, Tile(value["tile"]), names, centres, directions, neighbours, lines)


def board_json(board: Board) -> dict[str, Any]:
    """Return a board in JSON."""
    return {field.name: getattr(board, field.name) for field in fields(board) if field.init}


def facts_json(facts: Facts) -> dict[str, Any]:
    """Return facts in JSON. Parameters are read by the rules' own process, so their `read` is left out."""
    found = {field.name: getattr(facts, field.name) for field in fields(facts)}
    parameters = [each._asdict() | {"default": value_json(each.default), "read": None} for each in facts.parameters]
    return found | {"parameters": parameters, "letters": dict(facts.letters) if facts.letters is not None else None}


def read_facts(name: str, value: Any) -> Facts:
    """Return the facts of a game, by its id."""
    first, second = value["seats"]
    letters = value["letters"]
    found = Facts(
        id=read_text(value["id"]),
        name=read_plain(value["name"]),
        designer=read_text(value["designer"]),
        summary=read_text(value["summary"]),
        seats=(read_plain(first), read_plain(second)),
        parameters=tuple(_parameter(each) for each in value["parameters"]),
        reasons=tuple(EndReason(name, text, Basis(basis)) for name, text, basis in map(_texts, value["reasons"])),
        rulings=tuple(Ruling(topic, text, Basis(basis)) for topic, text, basis in map(_texts, value["rulings"])),
        draw_offers=bool(value["draw_offers"]),
        letters=None if letters is None else {read_text(letter): read_text(piece) for letter, piece in letters.items()},
        material=read_text(value["material"]),
        look=Look(value["look"]),
        position_text=read_text(value["position_text"]),
        cell_text=read_text(value["cell_text"]),
        aliases=tuple((read_text(said), read_text(move)) for said, move in value["aliases"]),
        faces=read_text(value["faces"]),
    )
    if found.id != name:
        raise ValueError(f"its class has the facts of {found.id!r}")
    return found


def _texts(value: Any) -> tuple[str, str, str]:
    first, second, third = map(read_text, value)
    return first, second, third


def _parameter(value: Any) -> Parameter:
    least, most = (None if value[bound] is None else read_whole(value[bound]) for bound in ("minimum", "maximum"))
    name, text, allowed = read_plain(value["name"]), read_text(value["text"]), read_text(value["allowed"])
    choices = tuple(map(read_text, value["choices"]))
    return Parameter(name, read_value(value["default"]), text, allowed, _unread, least, most, choices)


def _unread(word: str) -> Value:
    raise NotImplementedError("the process of its rules reads a parameter, with the whole name of a variant")
