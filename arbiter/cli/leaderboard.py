"""`arbiter leaderboard`: the players of a server by rating."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from arbiter.cli.connection import Connection, connected
from arbiter.cli.ratings_view import print_board, print_json


def leaderboard(
    game: str = "",
    /,
    *,
    all_versions: Annotated[bool, Parameter(negative=())] = False,
    most: int = 100,
    json: Annotated[bool, Parameter(negative=())] = False,
    connection: Connection | None = None,
) -> None:
    """Show the players by rating, as their rated games tell.

    Ratings are in Elo, with 95 % intervals. Provisional ones are marked, and neighbours whose order is not established.

    :param game: A variant, such as "pods(size=5)"; none for all games together.
    :param all_versions: Show older versions of bots too, and not only the newest of each player.
    :param most: How many.
    :param json: Print JSON.
    """
    with connected(connection) as client:
        board = client.get_leaderboard(game, all_versions=all_versions, most=most)
    (print_json if json else print_board)(board)
