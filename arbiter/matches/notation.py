"""A match as text for people, in the manner of PGN (the Portable Game Notation of chess): tags, moves, clocks, result.

    [Game "pods(size=3)"]
    [Player1 "alice"]
    …
    [Result "1-0"]

    1. a1 {[%clk 0:00:58.4] [%emt 0:00:01.6]} 2. c3 {[%clk 0:00:59] [%emt 0:00:01]} 1-0

As in PGN, `%clk` is the mover's clock after the move and `%emt` the time that the move was charged. Unlike in PGN every
move has its own number, because turns need not alternate, and times have up to three decimals. `%periods` and `%moves`
are the byo-yomi periods and the moves to go in the session. Once the match has ended, the text also has the bots'
comments: `%eval` is the score that the mover expects in permille, `%pv` its main line, move by move; `%centipawns`,
`%mate`, `%depth`, `%nodes` and `%time_ms` are what an engine says of its search (`comments`). The result is `*` if the
match is void or has not ended. If the match began with an opening that nobody played, the tag `[OpeningPlies
"2"]` gives its number of moves, and these moves have no clocks.

Reading plays the moves: the text must be a game that the rules allow, and its result must be theirs if they end it. The
text is for people. Only the record is a proof.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from arbiter.errors import Refusal
from arbiter.event_json.canonical import RecordError
from arbiter.games.contract import Outcome
from arbiter.games.registry import game as registered_game
from arbiter.matches import time_control
from arbiter.matches.clock import SeatClock
from arbiter.matches.commands import ResultKind
from arbiter.matches.comments import Comment, Searched, fitting, key_of, opened
from arbiter.matches.events import Created, Ended, Event, Moved
from arbiter.matches.evolution import Games
from arbiter.matches.match import versions_of
from arbiter.plain_text import plain

WIDTH: Final = 100  #: characters of a line of moves
GOES_ON: Final = "*"
POSITION: Final = "Position"  #: the tag with the start position, if it is not the game's initial one
OPENING: Final = "OpeningPlies"  #: the tag with the number of opening moves
RESULTS: Final = {1: "1-0", 2: "0-1", 0: "1/2-1/2"}  #: by winner, 0 for a draw

_TAG: Final = re.compile(r'\[([A-Z][A-Za-z0-9]*) "((?:[^"\\]|\\["\\])*)"\]')
_TOKEN: Final = re.compile(r"\{([^{}]*)\}|([^\s{}]+)")
_NOTE: Final = re.compile(r"\[%([a-z_]+)\s([^\]]*)\]")
_TIME: Final = re.compile(r"([0-9]{1,4}):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,3}))?", re.ASCII)
_COUNT: Final = re.compile(r"[0-9]{1,4}", re.ASCII)
_SEARCHED: Final = re.compile(r"-?[0-9]{1,16}", re.ASCII)


class NotationError(RecordError):
    """A text that is not a valid game. `line` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.problem = problem


class WrittenMove(NamedTuple):
    """A move as text: the mover's clock after it, the charged time and the bot's comment (None: absent)."""

    move: str
    clock: SeatClock | None = None
    charged_ms: int | None = None
    comment: Comment | None = None


class WrittenGame(NamedTuple):
    """A game as read from text, and the position after its moves. The first `opening_plies` moves are the opening."""

    tags: Mapping[str, str]
    moves: tuple[WrittenMove, ...]
    result: str
    position: str
    opening_plies: int = 0
    ended: bool = False  #: by the rules


class PlayedGame(NamedTuple):
    """A game of a file whose moves were played by the rules of a variant.

    start: the text of its first position, '' for the initial one. moves: as the record has them. result: as PGN writes
    it. ended: whether the rules have ended it.
    """

    variant: str
    start: str
    moves: tuple[str, ...]
    result: str
    ended: bool


