"""Matches in Portable Game Notation (the standard of 1994): out of the record, and games of chess of others in.

A match of another game has the same tags, in which `White` is seat 1, and its moves stand in a comment: programs that
rate players read the tags, and those for chess a game without moves.

| in the text | what it is |
| --- | --- |
| `[%clk 0:04:58.4]` | the mover's clock after the move |
| `[%emt 0:00:01.6]` | the time that the move was charged |
| `+0.35/12 1.6s, n=4532` | what an engine says, as fastchess writes it, once the match has ended; see below |
| `[%eval 0.35]`, `[%eval #3]` | the bot's evaluation, in pawns from White's side, or White's moves to mate, likewise |
| `[TimeControl "300+2"]` | seconds; `?` for a control that PGN cannot express, and the arbiter's in `ArbiterTime` |
| `[SetUp "1"]`, `[FEN "…"]` | the start position, if it is not the initial one |
| `[OpeningPlies "8"]` | the first moves, which nobody played |

An engine says its score in pawns (`+M3`: it mates in 3 moves) and its depth; then come the time that the move was
charged, and how many positions the engine has looked at. Where a bot says only what score it expects, pawns follow from
it by the Elo formula, in which a pawn is worth 100 points.

`read` takes a file of any size line by line. Variations, glyphs and the texts of comments are left out; moves may be in
Standard Algebraic Notation or as the record has them. One bad game does not spoil the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log10
from typing import Final, NamedTuple

from arbiter.errors import Refusal, shortened
from arbiter.event_json.canonical import RecordError
from arbiter.games.registry import game as registered_game
from arbiter.matches import time_control
from arbiter.matches.comments import Comment
from arbiter.matches.events import Cause, Created, Ended, Event, Moved
from arbiter.matches.evolution import Games
from arbiter.matches.match import versions_of
from arbiter.matches.notation import (
    GOES_ON,
    RESULTS,
    NotationError,
    PlayedGame,
    date,
    quoted,
    result_text,
    said_in,
    time_text,
    wrapped,
)

VARIANTS: Final = {"chess": "", "chess960": "Chess960"}  #: games with moves in PGN, each with its tag `Variant`
WIDTH: Final = 80  #: characters of a line of moves
SCALE: Final = 400.0  #: centipawns for a score of 10 to 1
MOST_CENTIPAWNS: Final = 10_000
LONGEST_LINE: Final = 100_000  #: characters; longer ones are no PGN
MOST_LINES: Final = 100_000  #: of one game
COMMENT: Final = "{"  #: the word that stands for a comment among the moves
TO_COMMENT: Final = -1  #: in place of a number of moves: those before the first comment behind a move

_TERMINATIONS: Final = {
    Cause.TIME: "time forfeit",
    Cause.RULE_VIOLATION: "rules infraction",
    Cause.ABSENCE: "abandoned",
    Cause.ORGANISER: "adjudication",
    Cause.ARBITER: "emergency",
}
_UNBRACED: Final = str.maketrans("{}", "()")  #: a comment ends at the first brace
_NAMES: Final = {
    **dict.fromkeys(("", "chess", "standard", "normal", "from position"), "chess"),
    **dict.fromkeys(("chess960", "chess 960", "fischerandom", "fischerrandom", "fischer random"), "chess960"),
}
"""Games, by what programs write in the tag `Variant`, in lower case."""

_TAG: Final = re.compile(r'\s*\[\s*([A-Za-z0-9_+#=:-]{1,255})\s+"((?:[^"\\]|\\.)*)"\s*\]\s*')
_TAG_LINE: Final = re.compile(r'\s*\[\s*[A-Za-z0-9_+#=:-]+\s+"')
_TOKEN: Final = re.compile(r"(\s+|;.*|\$[0-9]+|(?:[0-9]+\s*)?\.+|<[^>]*>|[!?]+|e\.p\.)|(\{|\(|\))|([^\s{}();$]+)")
_ENDED: Final = re.compile(r"(?:^|\s)(?:1-0|0-1|1/2-1/2|\*)\s*$")
_BEGINS: Final = re.compile(r"\s*1\s*\.")


class Word(NamedTuple):
    """A word of the moves, or `COMMENT`, and its line, from 1."""

    line: int
    text: str


class PgnGame(NamedTuple):
    """A game as text: its first line, its tags, and the words of its moves and its result, with its comments.

    number: of the game in the file, from 1. fault: what is wrong with it as PGN, or None.
    """

    number: int
    line: int
    tags: Mapping[str, str]
    words: tuple[Word, ...]
    fault: NotationError | None = None

    @property
    def heading(self) -> str:
        """Who played: `Morphy – Duke Karl, Paris 1858`."""
        names = " – ".join(self.tags.get(name, "?") for name in ("White", "Black"))
        event = self.tags.get("Event", "?")
        return names if event == "?" else f"{names}, {event}"


def write(events: Sequence[Event], tags: Mapping[str, str] | None = None, games: Games = registered_game) -> str:
    """Return a match as PGN. `tags` are added, or replace those of the match; an empty one is left out.

    Raises RecordError if the events do not start with `created`.
    """
    if not events or not isinstance(events[0], Created):
        raise RecordError("a match begins with its making")
    created = events[0]
    ended = next((event for event in events if isinstance(event, Ended)), None)
    moved = [event for event in events if isinstance(event, Moved)]
    plies = len(created.opening) + len(moved)
    header = {**match_tags(created, ended, versions_of(events), plies, games), **(tags or {})}
    written = "".join(f"[{name} {quoted(value)}]\n" for name, value in header.items() if value)
    moves = _moves(created, moved, ended, games) if _is_chess(created) else _in_comment(created, moved, games)
    return f"{written}\n{wrapped([*moves, header['Result']], WIDTH)}\n"


def match_tags(
    created: Created, ended: Ended | None, versions: tuple[str, str], plies: int, games: Games
) -> dict[str, str]:
    """Return the tags of a match, of any game; its first player is in `White`."""
    controls, chess = time_control.parse_pair(created.time), _is_chess(created)
    fen = _fen(created, games) if chess else ""
    pgn_time = tuple(map(_seconds, controls))
    return {
        "Event": created.label or "?",
        "Site": "?",
        "Date": date(created.at),
        "Round": "?",
        "White": created.players[0],
        "Black": created.players[1],
        "Result": result_text(ended),
        "WhiteVersion": versions[0],
        "BlackVersion": versions[1],
        "TimeControl": pgn_time[0] if pgn_time[0] == pgn_time[1] else "?",
        "WhiteTimeControl": pgn_time[0] if pgn_time[0] != pgn_time[1] else "",
        "BlackTimeControl": pgn_time[1] if pgn_time[0] != pgn_time[1] else "",
        "ArbiterTime": created.time if "?" in pgn_time else "",
        "Game": "" if chess else created.game,
        "Player1": "" if chess else created.players[0],
        "Player2": "" if chess else created.players[1],
        "Variant": VARIANTS[_id(created)] if chess else "",
        "SetUp": "1" if fen else "",
        "FEN": fen,
        "Position": "" if chess else created.position,
        "PlyCount": str(plies),
        "OpeningPlies": str(len(created.opening) or ""),
        "Termination": "unterminated" if ended is None else _TERMINATIONS.get(ended.cause, "normal"),
        "EndReason": "" if ended is None else ended.reason,
        "Match": created.match,
    }


def _id(created: Created) -> str:
    return created.game.partition("(")[0]


def _is_chess(created: Created) -> bool:
    return _id(created) in VARIANTS


def _fen(created: Created, games: Games) -> str:
    """Return the start position, '' if programs know it: that of chess."""
    if created.position or not VARIANTS[_id(created)]:
        return created.position
    game = games(created.game)
    return game.text(game.initial())


def _in_comment(created: Created, moved: Sequence[Moved], games: Games) -> Iterator[str]:
    """Yield the moves of another game than chess as one comment: in its notation, or as recorded without its rules."""
    moves = (*created.opening, *(event.move for event in moved))
    if not moves:
        return
    yield "{"
    try:
        game = games(created.game)
    except Refusal:
        yield from (move.translate(_UNBRACED) for move in moves)
        yield "}"
        return
    position = game.start(created.position)
    for ply, move in enumerate(moves):
        yield f"{game.number(position, ply)} {game.notation(position, move)}".translate(_UNBRACED)
        position = game.play(position, move)
    yield "}"


def _seconds(control: time_control.TimeControl) -> str:
    """Return a time control as PGN writes it, `?` if it cannot."""
    match control:
        case time_control.Unlimited():
            return "-"
        case time_control.MainTime(main):
            return _number(main)
        case time_control.Increment(main, increment):
            return f"{_number(main)}+{_number(increment)}"
        case time_control.MovesPerPeriod(moves, session):
            return f"{moves}/{_number(session)}"
    return "?"


def _number(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}".rstrip("0").rstrip(".")


def _moves(created: Created, moved: Sequence[Moved], ended: Ended | None, games: Games) -> Iterator[str]:
    """Yield the moves with their numbers and comments, each as one part of a line."""
    game = games(created.game)
    position = game.start(created.position)
    timed = any(control != time_control.Unlimited() for control in time_control.parse_pair(created.time))
    said = said_in(moved, ended)
    comments = {event.ply: _comment(event, timed, said.get(event.ply)) for event in moved}
    numbered = False
    for ply, move in enumerate((*created.opening, *(event.move for event in moved))):
        number = game.number(position, ply).replace("…", "...") + " " if position.turn == 1 or not numbered else ""
        comment = comments.get(ply, "")
        yield f"{number}{game.notation(position, move)}{comment}"
        position, numbered = game.play(position, move), not comment


def _comment(event: Moved, timed: bool, said: Comment | None) -> str:
    notes = [] if said is None else _evaluation(event, said)
    if timed:
        notes.append(f"[%clk {time_text(event.clocks[event.seat - 1].remaining_ms)}]")
    notes.append(f"[%emt {time_text(event.ledger.charged)}]")
    return f" {{ {' '.join(notes)} }}"


def _evaluation(event: Moved, said: Comment) -> list[str]:
    """Return what a bot has said of a position as engine testers write it, and as pages read it."""
    search, side = said.search, 1 if event.seat == 1 else -1
    if search.mate is not None:
        score, seen = f"{'-' if search.mate < 0 else '+'}M{abs(search.mate)}", f"#{side * search.mate}"
    elif search.centipawns is not None:
        score = f"{search.centipawns / 100:+.2f}"
        seen = f"{side * search.centipawns / 100:.2f}".replace("-0.00", "0.00")
    elif said.evaluation is not None:
        return [f"[%eval {_pawns(said.evaluation, event.seat)}]"]
    else:
        return []
    nodes = "" if search.nodes is None else f", n={search.nodes}"
    return [f"{score}/{search.depth or 0} {event.ledger.charged / 1000:.3f}s{nodes}", f"[%eval {seen}]"]


def _pawns(permille: int, seat: int) -> str:
    """Return the evaluation of the player of a seat, an expected score, in pawns from White's side."""
    if 0 < permille < 1_000:
        centipawns = SCALE * log10(permille / (1_000 - permille))
    else:
        centipawns = MOST_CENTIPAWNS if permille else -MOST_CENTIPAWNS
    return f"{centipawns / 100 if seat == 1 else -centipawns / 100:.2f}".replace("-0.00", "0.00")


