"""`arbiter tournament watch`: a tournament until it is over, on a terminal or as lines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import arbiter_client as arb
from rich.live import Live

from arbiter.cli import tournament_view as view
from arbiter.cli import tournament_words
from arbiter.cli.terminal import PlainConsole, tables, write_line

LOOK_EVERY_S: Final = 1.0  #: interval between two requests


def watch_plainly(client: arb.BlockingClient, tournament_id: str) -> None:
    """Print one line for each event of a tournament until it is over, then the standings. Raises ClientError."""
    found = client.get_tournament(tournament_id)  # fails early: one that does not exist would be waited for
    last = found.revision if found.phase is arb.TournamentPhase.ENDED else 0  # rulings may come after the end
    over = False
    games: dict[int, arb.PairedGame] = {}
    for event in client.observe_tournament(tournament_id, "0", without_moves=True):
        if not isinstance(event, arb.TournamentEvent):
            continue  # `arbiter watch` shows what happens in its matches
        if isinstance(event.what, arb.GamesPaired):
            games |= {game.number: game for game in event.what.games}
        at = time.strftime("%H:%M:%S", time.localtime(event.at_ms / 1000))
        write_line(f"{at}  {tournament_words.happening(event, games)}")
        over = over or isinstance(event.what, arb.TournamentEnded)
        if over and event.revision >= last:
            break
    write_line()
    tables(view.shown_tables(client.get_standings(tournament_id), brief=False), "", None)


def watch_live(client: arb.BlockingClient, tournament_id: str) -> None:
    """Show a tournament on a terminal until it is over. Raises ClientError."""
    console = PlainConsole()
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        for found, stand in looks(client, tournament_id):
            live.update(view.picture(found, stand), refresh=True)


def looks(client: arb.BlockingClient, tournament_id: str) -> Iterator[tuple[arb.Tournament, arb.Standings]]:
    """Yield the state of a tournament at intervals until it is over; if the server is down, wait for it."""
    seen = False
    while True:
        try:
            found = client.get_tournament(tournament_id)
            stand = client.get_standings(tournament_id)
        except arb.ClientError as error:
            passing = isinstance(error, arb.ConnectionFailed) or (
                isinstance(error, arb.ArbiterError) and error.temporary
            )
            if not (seen and passing):
                raise
        else:
            seen = True
            yield found, stand
            if found.phase is arb.TournamentPhase.ENDED:
                return
        time.sleep(LOOK_EVERY_S)