def write(events: Sequence[Event]) -> str:
    """Return the text of a match's events. Raises RecordError if they do not start with `created`."""
    if not events or not isinstance(events[0], Created):
        raise RecordError("a match begins with its making")
    created, versions = events[0], versions_of(events)
    ended = next((event for event in events if isinstance(event, Ended)), None)
    result = result_text(ended)
    tags = {
        "Game": created.game,
        "Player1": created.players[0],
        "Player2": created.players[1],
        "Version1": versions[0],
        "Version2": versions[1],
        "TimeControl": created.time,
        "Match": created.match,
        "Label": created.label,
        "Date": date(created.at),
        "Rated": "yes" if created.rated else "no",
        POSITION: created.position,
        OPENING: str(len(created.opening) or ""),
        "Result": result,
        "Termination": "" if ended is None else f"{ended.result.value}: {ended.reason}",
        "Note": "" if ended is None else ended.note,
    }
    timed = any(control != time_control.Unlimited() for control in time_control.parse_pair(created.time))
    moved = [event for event in events if isinstance(event, Moved)]
    said = said_in(moved, ended)
    moves = [f"{ply}. {move}" for ply, move in enumerate(created.opening, 1)]
    moves += [_written(event, timed, said.get(event.ply)) for event in moved]
    header = "".join(f"[{name} {quoted(value)}]\n" for name, value in tags.items() if value)
    return f"{header}\n{wrapped([*moves, result], WIDTH)}\n"


def read(text: str, games: Games = registered_game) -> WrittenGame:
    """Read a game and play its moves.

    Raises NotationError, naming the line, for a text that is not a game or that the rules do not allow.
    """
    lines = text.split("\n")
    tags, first = _read_tags(lines)
    if "Game" not in tags:
        raise NotationError(1, 'expected a tag [Game "…"]')
    try:
        game = games(tags["Game"])
        position = game.start(tags.get(POSITION, ""))
    except Refusal as refusal:
        raise NotationError(1, refusal.message) from None
    moves: list[WrittenMove] = []
    result = ""
    for number, note, word in _tokens(lines[first:], first + 1):
        if result:
            raise NotationError(number, f"{word or note!r} comes after the result")
        if note is not None:
            if not moves:
                raise NotationError(number, "a comment belongs to a move, and there is none before it")
            moves[-1] = _annotated(moves[-1], note, number)
        elif word in {*RESULTS.values(), GOES_ON}:
            result = word
        elif word.endswith("."):
            if word != f"{len(moves) + 1}.":
                raise NotationError(number, f"{word!r}, expected '{len(moves) + 1}.'")
        else:
            try:
                position = game.play(position, word)
            except Refusal as refusal:
                raise NotationError(number, f"move {len(moves) + 1}: {refusal.message}") from None
            moves.append(WrittenMove(word))
    _check_result(result, tags, position.outcome, len(lines))
    ended = position.outcome is not None
    return WrittenGame(tags, tuple(moves), result, game.text(position), _opening_plies(tags, len(moves)), ended)


def tags_of(text: str) -> Mapping[str, str]:
    """Return the tags of a text. Raises NotationError for a tag that comes twice."""
    return _read_tags(text.split("\n"))[0]


def said_in(moved: Sequence[Moved], ended: Ended | None) -> Mapping[int, Comment]:
    """Return the bots' comments on their moves, by ply: none before the end.

    Raises RecordError for a key that does not decrypt them.
    """
    if ended is None or not ended.key:
        return {}
    return opened(((event.ply, event.comment) for event in moved if event.comment), key_of(ended.key))


def result_text(ended: Ended | None) -> str:
    """Return a result: `1-0`, `0-1`, `1/2-1/2`, or `*` for a match that is void or has not ended."""
    return GOES_ON if ended is None or ended.result is ResultKind.VOID else RESULTS[ended.winner]


def _check_result(result: str, tags: Mapping[str, str], outcome: Outcome | None, line: int) -> None:
    """Raise NotationError if the result is missing, differs from the tag, or contradicts the rules."""
    if not result:
        raise NotationError(line, f"expected a result at the end: {', '.join(RESULTS.values())} or {GOES_ON}")
    if tags.get("Result", result) != result:
        raise NotationError(line, f"the result is {result}, but the tag says {tags['Result']}")
    if outcome is not None and result not in (RESULTS[outcome.winner], GOES_ON):
        raise NotationError(line, f"the result is {result}, but by the rules it is {RESULTS[outcome.winner]}")


def _opening_plies(tags: Mapping[str, str], plies: int) -> int:
    """Return the number of opening moves. Raises NotationError unless it is valid and there are as many moves."""
    text = tags.get(OPENING, "0")
    if not _COUNT.fullmatch(text) or int(text) > plies:
        raise NotationError(1, f"{OPENING} is {text!r}, expected a number of moves up to {plies}")
    return int(text)


