"""The output format of ratings: leaderboards as tables, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from typing import Any, Final

import arbiter_client as arb

from arbiter.cli.table_options import TableOptions
from arbiter.cli.terminal import for_people, say, table, tell, write_json
from arbiter.ratings.counts import identity

FORFEITS: Final = {"timeouts": "on time", "absences": "absent", "violations": "by violation"}
"""What was lost without play, and the headings of these columns."""

COLUMNS: Final = (
    *("place", "group", "player", "version", "rating", "low", "high", "games", "provisional", "above next"),
    *FORFEITS.values(),
)
"""The columns of a leaderboard for programs."""


def print_json(value: Any) -> None:
    """Print a value from the client as JSON."""
    write_json(asdict(value))


def print_board(board: arb.Leaderboard, output: TableOptions | None) -> None:
    """Print a leaderboard: a table with headings on a terminal, otherwise lines with tabs."""
    if not for_people(output):
        table(COLUMNS, map(_line, board.rows), "", output)
        return
    about = board.game or "all games together"
    say(f"{about}: {board.games:,} rated games, {board.players:,} players", "bold")
    headings, rows = drawn_rows(board.rows)
    table(headings, rows, "Nobody has played a rated game.", output)
    if board.rows:
        for sentence in _sentences(board):
            say(sentence, "dim")
    if board.note:
        say(board.note, "yellow")


def tell_anchors(board: arb.Leaderboard, output: TableOptions | None) -> None:
    """Say which anchors have no effect, and which ones the games contradict: to programs on standard error."""
    for sentence in anchor_sentences(board):
        if for_people(output):
            say(sentence, "yellow")
        else:
            tell(sentence)


def anchor_sentences(board: arb.Leaderboard) -> Iterator[str]:
    """Yield what is wrong with the anchors of a leaderboard that has rows."""
    players = {name for row in board.rows for name in (row.player, identity(row.player, row.version))}
    for anchor in board.anchors if board.rows else ():
        given = f"The anchor {anchor.player} = {anchor.rating:g}"
        if not anchor.fixes:
            near = get_close_matches(anchor.player, sorted(players), n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else "."
            yield f"{given} has no effect: no such player has a rated game here{hint}"
        for fixed in anchor.fixes:
            if fixed.contradicted and fixed.by_games is not None:
                said = f"{whole(fixed.by_games.value)} ({interval(fixed.by_games)})"
                yield f"{given} contradicts the games: by them, {fixed.player} is at {said} on the anchors' scale."


def drawn_rows(rows: Sequence[arb.LeaderboardRow]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the headings and rows of a leaderboard for people, without columns that are empty in every row.

    `≈` stands between two rows whose order is not established, `?` behind a provisional rating.
    """
    versions = any(row.version for row in rows)
    lost = [name for name in FORFEITS if any(getattr(row.forfeits, name) for row in rows)]
    headings = ("place", "", "player", *(("version",) if versions else ()), "rating", "95 % interval", "games")
    lines = [
        (
            *(str(row.place), "≈" if number + 1 < len(rows) and rows[number + 1].group == row.group else ""),
            *(row.player, *((row.version,) if versions else ())),
            *(f"{whole(row.rating.value)}{'?' if row.provisional else ''}", interval(row.rating), str(row.games)),
            *(str(getattr(row.forfeits, name) or "") for name in lost),
        )
        for number, row in enumerate(rows)
    ]
    return (*headings, *(FORFEITS[name] for name in lost)), lines


def interval(estimate: arb.Estimate) -> str:
    """Return the ends of an interval, in whole Elo points."""
    return f"{whole(estimate.low)} to {whole(estimate.high)}"


def about(estimate: arb.Estimate) -> str:
    """Return an estimated difference with its interval: `+12 (-3 to 27)`."""
    return f"{signed(estimate.value)} ({interval(estimate)})"


def whole(elo: float) -> str:
    """Return Elo points as a whole number, without the sign of a zero."""
    return f"{round(elo)}"


def signed(elo: float) -> str:
    """Return Elo points as a whole number with its sign; 0 has none."""
    return f"{round(elo):+d}" if round(elo) else "0"


def _line(row: arb.LeaderboardRow) -> tuple[str, ...]:
    numbers = (row.rating.value, row.rating.low, row.rating.high)
    return (
        *(str(row.place), str(row.group), row.player, row.version),
        *(f"{number:.3f}" for number in numbers),
        *(str(row.games), "yes" if row.provisional else "no"),
        "" if row.above_next is None else f"{row.above_next:.6f}",
        *(str(getattr(row.forfeits, name)) for name in FORFEITS),
    )


def _sentences(board: arb.Leaderboard) -> list[str]:
    said = [
        f"Seat 1 is worth {about(board.advantage)} Elo; two equal players draw {board.draws.value:.0%} of their games."
    ]
    if any(row.provisional for row in board.rows):
        said.append("? provisional: little is known yet.")
    if any(above.group == below.group for above, below in zip(board.rows, board.rows[1:], strict=False)):
        said.append("≈ the order of this row and the next is not established.")
    if board.anchors:
        given = ", ".join(f"{anchor.player} {anchor.rating:g}" for anchor in board.anchors)
        said.append(f"Given: {given}.")
    else:
        said.append("0 is the mean of all versions that have played.")
    return said
