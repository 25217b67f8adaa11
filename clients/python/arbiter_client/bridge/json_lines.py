"""Lines of JSON: each is an object, whose `kind` names its type."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from arbiter_client.bot import Choice, ClaimDraw, Move, OfferDraw, Resign
from arbiter_client.bridge.language import VERSION, AnswerMalformed, Introduction, Language, NotUnderstood, Question
from arbiter_client.values.play import LiveMatch


class JsonLines(Language):
    """The language of JSON lines. Unknown fields are ignored here, and a program should ignore them too."""

    def of_program(self) -> JsonLines:
        """Return itself: it remembers nothing."""
        return self

    def greeting(self) -> list[str]:
        """Return the first object: the language's version."""
        return [line_of("arbiter", version=VERSION)]

    def introduction(self, line: str, so_far: Introduction) -> tuple[Introduction, bool]:
        """Take the one object of kind `ready`."""
        said = _object(line)
        if said.get("kind") != "ready":
            raise NotUnderstood(line, "an object of kind ready")
        games = _value(line, said, "games", list, [])
        if not all(_is(game, str) for game in games):
            raise NotUnderstood(line, "texts in games")
        return replace(
            so_far,
            name=_value(line, said, "name", str, ""),
            version=_value(line, said, "version", str, "1"),
            games=tuple(games),
            moves=_value(line, said, "moves", int, 0),
            draws=_value(line, said, "draws", bool, False),
        ), True

    def match(self, match: LiveMatch) -> list[str]:
        """Return one object."""
        return [
            line_of(
                "match",
                match_id=match.match_id,
                game=match.game,
                seat=match.seat,
                opponent=match.opponent,
                time_control=match.time_control,
                rated=match.rated,
                start_position=match.start_position,
            )
        ]

    def question(self, question: Question) -> list[str]:
        """Return one object; unknown values are null."""
        turn, refused = question.turn, question.refused
        return [
            line_of(
                "turn",
                ply=turn.ply,
                position=turn.position,
                clocks_ms=question.clocks_ms,
                increments_ms=question.increments_ms,
                left_ms=question.left_ms,
                moves_left=question.moves_left,
                played=turn.match.moves,
                last_moves=[{"ply": last.ply, "seat": last.seat, "move": last.move} for last in turn.last_moves],
                draw_offered=turn.draw_offered,
                draw_claim=turn.draw_claim,
                moves=question.moves,
                refused={"reason": refused[0], "message": refused[1]} if refused is not None else None,
            )
        ]

    def choice(self, line: str) -> Choice | None:
        """Read an object of kind `move`, `offer`, `claim`, `resign` or `remark`."""
        said = _object(line)
        match said.get("kind"):
            case "move":
                return _move(line, said, Move)
            case "offer":
                return _move(line, said, lambda *of: OfferDraw(Move(*of)))
            case "claim":
                return ClaimDraw()
            case "resign":
                return Resign()
            case "remark":
                return None
        raise NotUnderstood(line, "an object of kind move, offer, claim, resign or remark")

    def end(self, outcome: str, reason: str) -> list[str]:
        """Return one object."""
        return [line_of("end", outcome=outcome, reason=reason)]

    def goodbye(self) -> list[str]:
        """Return one object."""
        return [line_of("quit")]


def line_of(kind: str, **fields: Any) -> str:
    """Return an object of a kind."""
    return json.dumps({"kind": kind, **fields}, ensure_ascii=False, separators=(",", ":"))


def _object(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a ValueError
        raise NotUnderstood(line, f"a JSON object ({error})") from None
    if not isinstance(said, dict):
        raise NotUnderstood(line, "a JSON object")
    return said


def _value(line: str, said: dict[str, Any], name: str, kind: type, default: Any) -> Any:
    value = said.get(name)
    if value is None:
        return default
    if not _is(value, kind):
        raise NotUnderstood(line, f"{kind.__name__} in {name}")
    return value


def _is(value: object, kind: type) -> bool:
    """Return whether a value is of a kind, and can be sent: a text in UTF-8, a number of at most 9 digits."""
    if isinstance(value, str):
        return kind is str and not any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, int) and kind is int:
        return not isinstance(value, bool) and abs(value) < 10**9
    return isinstance(value, kind)


def _move(line: str, said: dict[str, Any], made: Callable[[str, int | None, Sequence[str]], Choice]) -> Choice:
    """Return the choice that `made` makes of a move, its evaluation and its line."""
    text, evaluation, expected = said.get("move"), said.get("evaluation"), said.get("line")
    if not (text and _is(text, str)):
        raise AnswerMalformed(line, "a text in move")
    if evaluation is not None and not _is(evaluation, int):
        raise NotUnderstood(line, "a whole number in evaluation", made(text, None, ()))
    if expected is not None and not (isinstance(expected, list) and all(_is(move, str) for move in expected)):
        raise NotUnderstood(line, "a list of texts in line", made(text, evaluation, ()))
    return made(text, evaluation, expected or [])
