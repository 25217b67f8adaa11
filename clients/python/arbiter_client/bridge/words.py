"""Lines of words: the first word names the type of the line, the others are its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from arbiter_client.bot import Choice, ClaimDraw, Move, OfferDraw, Resign
from arbiter_client.bridge.language import (
    VERSION,
    AnswerMalformed,
    Introduction,
    Language,
    NotUnderstood,
    Question,
    quoted,
)
from arbiter_client.values.play import LiveMatch

REMARK: Final = "#"
EXPECTED: Final = "move TEXT [evaluation N] [line MOVES], offer TEXT, claim or resign"


class Words(Language):
    """The language of words. Texts that people have chosen never begin a line, and are last in it."""

    def of_program(self) -> Words:
        """Return itself: it remembers nothing."""
        return self

    def greeting(self) -> list[str]:
        """Return the first line: the language's version."""
        return [f"arbiter {VERSION}"]

    def introduction(self, line: str, so_far: Introduction) -> tuple[Introduction, bool]:
        """Take one of `name`, `version`, `games`, `moves`, `draws` and `ready`."""
        word, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        match word:
            case "ready":
                return so_far, True
            case "name":
                return replace(so_far, name=rest), False
            case "version":
                return replace(so_far, version=rest), False
            case "games":
                return replace(so_far, games=tuple(rest.split())), False
            case "moves":
                if not _is_number(rest):
                    raise NotUnderstood(line, f"a whole number, not {quoted(rest)}")
                return replace(so_far, moves=int(rest)), False
            case "draws" if rest in ("yes", "no"):
                return replace(so_far, draws=rest == "yes"), False
        if not word or word.startswith(REMARK):
            return so_far, False
        raise NotUnderstood(line, "name, version, games, moves N, draws yes, or ready")

    def match(self, match: LiveMatch) -> list[str]:
        """Return one line: game, seat, time control, whether it is rated, id, opponent."""
        time = match.time_control or "none"
        rated = "yes" if match.rated else "no"
        return [f"match {match.game} seat {match.seat} time {time} rated {rated} id {match.match_id} {match.opponent}"]

    def question(self, question: Question) -> list[str]:
        """Return the lines of a question, one for each value, between `turn` and `go`."""
        turn = question.turn
        lines = [f"turn {turn.ply}", f"position {turn.position}"]
        if question.clocks_ms is not None:
            mine, theirs = question.clocks_ms
            lines.append(f"clocks {mine} {theirs}")
        if question.increments_ms is not None:
            mine, theirs = question.increments_ms
            lines.append(f"increments {mine} {theirs}")
        if question.left_ms is not None:
            lines.append(f"left {question.left_ms}")
        if question.moves_left:
            lines.append(f"movesleft {question.moves_left}")
        if turn.match.start_position:
            lines.append(f"start {turn.match.start_position}")
        lines.append(" ".join(("played", str(len(turn.match.moves)), *turn.match.moves)))
        lines += [f"last {recent.ply} {recent.seat} {recent.move}" for recent in turn.last_moves]
        if turn.draw_offered:
            lines.append("offered")
        if turn.draw_claim:
            lines.append(f"claimable {turn.draw_claim}")
        if question.moves is not None:
            lines.append(" ".join(("moves", str(len(question.moves)), *question.moves)))
        if question.refused is not None:
            reason, message = question.refused
            lines.append(f"refused {reason} {' '.join(message.split())}")
        return [*lines, "go"]

    def choice(self, line: str) -> Choice | None:
        """Read `move`, `offer`, `claim`, `resign`; a line that is empty or begins with # is a remark."""
        words = line.split()
        if not words or words[0].startswith(REMARK):
            return None
        match words:
            case ["move", text, *more]:
                return _move(line, text, more, Move)
            case ["offer", text, *more]:
                return _move(line, text, more, lambda *said: OfferDraw(Move(*said)))
            case ["claim"]:
                return ClaimDraw()
            case ["resign"]:
                return Resign()
            case ["move" | "offer"]:
                raise AnswerMalformed(line, EXPECTED)
            case ["claim", *_]:
                raise NotUnderstood(line, EXPECTED, ClaimDraw())
        raise NotUnderstood(line, EXPECTED)

    def end(self, outcome: str, reason: str) -> list[str]:
        """Return one line."""
        return [f"end {outcome} {reason}"]

    def goodbye(self) -> list[str]:
        """Return one line."""
        return ["quit"]


def _move(line: str, text: str, more: list[str], made: Callable[[str, int | None, Sequence[str]], Choice]) -> Choice:
    """Return the choice that `made` makes of a move, its evaluation and its line."""
    evaluation, expected = None, list[str]()
    if more[:1] == ["evaluation"] and len(more) > 1:
        if not _is_number(more[1]):
            raise NotUnderstood(line, f"a whole number, not {quoted(more[1])}", made(text, None, ()))
        evaluation, more = int(more[1]), more[2:]
    if more[:1] == ["line"]:
        expected, more = more[1:], []
    if more:
        raise NotUnderstood(line, EXPECTED)  # such as a remark that begins with the word move
    return made(text, evaluation, expected)


def _is_number(word: str) -> bool:
    return word.removeprefix("-").isdigit() and word.isascii() and len(word) <= 9
