"""What the operator decides about ratings: `arbiter ratings rule`, `take-back`, `rulings`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal

import arbiter_client as arb
from cyclopts import Parameter

from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import Failure
from arbiter.cli.ratings import app, rulings_of
from arbiter.cli.table_options import AnyTableOptions
from arbiter.cli.terminal import counted, instant, remark, table
from arbiter.ratings.rulings import Decision, Ruling, selected

COLUMNS: Final = ("ruling", "at", "by", "decision", "games", "about", "note")

DecisionName = Literal["unrated", "rated"]


@Parameter(name="*")
@dataclass(frozen=True)
class RulingOptions:
    """What all rulings on ratings have in common."""

    note: Annotated[str, Parameter(help="Why; everybody can read it.")] = ""
    revision: Annotated[
        int | None,
        Parameter(help="Refuse if there is a newer ruling than this one; 0 if there was none."),
    ] = None
    preview: Annotated[bool, Parameter(negative=(), help="Only show which games would count otherwise.")] = False
    output: AnyTableOptions | None = None
    connection: Connection | None = None


@app.command
def rule(
    decision: DecisionName,
    /,
    *match_ids: str,
    player: Annotated[list[str] | None, Parameter(negative=())] = None,
    label: str = "",
    game: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    how: RulingOptions | None = None,
) -> None:
    """Make rated games unrated, or rated again, and list the matches that count otherwise from now on.

    Matches stay as they were played. A ruling is an event of a log of its own, with who and why, and all ratings follow
    from the games and this log. Of several rulings on a game, the newest counts. Needs a token with scope admin.

    :param decision: unrated, or rated.
    :param match_ids: These matches. Otherwise say which by options; a game has to meet all of them.
    :param player: The games of this player; given several times, the games between any two of these players.
    :param label: Only games with this label, such as a tournament's id.
    :param game: Only this variant.
    :param since: Only games that ended at this time or later, such as 2026-11-01T18:00:00Z.
    :param until: Only games that ended before this time.
    """
    games = arb.GameSelection(
        tuple(player or ()), label, game, _milliseconds(since), _milliseconds(until), tuple(match_ids)
    )
    _rule(arb.RatingDecision[decision.upper()], games, 0, how)


@app.command
def take_back(ruling: int, /, *, how: RulingOptions | None = None) -> None:
    """Take a ruling on ratings back, as after an appeal: its games are as if it had not been made.

    :param ruling: The number of the ruling, as `arbiter ratings rulings` shows it.
    """
    _rule(arb.RatingDecision.TAKEN_BACK, None, ruling, how)


@app.command
def rulings(*, output: AnyTableOptions | None = None, connection: Connection | None = None) -> None:
    """List the rulings on ratings."""
    with connected(connection) as client:
        found = rulings_of(client).all
    gone = {each.ruling: number for number, each in enumerate(found, 1) if each.decision is Decision.TAKEN_BACK}
    rows = [_row(number, each, gone.get(number, 0)) for number, each in enumerate(found, 1)]
    table(COLUMNS, rows, "There is no ruling on ratings.", output)


def _rule(
    decision: arb.RatingDecision, games: arb.GameSelection | None, ruling: int, how: RulingOptions | None
) -> None:
    how = how or RulingOptions()
    with connected(how.connection) as client:
        made = client.rule_on_ratings(
            decision, games, ruling=ruling, note=how.note, revision=how.revision, preview=how.preview
        )
    number = counted(len(made.match_ids), "game")
    remark(f"It would change {number}." if how.preview else f"Ruling {made.ruling} changes {number}.", how.output)
    table(("match",), [(match_id,) for match_id in made.match_ids], "No game counts otherwise than before.", how.output)


def _row(number: int, ruling: Ruling, by: int) -> tuple[str, ...]:
    about = f"ruling {ruling.ruling}" if ruling.ruling else selected(ruling.selection)
    decision = ruling.decision.replace("_", " ") + (f", taken back by {by}" if by else "")
    games = "" if ruling.ruling else str(len(ruling.matches))
    return str(number), instant(ruling.at), ruling.caller, decision, games, about, ruling.note


def _milliseconds(given: datetime | None) -> int:
    if given is None:
        return 0
    if given.tzinfo is None:
        raise Failure(f"{given} is another instant in each time zone: add an offset, as 2026-11-01T18:00:00Z")
    return round(given.timestamp() * 1_000)
