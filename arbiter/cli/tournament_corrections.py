"""`arbiter tournament disqualify`, `reinstate`, `replay`, `points`, `lot`: an organiser's corrections."""

from __future__ import annotations

from typing import Annotated, Literal

import arbiter_client as arb
from arbiter_client.values.correction import Decision
from cyclopts import Parameter

from arbiter.cli import ids
from arbiter.cli import tournament_view as view
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import Failure
from arbiter.cli.table_options import AnyTableOptions
from arbiter.cli.tournament import app

Preview = Annotated[bool, Parameter(negative=())]
ResultsName = Literal["stand", "forfeit", "void"]


@app.command
def disqualify(
    tournament_id: str,
    player: str,
    /,
    *,
    from_start: Annotated[bool, Parameter(negative=())] = False,
    results: ResultsName = "stand",
    games_go_on: Annotated[bool, Parameter(negative=())] = False,
    note: str = "",
    revision: int = 0,
    preview: Preview = False,
    output: AnyTableOptions | None = None,
    connection: Connection | None = None,
) -> None:
    """Disqualify a player, and show which places change. `reinstate` takes it back.

    The player is not paired any more, and loses the games that it has not begun.

    :param tournament_id: The tournament: its id, the beginning of one, or `last`.
    :param player: The player.
    :param from_start: As if it had never taken part: it comes after all others. Otherwise from now on, and it keeps its
    place.
    :param results: With --from-start: its results stand, it has lost all its games without play (forfeit), or its games
    do not count (void).
    :param games_go_on: Its games under way go on; otherwise they are stopped, and end as walkovers.
    :param note: Why; everybody can read it.
    :param revision: Refuse if an organiser has ruled or corrected since this revision of the tournament.
    :param preview: Only show what would change.
    """
    what = arb.Disqualification(player, from_start, arb.DisqualifiedResults[results.upper()], games_go_on)
    _correct(tournament_id, what, note, (revision, preview), output, connection)


@app.command
def reinstate(
    tournament_id: str,
    player: str,
    /,
    *,
    note: str = "",
    revision: int = 0,
    preview: Preview = False,
    output: AnyTableOptions | None = None,
    connection: Connection | None = None,
) -> None:
    """Take the disqualification of a player back. Walkovers in between stand: `replay` lets such a game be played.

    :param tournament_id: The tournament: its id, the beginning of one, or `last`.
    :param player: The player.
    :param note: Why; everybody can read it.
    :param revision: Refuse if an organiser has ruled or corrected since this revision of the tournament.
    :param preview: Only show what would change.
    """
    _correct(tournament_id, arb.Reinstatement(player), note, (revision, preview), output, connection)


@app.command
def replay(
    tournament_id: str,
    game: int,
    /,
    *,
    note: str = "",
    revision: int = 0,
    preview: Preview = False,
    output: AnyTableOptions | None = None,
    connection: Connection | None = None,
) -> None:
    """Let a game that has a result be played again in its round, also if later rounds are paired.

    Pairings that exist stay; it shows which would be others by each result that the game may have.

    :param tournament_id: The tournament: its id, the beginning of one, or `last`.
    :param game: The number of the game, as `arbiter tournament watch` and the page show it.
    :param note: Why; everybody can read it.
    :param revision: Refuse if the result of the game has changed since this revision of the tournament.
    :param preview: Only show what would change.
    """
    _correct(tournament_id, arb.Replay(game), note, (revision, preview), output, connection)


@app.command
def points(
    tournament_id: str,
    player: str,
    points: Annotated[float, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    note: str = "",
    revision: int = 0,
    preview: Preview = False,
    output: AnyTableOptions | None = None,
    connection: Connection | None = None,
) -> None:
    """Give a player points in the standings, or take some.

    :param tournament_id: The tournament: its id, the beginning of one, or `last`.
    :param player: The player.
    :param points: 1, 0.5, -1.5; in an arena, 0.5 is one of its own points.
    :param note: Why; everybody can read it.
    :param revision: Refuse if an organiser has ruled or corrected since this revision of the tournament.
    :param preview: Only show what would change.
    """
    if 2 * points != int(2 * points):
        raise Failure(f"{points:g} is no number of points: say a whole one, or a half")
    _correct(tournament_id, arb.PointsAward(player, int(2 * points)), note, (revision, preview), output, connection)


@app.command
def lot(
    tournament_id: str,
    players: tuple[str, ...],
    /,
    *,
    seed: str = "",
    note: str = "",
    revision: int = 0,
    preview: Preview = False,
    output: AnyTableOptions | None = None,
    connection: Connection | None = None,
) -> None:
    """Order players who share a place by lot.

    :param tournament_id: The tournament: its id, the beginning of one, or `last`.
    :param players: All players who share the place.
    :param seed: The seed of the lot; it is on record, so that anybody can draw it again. [default: the server draws it]
    :param note: Why; everybody can read it.
    :param revision: Refuse if an organiser has ruled or corrected since this revision of the tournament.
    :param preview: Only show what would change, with this seed.
    """
    _correct(tournament_id, arb.LotDraw(players, seed), note, (revision, preview), output, connection)


def _correct(
    tournament_id: str,
    what: Decision,
    note: str,
    how: tuple[int, bool],
    output: AnyTableOptions | None,
    connection: Connection | None,
) -> None:
    """Make a correction, and print what it changes. how: the revision, and whether it is a preview."""
    revision, preview = how
    with connected(connection) as client:
        tournament_id = ids.tournament_id(client, tournament_id)
        made = client.correct_tournament(tournament_id, what, note=note, revision=revision, preview=preview)
    view.show_changes(made.changes, made.later, output, preview=preview)
