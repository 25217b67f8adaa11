"""Matches of Go in the Smart Game Format (FF[4], GM[1]): out of the record, and games of other programs in.

| property | what it is |
| --- | --- |
| `BL`, `WL` | the mover's time left in seconds, after the move |
| `OB`, `OW` | its byo-yomi periods, or its moves to go |
| `C` | the score that the bot expected for itself, once the match has ended; how players agreed on dead stones |
| `TB`, `TW` | the territories that the players have agreed on: stones of the other colour in them were dead |
| `AB`, `AW`, `PL` | the start position, if it is not the empty board |

A pass is `B[]` or `B[tt]`.

Programs end a game after two passes with dead stones on the board. A whole game of which the last node has territories
is read as one with `scoring=agreed`, in which both players agree on the dead stones that follow from them. If the
result of a file is not that of the rules even so, its last pass is left out, and the result stands as the file has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from arbiter.errors import Refusal, shortened
from arbiter.event_json.canonical import RecordError
from arbiter.games.contract import AnyGame
from arbiter.games.go import AGREE, AGREED, DISPUTE, PASS
from arbiter.games.line import follow
from arbiter.games.registry import game as registered_game
from arbiter.games.rows import EMPTY, Rows
from arbiter.matches import time_control
from arbiter.matches.commands import ResultKind
from arbiter.matches.comments import Comment
from arbiter.matches.events import Cause, Created, Ended, Event, MatchEndReason, Moved
from arbiter.matches.evolution import Games
from arbiter.matches.match import versions_of
from arbiter.matches.notation import GOES_ON, RESULTS, NotationError, PlayedGame, date, said_in
from arbiter.matches.sgf_nodes import SgfGame
from arbiter.plain_text import plain

GAME: Final = "go"
COLOURS: Final = "BW"  #: by seat
SIGNS: Final = "Ss."  #: of the cells in the text of a position
LETTERS: Final = "abcdefghijklmnopqrs"
A_LINE: Final = 10  #: moves in a line of the text
RULES: Final = "Tromp-Taylor"
AGREED_RULES: Final = "Tromp-Taylor, dead stones by agreement"
_SCORED: Final = frozenset({"area", "length"})


def write(events: Sequence[Event], games: Games = registered_game) -> str:
    """Return a match of Go as SGF.

    Raises RecordError if the events do not start with `created`, or the game is another one.
    """
    if not events or not isinstance(events[0], Created):
        raise RecordError("a match begins with its making")
    created = events[0]
    if created.game.partition("(")[0] != GAME:
        raise RecordError(f"SGF is for Go, and this is a match of {created.game}")
    game = games(created.game)
    ended = next((event for event in events if isinstance(event, Ended)), None)
    moved = [event for event in events if isinstance(event, Moved)]
    position = game.start(created.position)
    first = position
    said = said_in(moved, ended)
    nodes = []
    for ply, move in enumerate((*created.opening, *(event.move for event in moved))):
        event = moved[ply - len(created.opening)] if ply >= len(created.opening) else None
        nodes.append(_node(game, position.turn, move, event, said.get(ply)))
        position = game.play(position, move)
    root = _root(game, created, ended, versions_of(events)) | _setup(game, created, first)
    root["RE"] = [_result(game, position, ended)]
    if position.passes == AGREED:
        nodes.append(";" + _properties(_territories(game, position)))
    lines = ["".join(nodes[at : at + A_LINE]) for at in range(0, len(nodes), A_LINE)]
    return "(;" + "\n".join([_properties(root), *lines]) + ")\n"


def _root(game: AnyGame, created: Created, ended: Ended | None, versions: tuple[str, str]) -> dict[str, list[str]]:
    main = time_control.parse_pair(created.time)[0]
    seconds = f"{main.main_ms / 1000:g}" if hasattr(main, "main_ms") else ""
    notes = [f"match {created.match}", f"time {created.time}"]
    if created.opening:
        notes.append(f"the first {len(created.opening)} moves are an opening that nobody played")
    if ended is not None:
        notes.append(f"end: {ended.reason.replace('_', ' ')}" + (f" ({ended.note})" if ended.note else ""))
    names = {"PB": created.players[0], "PW": created.players[1], "EV": created.label}
    shown = {name: [text] for name, text in names.items() if text}
    shown |= {name: [text] for name, text in zip(("BT", "WT"), versions, strict=True) if text}
    return {
        "FF": ["4"],
        "GM": ["1"],
        "CA": ["UTF-8"],
        "AP": ["arbiter"],
        "SZ": [str(game.values["size"])],
        "KM": [str(game.values["komi"])],
        "RU": [AGREED_RULES if game.values["scoring"] == "agreed" else RULES],
        "DT": [date(created.at).replace(".", "-")],
        **shown,
        **({"TM": [seconds]} if seconds else {}),
        "GC": ["; ".join(notes)],
    }


def _setup(game: AnyGame, created: Created, first: Any) -> dict[str, list[str]]:
    if not created.position:
        return {}
    found: dict[str, list[str]] = {"PL": [COLOURS[first.turn - 1]]}
    for name, piece in zip(game.board.names, game.pieces(first), strict=True):
        if piece.owner:
            found.setdefault(f"A{COLOURS[piece.owner - 1]}", []).append(_point(game, name))
    return found


def _territories(game: AnyGame, position: Any) -> dict[str, list[str]]:
    """Return the empty intersections of each seat's area."""
    names, pieces = game.board.names, game.pieces(position)
    return {
        f"T{COLOURS[region.owner - 1]}": [_point(game, names[cell]) for cell in region.cells if not pieces[cell].owner]
        for region in game.regions(position)
    }


