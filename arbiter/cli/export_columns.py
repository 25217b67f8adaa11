"""The columns of `arbiter export --parquet`: a table of matches and a table of their moves, for analysts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from arbiter.errors import Refusal
from arbiter.games.contract import Seat
from arbiter.matches.clock import SeatClock
from arbiter.matches.commands import ResultKind
from arbiter.matches.comments import Comment, key_of, unseal
from arbiter.matches.events import Ended, Event, Moved, Started
from arbiter.matches.match import Match
from arbiter.matches.time_control import Unlimited

TEXT: Final = "text"
TEXTS: Final = "list of text"
TRUTH: Final = "boolean"
INSTANT: Final = "timestamp"
SMALL: Final = "int8"
SHORT: Final = "int16"
INT: Final = "int32"
LONG: Final = "int64"
REAL: Final = "double"

COLUMN_FILE: Final = "columns.md"  #: what the columns mean, beside the tables

Row = TypeVar("Row")


class Column(NamedTuple, Generic[Row]):
    """A column: its name, its kind (one of the constants above), what it says, and its value in a row.

    optional: whether the value may be None.
    """

    name: str
    kind: str
    about: str
    value: Callable[[Row], Any]
    optional: bool = False


class MatchRow(NamedTuple):
    """A finished match, with the event that ended it and when its first turn began (None: it never did)."""

    match: Match
    ended: Ended
    started: int | None


class MoveRow(NamedTuple):
    """A move of a finished match.

    before: the position in which it was played, and legal: how many legal moves that has. None if the rules can't tell.
    score: of the mover at the end, None in a void match. event: None for a move of the opening, which nobody played.
    clock: the mover's, after the move; None without one. comment: None if the bot sent none.
    """

    match_id: str
    ply: int
    seat: Seat
    move: str
    before: str | None
    legal: int | None
    score: float | None
    event: Moved | None
    clock: SeatClock | None
    comment: Comment | None


def match_row(match: Match, events: Sequence[Event]) -> MatchRow:
    """Return the row of a finished match and its events."""
    assert match.result is not None
    return MatchRow(match, match.result, next((event.at for event in events if isinstance(event, Started)), None))


def move_rows(match: Match, events: Sequence[Event]) -> Iterator[MoveRow]:
    """Yield the rows of a finished match's moves, the opening first.

    Raises RecordError for a comment that can't be opened with the key in the record.
    """
    assert match.result is not None
    key = key_of(match.result.key) if match.result.key else None
    moved = [event for event in events if isinstance(event, Moved)]
    opening = len(match.created.opening)
    for ply, (move, seat, (before, legal)) in enumerate(zip(match.moves, match.turns, _faced(match), strict=True)):
        mover: Seat = 1 if seat == 1 else 2
        event = moved[ply - opening] if ply >= opening else None
        comment = clock = None
        if event is not None:
            comment = unseal(event.comment, key, ply) if key is not None and event.comment else None
            clock = None if isinstance(match.controls[mover - 1], Unlimited) else event.clocks[mover - 1]
        yield MoveRow(match.id, ply, mover, move, before, legal, _score(match.result, mover), event, clock, comment)


def _faced(match: Match) -> Iterator[tuple[str | None, int | None]]:
    """Yield for each move the position in which it was played, and how many legal moves that has.

    Both are None if the rules are not installed, and after a move that the installed ones refuse.
    """
    game, position = match.game, None
    if game.installed:
        position = game.start(match.created.position)
    for move in match.moves:
        if position is None:
            yield None, None
            continue
        yield game.text(position), len(game.moves(position))
        try:
            position = game.play(position, move)
        except Refusal:
            position = None


def _score(ended: Ended, seat: Seat) -> float | None:
    if ended.result is ResultKind.VOID:
        return None
    return 0.5 if ended.winner == 0 else float(ended.winner == seat)


MATCHES: Final[tuple[Column[MatchRow], ...]] = (
    Column("match_id", TEXT, "the id of the match", lambda row: row.match.id),
    Column("game", TEXT, "the game: `circle-of-life`", lambda row: row.match.game.facts.id),
    Column(
        "variant",
        TEXT,
        "the game with its parameters: `circle-of-life(target=1)`",
        lambda row: row.match.created.game,
    ),
    Column("player_1", TEXT, "who had seat 1", lambda row: row.match.players[0]),
    Column("player_2", TEXT, "who had seat 2", lambda row: row.match.players[1]),
    Column(
        "version_1",
        TEXT,
        "the version of seat 1's bot for which the match counts; empty: not known",
        lambda row: row.match.versions[0],
    ),
    Column("version_2", TEXT, "the same of seat 2", lambda row: row.match.versions[1]),
    Column(
        "time_control", TEXT, "the time control, such as `5m+3s`; `none`: no clock", lambda row: row.match.created.time
    ),
    Column("rated", TRUTH, "whether it counts for ratings, unless it is void", lambda row: row.match.created.rated),
    Column(
        "label",
        TEXT,
        "the organiser's label; for games of a tournament its id",
        lambda row: row.match.created.label,
    ),
    Column("creator", TEXT, "who made the match", lambda row: row.match.created.creator),
    Column("created", INSTANT, "when the match was made", lambda row: row.match.created.at),
    Column("started", INSTANT, "when the first turn began; null: never", lambda row: row.started, True),
    Column("ended", INSTANT, "when the match ended", lambda row: row.ended.at),
    Column("result", TEXT, "`win`, `draw` or `void` (the match does not count)", lambda row: row.ended.result.value),
    Column("winner", SMALL, "the seat that won; 0: none", lambda row: row.ended.winner),
    Column("score_1", REAL, "the score of seat 1: 1, 0.5 or 0; null: void", lambda row: _score(row.ended, 1), True),
    Column("score_2", REAL, "the same of seat 2", lambda row: _score(row.ended, 2), True),
    Column(
        "reason", TEXT, "the end reason, of the game (`arbiter games`) or of the arbiter", lambda row: row.ended.reason
    ),
    Column(
        "cause",
        TEXT,
        "what caused the end: `rules`, `agreement`, `resignation`, `time`, `rule_violation`, `absence`, "
        "`organiser` or `arbiter`",
        lambda row: row.ended.cause.value,
    ),
    Column(
        "party",
        TEXT,
        "who is responsible: `player`, `players`, `organiser` or `arbiter`",
        lambda row: row.ended.party.value,
    ),
    Column("seat", SMALL, "the seat that is responsible; null: not one player", lambda row: row.ended.seat, True),
    Column("note", TEXT, "the organiser's note on the end", lambda row: row.ended.note),
    Column("plies", INT, "how many moves were played, the opening included", lambda row: row.match.ply),
    Column(
        "opening_plies",
        INT,
        "how many of them are the opening, which no player chose",
        lambda row: len(row.match.created.opening),
    ),
    Column("strikes_1", INT, "illegal and malformed moves of seat 1", lambda row: row.match.strikes[0]),
    Column("strikes_2", INT, "the same of seat 2", lambda row: row.match.strikes[1]),
    Column("position", TEXT, "the last position, in the notation of the game", lambda row: row.match.text),
    Column("records", INT, "how many events the transcript has", lambda row: row.match.revision),
    Column(
        "digest", TEXT, "SHA-256 of the last event's bytes: the head of the hash chain", lambda row: row.match.digest
    ),
)


def _in_ledger(name: str) -> Callable[[MoveRow], Any]:
    return lambda row: getattr(row.event.ledger, name) if row.event is not None else None


def _searched(name: str) -> Callable[[MoveRow], Any]:
    return lambda row: getattr(row.comment.search, name) if row.comment is not None else None


def _on_clock(name: str) -> Callable[[MoveRow], Any]:
    return lambda row: getattr(row.clock, name) if row.clock is not None else None


MOVES: Final[tuple[Column[MoveRow], ...]] = (
    Column("match_id", TEXT, "the id of the match", lambda row: row.match_id),
    Column("ply", INT, "how many moves were played before this one", lambda row: row.ply),
    Column("seat", SMALL, "whose move it is, 1 or 2", lambda row: row.seat),
    Column("opening", TRUTH, "whether it is part of the opening", lambda row: row.event is None),
    Column("move", TEXT, "the move, in the notation of the game", lambda row: row.move),
    Column(
        "position_before",
        TEXT,
        "the position in which it was played; null: the rules installed here can't tell",
        lambda row: row.before,
        True,
    ),
    Column("legal_moves", INT, "how many legal moves that position has; null: as before", lambda row: row.legal, True),
    Column(
        "position",
        TEXT,
        "the position after the move; null: opening",
        lambda row: row.event and row.event.position,
        True,
    ),
    Column("started", INSTANT, "when the clock of this turn started; null: opening", _in_ledger("started"), True),
    Column(
        "handed_over",
        INSTANT,
        "when the turn went out on the player's stream; null: none",
        _in_ledger("handed_over"),
        True,
    ),
    Column("arrived", INSTANT, "when the move reached the server; null: opening", _in_ledger("arrived"), True),
    Column(
        "elapsed_ms",
        LONG,
        "from `started` to `arrived`, at least 0; null: opening",
        lambda row: max(0, row.event.ledger.arrived - row.event.ledger.started) if row.event is not None else None,
        True,
    ),
    Column(
        "credited_ms",
        LONG,
        "the part of it that the network or the server took",
        _in_ledger("credited"),
        True,
    ),
    Column("charged_ms", LONG, "the rest, which the player paid", _in_ledger("charged"), True),
    Column(
        "left_ms",
        LONG,
        "how long the player could still have thought",
        _in_ledger("left"),
        True,
    ),
    Column(
        "round_trip_ms",
        LONG,
        "the round trip on the player's stream, or to a run's engine and back; null: not measured",
        _in_ledger("round_trip"),
        True,
    ),
    Column(
        "remaining_ms",
        LONG,
        "main time, or the bank, on the mover's clock after the move; null: no clock, or opening",
        _on_clock("remaining_ms"),
        True,
    ),
    Column("periods", INT, "byo-yomi periods that are left", _on_clock("periods"), True),
    Column("moves_left", INT, "moves to go in the session", _on_clock("moves_left"), True),
    Column(
        "evaluation",
        SHORT,
        "the score that the bot expected, in permille (0 lost, 500 even, 1000 won)",
        lambda row: row.comment.evaluation if row.comment is not None else None,
        True,
    ),
    Column(
        "score",
        REAL,
        "the score of the mover at the end of the match; null: void",
        lambda row: row.score,
        True,
    ),
    Column(
        "line",
        TEXTS,
        "the moves that the bot expected, from this one on",
        lambda row: list(row.comment.line) or None if row.comment is not None else None,
        True,
    ),
    Column(
        "centipawns",
        LONG,
        "what the engine expected, in hundredths of a pawn",
        _searched("centipawns"),
        True,
    ),
    Column(
        "mate",
        LONG,
        "moves until it mates, negative if it is mated",
        _searched("mate"),
        True,
    ),
    Column("depth", LONG, "how deep it has searched, in plies", _searched("depth"), True),
    Column("nodes", LONG, "how many positions it has looked at", _searched("nodes"), True),
    Column(
        "time_ms",
        LONG,
        "how long it has searched, as it says",
        _searched("time_ms"),
        True,
    ),
)

_PAGE: Final = """\
# The tables of `arbiter export --parquet`

Newer matches come first; the moves of a match are together and in order. Instants are UTC, with milliseconds. What a
bot did not say is null.

## matches.parquet

{matches}

## moves.parquet

{moves}
"""


def page() -> str:
    """Return what the columns mean, as Markdown."""
    return _PAGE.format(matches=_listed(MATCHES), moves=_listed(MOVES))


def _listed(columns: Sequence[Column[Any]]) -> str:
    rows = [f"| `{one.name}` | {one.kind}{', or null' if one.optional else ''} | {one.about} |" for one in columns]
    return "\n".join(("| column | type | meaning |", "| -- | -- | -- |", *rows))