# Reading


def read(lines: Iterable[str]) -> Iterator[PgnGame]:
    """Yield the games of a text, without playing them. `play` plays one."""
    for number, (first, part) in enumerate(parts(lines), 1):
        yield _parsed(number, first, part)


def parts(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the lines of each game: tags after moves, or `1.` after a result, begin the next one."""
    part: list[str] = []
    first, in_moves, over = 1, False, False
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        if number == 1:
            line = line.removeprefix("\ufeff")
        tag = _TAG_LINE.match(line) is not None
        if (tag and in_moves) or (over and _BEGINS.match(line)):
            yield first, part
            part, in_moves, over = [], False, False
        if line.startswith("%") or (not part and not line.strip()):
            line = ""
            if not part:
                continue
        if not part:
            first = number
        part.append(line)
        if line.strip() and not tag:
            in_moves, over = True, _ENDED.search(line) is not None
        if len(part) > MOST_LINES or len(line) > LONGEST_LINE:
            raise NotationError(number, "a game of so many lines, or a line of so many characters, is no PGN")
    if part:
        yield first, part


def _parsed(number: int, first: int, part: Sequence[str]) -> PgnGame:
    tags: dict[str, str] = {}
    words: list[Word] = []
    try:
        start = 0
        for start, line in enumerate(part):
            at = 0
            while (found := _TAG.match(line, at)) is not None:
                tags.setdefault(found[1], re.sub(r"\\(.)", r"\1", found[2]))
                at = found.end()
            if line[at:].strip():
                if _TAG_LINE.match(line):
                    raise NotationError(first + start, f"{shortened(line[at:])!r} is no tag")
                break
        else:
            start = len(part)
        words += _words(part[start:], first + start)
    except NotationError as fault:
        return PgnGame(number, first, tags, tuple(words), fault)
    return PgnGame(number, first, tags, tuple(words))


def _words(lines: Sequence[str], first: int) -> Iterator[Word]:
    """Yield moves, results and comments, without variations, glyphs and numbers."""
    brace = 0  # the line of an open comment
    opened: list[int] = []  # the lines of open variations
    for number, line in enumerate(lines, first):
        at = 0
        while at < len(line):
            if brace:
                end = line.find("}", at)
                at, brace = (len(line), brace) if end < 0 else (end + 1, 0)
                continue
            found = _TOKEN.match(line, at)
            if found is None:
                raise NotationError(number, f"{line[at]!r} is out of place")
            at, (skipped, bracket, word) = found.end(), found.groups()
            if not opened and (bracket == "{" or (skipped or "").startswith(";")):
                yield Word(number, COMMENT)
            if bracket == "{":
                brace = number
            elif bracket == "(":
                opened.append(number)
            elif bracket == ")" and not opened:
                raise NotationError(number, "')' closes nothing")
            elif bracket == ")":
                opened.pop()
            elif word and not opened and not word.isdigit():
                yield Word(number, word)
    if brace or opened:
        raise NotationError(brace or opened[-1], f"'{'{' if brace else '('}' is never closed")


def play(game: PgnGame, most: int = 0, games: Games = registered_game) -> PlayedGame:
    """Play the moves of a game, at most `most` of them (0: all), or `TO_COMMENT`.

    Raises NotationError, naming the line, for a game that is no chess by the rules or contradicts itself.
    """
    if game.fault is not None:
        raise game.fault
    variant = game.tags.get("Variant", "").casefold()
    if variant not in _NAMES:
        raise NotationError(game.line, f"the variant {shortened(variant)!r} is not played here")
    rules = games(_NAMES[variant])
    start = game.tags.get("FEN", "")
    try:
        position = rules.start(start)
    except Refusal as refusal:
        raise NotationError(game.line, refusal.message) from None
    moves: list[str] = []
    result = ""
    for line, word in game.words:
        if word == COMMENT:
            if moves and most == TO_COMMENT:
                break
            continue
        if result:
            raise NotationError(line, f"{shortened(word)!r} comes after the result")
        if word in {*RESULTS.values(), GOES_ON}:
            result = word
            continue
        try:
            move = rules.from_notation(position, word)
            after = rules.play(position, move)
        except Refusal as refusal:
            where = rules.number(position, len(moves))
            raise NotationError(line, f"{where} {shortened(word)}: {refusal.message}") from None
        moves.append(move)
        position = after
        if len(moves) == most:
            break
    tag = game.tags.get("Result", "")
    result = result or (tag if tag in RESULTS.values() else GOES_ON)
    outcome = position.outcome
    if outcome is not None and result not in (RESULTS[outcome.winner], GOES_ON):
        last = game.words[-1].line if game.words else game.line
        raise NotationError(last, f"the result is {result}, but by the rules it is {RESULTS[outcome.winner]}")
    return PlayedGame(rules.variant, start, tuple(moves), result, outcome is not None)