def _point(game: AnyGame, move: str) -> str:
    """Return a cell as SGF writes it, from the top left; '' for a pass."""
    if move == PASS:
        return ""
    size = int(str(game.values["size"]))
    file, rank = divmod(game.board.index[move], size)
    return LETTERS[file] + LETTERS[size - 1 - rank]


def _node(game: AnyGame, turn: int, move: str, event: Moved | None, said: Comment | None) -> str:
    colour = COLOURS[turn - 1]
    placed = move == PASS or move in game.board.index
    found = {colour: [_point(game, move)]} if placed else {"C": [f"{game.facts.seat_name(turn)}: {move}"]}
    if event is not None:
        clock = event.clocks[event.seat - 1]
        if clock.remaining_ms or clock.periods or clock.moves_left:
            found[f"{colour}L"] = [f"{clock.remaining_ms / 1000:g}"]
        if clock.periods or clock.moves_left:
            found[f"O{colour}"] = [str(clock.periods or clock.moves_left)]
    if said is not None and said.evaluation is not None:
        found["C"] = ["; ".join([*found.get("C", ()), f"expects {said.evaluation / 10:g} %"])]
    return ";" + _properties(found)


def _properties(values: Mapping[str, Sequence[str]]) -> str:
    return "".join(name + "".join(f"[{_escaped(each)}]" for each in found) for name, found in values.items())


def _escaped(text: str) -> str:
    return plain(text).replace("\\", "\\\\").replace("]", "\\]")


def _result(game: AnyGame, position: Any, ended: Ended | None) -> str:
    if ended is None:
        return "?"
    if ended.result is ResultKind.VOID:
        return "Void"
    if not ended.winner:
        return "0"
    colour = COLOURS[ended.winner - 1]
    if ended.cause is Cause.RULES and ended.reason in _SCORED:
        counted = game.counters(position)
        lead = counted["Black area"] - counted["White area"] - Decimal(str(game.values["komi"]))
        return f"{colour}+{abs(lead):g}"
    short = {MatchEndReason.RESIGNATION.value: "R", MatchEndReason.TIME.value: "T"}.get(ended.reason)
    return f"{colour}+{short or ('F' if ended.cause in (Cause.ABSENCE, Cause.RULE_VIOLATION) else '')}"


# Reading


def play(game: SgfGame, most: int = 0, games: Games = registered_game) -> PlayedGame:
    """Play the moves of a game, at most `most` of them (0: all).

    Raises NotationError, naming the line, for a game that is no Go by the rules here, and for stones that are set or
    taken off after the first move.
    """
    if game.fault is not None:
        raise game.fault
    if not game.nodes:
        raise NotationError(game.line, "a game without a node")
    if game.root("GM", "1") != "1":
        raise NotationError(game.line, f"GM[{shortened(game.root('GM'))}] is another game than Go")
    try:
        rules = games(_variant(game, whole=not most))
        start = _start(game, rules)
        position = rules.start(start)
    except Refusal as refusal:
        raise NotationError(game.line, refusal.message) from None
    line, moves = game.line, list[str]()
    for line, values in game.nodes:
        set_later = moves and {"AB", "AW", "AE"} & values.keys()
        if set_later:
            raise NotationError(line, "stones that are set after the first move")
        for colour in values.keys() & set(COLOURS):
            position = _played(rules, position, moves, line, (colour, values[colour][0]))
        if moves and len(moves) == most:
            break
    agreement = _agreement(game, rules, position)
    result, outcome = _read_result(game.root("RE")), follow(rules, position, agreement).final.outcome
    if outcome is not None and moves[-1] == PASS and result != RESULTS[outcome.winner]:
        return PlayedGame(rules.variant, start, tuple(moves[:-1]), result, False)
    return PlayedGame(rules.variant, start, (*moves, *agreement), result, outcome is not None)