def _read_tags(lines: Sequence[str]) -> tuple[dict[str, str], int]:
    """Return the tags, and the index of the first line after them."""
    tags: dict[str, str] = {}
    for index, line in enumerate(lines):
        found = _TAG.fullmatch(line.strip())
        if found is None:
            if line.strip():
                return tags, index
            continue
        if found[1] in tags:
            raise NotationError(index + 1, f"a second tag {found[1]}")
        tags[found[1]] = re.sub(r"\\(.)", r"\1", found[2])
    return tags, len(lines)


def _tokens(lines: Sequence[str], first: int) -> list[tuple[int, str | None, str]]:
    """Return the parts of the moves: line number, text of a comment or None, and otherwise the word."""
    text = "\n".join(lines)
    tokens: list[tuple[int, str | None, str]] = []
    end, line = 0, first
    for found in _TOKEN.finditer(text):
        between = text[end : found.start()]
        if between.strip():
            break
        line += between.count("\n")
        tokens.append((line, found[1], found[2] or ""))
        line += found[0].count("\n")
        end = found.end()
    if text[end:].strip():
        raise NotationError(line, "a brace that is not closed, or not opened")
    return tokens


def _annotated(move: WrittenMove, comment: str, line: int) -> WrittenMove:
    """Return a move with the clock times of its comment; everything else in it is for people."""
    notes = dict(_NOTE.findall(comment))
    counts = {name: _count(notes[name], line) for name in ("periods", "moves") if name in notes}
    if "clk" in notes:
        clock = SeatClock(_milliseconds(notes["clk"], line), counts.get("periods", 0), counts.get("moves", 0))
        move = move._replace(clock=clock)
    score = _count(notes["eval"], line) if "eval" in notes else None
    search = Searched(*(_count(notes[name], line, _SEARCHED) if name in notes else None for name in Searched._fields))
    move = move._replace(comment=fitting(score, notes.get("pv", "").split(), search))
    return move._replace(charged_ms=_milliseconds(notes["emt"], line)) if "emt" in notes else move


def _count(text: str, line: int, form: re.Pattern[str] = _COUNT) -> int:
    if not form.fullmatch(text):
        raise NotationError(line, f"{text!r} is not a number")
    return int(text)


def _milliseconds(text: str, line: int) -> int:
    found = _TIME.fullmatch(text)
    if found is None:
        raise NotationError(line, f"{text!r} is not a time: expected H:MM:SS, with up to three decimals")
    seconds = int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3])
    return seconds * 1000 + int((found[4] or "").ljust(3, "0"))


def _written(event: Moved, timed: bool, said: Comment | None) -> str:
    clock = event.clocks[event.seat - 1]
    notes = [f"[%clk {time_text(clock.remaining_ms)}]"] if timed else []
    if clock.periods:
        notes.append(f"[%periods {clock.periods}]")
    if clock.moves_left:
        notes.append(f"[%moves {clock.moves_left}]")
    notes.append(f"[%emt {time_text(event.ledger.charged)}]")
    if said is not None and said.evaluation is not None:
        notes.append(f"[%eval {said.evaluation}]")
    if said is not None and said.line:
        notes.append(f"[%pv {' '.join(said.line)}]")
    if said is not None:
        notes += [f"[%{name} {value}]" for name, value in said.search._asdict().items() if value is not None]
    return f"{event.ply + 1}. {event.move} {{{' '.join(notes)}}}"


def time_text(milliseconds: int) -> str:
    """Return a duration as `0:04:58.4`: hours, minutes, and seconds with up to three decimals."""
    seconds, rest = divmod(milliseconds, 1000)
    decimals = f".{rest:03}".rstrip("0") if rest else ""
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}{decimals}"


def date(at: int) -> str:
    """Return the day of an instant (UTC epoch milliseconds), as PGN writes it: `2027.01.15`."""
    days, year = at // 86_400_000, 1970
    while days >= (length := 366 if _is_leap(year) else 365):
        days, year = days - length, year + 1
    month = 1
    for length in (31, 29 if _is_leap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30):
        if days < length:
            break
        days, month = days - length, month + 1
    return f"{year}.{month:02}.{days + 1:02}"


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def quoted(value: str) -> str:
    """Return the value of a tag in quotation marks; what cannot be printed is escaped."""
    return '"' + plain(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def wrapped(parts: Sequence[str], width: int) -> str:
    """Return parts joined into lines of at most `width` characters; a part is split only if it is longer."""
    lines = [""]
    for word in (word for part in parts for word in (part.split(" ") if len(part) > width else (part,))):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)
