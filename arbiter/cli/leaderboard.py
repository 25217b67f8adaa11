"""`arbiter leaderboard`: the players of a server by rating."""

from __future__ import annotations

from arbiter.cli.argument_types import Flag, RatedVariant
from arbiter.cli.connection import Connection, connected
from arbiter.cli.ratings_view import print_board, print_json, tell_anchors
from arbiter.cli.table_options import Json, TableOptions


def leaderboard(
    game: RatedVariant = "",
    /,
    *,
    all_versions: Flag = False,
    most: int = 100,
    json: Json = False,
    output: TableOptions | None = None,
    connection: Connection | None = None,
) -> None:
    """Show the players by rating, as computed from their rated games.

    Ratings are in Elo, with 95 % intervals. Provisional ratings are marked, and so are neighbours whose order is not
    established.

    :param all_versions: Also show older versions of bots, not only the newest of each player.
    :param most: Maximum number of rows.
    """
    with connected(connection) as client:
        board = client.get_leaderboard(game, all_versions=all_versions, most=most)
    if json:
        print_json(board)
    else:
        print_board(board, output)
    tell_anchors(board, output)