def _played(rules: AnyGame, position: Any, moves: list[str], line: int, said: tuple[str, str]) -> Any:
    """Add the move that a node says, as (colour, point), and return the position after it.

    If the players might agree on dead stones, and one of them plays on instead, there was a dispute.
    """
    try:
        if position.passes >= 2 and position.outcome is None:
            position = rules.play(position, DISPUTE)
            moves.append(DISPUTE)
        move = _move(rules, said[1])
        if said[0] != COLOURS[position.turn - 1]:
            raise NotationError(line, f"move {len(moves) + 1}: {rules.facts.seat_name(position.turn)} is to move")
        position = rules.play(position, move)
    except Refusal as refusal:
        raise NotationError(line, f"move {len(moves) + 1}: {refusal.message}") from None
    moves.append(move)
    return position


def _agreement(game: SgfGame, rules: AnyGame, position: Any) -> list[str]:
    """Return the moves by which both players agree that the stones in the other's territory are dead."""
    legal = rules.moves(position)
    if AGREE not in legal or not _has_territories(game):
        return []
    stones = {name: piece.owner for name, piece in zip(rules.board.names, rules.pieces(position), strict=True)}
    dead = {
        f"dead-{point}"
        for owner, name in ((2, "TB"), (1, "TW"))
        for value in game.nodes[-1][1].get(name, ())
        for point in _points(rules, value, game.nodes[-1][0])
        if stones[point] == owner
    }
    return [*(move for move in legal if move in dead), AGREE, AGREE]


def _has_territories(game: SgfGame) -> bool:
    return not {"TB", "TW"}.isdisjoint(game.nodes[-1][1])


def _variant(game: SgfGame, whole: bool) -> str:
    """Return the variant of a game; a file without komi has none. Only in a whole game the players agree on stones."""
    size, komi = game.root("SZ", "19").strip(), game.root("KM", "0").strip()
    try:
        number = Decimal(komi).normalize() + 0  # no -0
    except InvalidOperation:
        raise NotationError(game.line, f"KM[{shortened(komi)}] is no number") from None
    agreed = whole and (_has_territories(game) or game.root("RU") == AGREED_RULES)
    return f"{GAME}(size={size},komi={number:f}{',scoring=agreed' if agreed else ''})"


def _start(game: SgfGame, rules: AnyGame) -> str:
    """Return the text of the start position that the root sets up, '' for the empty board with Black to move."""
    cells = bytearray([EMPTY] * len(rules.board.names))
    for name, sign in (("AB", SIGNS[0]), ("AW", SIGNS[1])):
        for value in game.nodes[0][1].get(name, ()):
            for point in _points(rules, value, game.line):
                cells[rules.board.index[point]] = ord(sign)
    colour = game.root("PL")[:1].upper()
    for _, values in game.nodes:
        colour = colour or next((each for each in COLOURS if each in values), "")
    turn = 2 if colour == "W" else 1
    if turn == 1 and bytes(cells).count(EMPTY) == len(cells):
        return ""
    return f"{Rows(rules.board, SIGNS).write(bytes(cells))} {turn} 0 0"


def _points(rules: AnyGame, value: str, line: int) -> list[str]:
    """Return the cells of a point, or of a rectangle such as `aa:cc`."""
    first, rectangle, last = value.partition(":")
    corners = [_coordinates(rules, each, line) for each in ([first, last] if rectangle else [first, first])]
    size = int(str(rules.values["size"]))
    return [
        rules.board.names[file * size + rank]
        for file in range(min(corners[0][0], corners[1][0]), max(corners[0][0], corners[1][0]) + 1)
        for rank in range(min(corners[0][1], corners[1][1]), max(corners[0][1], corners[1][1]) + 1)
    ]


def _coordinates(rules: AnyGame, point: str, line: int) -> tuple[int, int]:
    size = int(str(rules.values["size"]))
    if len(point) != 2 or not set(point) <= set(LETTERS[:size]):
        raise NotationError(line, f"{shortened(point)!r} is no point of the board")
    return LETTERS.index(point[0]), size - 1 - LETTERS.index(point[1])


def _move(rules: AnyGame, value: str) -> str:
    size = int(str(rules.values["size"]))
    if value == "" or value == "tt":
        return PASS
    if len(value) != 2 or not set(value) <= set(LETTERS[:size]):
        raise rules.malformed_move(value)
    return rules.board.names[LETTERS.index(value[0]) * size + size - 1 - LETTERS.index(value[1])]


def _read_result(text: str) -> str:
    if text[:2] in ("B+", "W+"):
        return RESULTS[1 if text[0] == "B" else 2]
    return RESULTS[0] if text in ("0", "Draw") else GOES_ON
