"""`arbiter watch`: shows a match live in the terminal, or prints one line per event."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Final

import arbiter_client as arb
from cyclopts import Parameter
from rich.console import RenderableType
from rich.live import Live

from arbiter.cli import match_view, short_ids, stepping, words
from arbiter.cli.argument_types import Flag
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import Failure
from arbiter.cli.short_ids import MatchId
from arbiter.cli.terminal import PlainConsole, on_terminal, write_line, write_text

PICTURES_A_SECOND: Final = 10
REMEMBERED: Final = 10_000  #: maximum matches whose players `--all` remembers


def watch(
    match_id: MatchId = "",
    /,
    *,
    all_: Annotated[bool, Parameter(name="--all", negative=())] = False,
    from_start: Flag = False,
    label: str = "",
    ply: int | None = None,
    connection: Connection | None = None,
) -> None:
    """Watch a match live until it ends, or step through one that is over.

    Without a terminal, print one line per event and the board at the end.

    :param all_: Print a line for every event of every match, until Ctrl-C.
    :param from_start: With --all: begin with the first event on record instead of the next one.
    :param label: With --all: only matches with this label.
    :param ply: Of a match that is over: begin after this many moves. Without a terminal, show only the board there.
    """
    if bool(match_id) == all_:
        raise Failure("say what to watch: a match's id, or --all")
    if (from_start or label) and not all_:
        raise Failure("--from-start and --label go with --all")
    if ply is not None and all_:
        raise Failure("--ply goes with one match, not with --all")
    with connected(connection) as client:
        if all_:
            _watch_all(client, "0" if from_start else "", label)
            return
        match = client.get_match(short_ids.match_id(client, match_id))
        match_id = match.match_id
        if match.result is not None and (ply is not None or (on_terminal() and sys.stdin.isatty())):
            stepping.step_through(client, match, ply)
        elif ply is not None:
            raise Failure(f"{match_id} has not ended: --ply is for matches that have")
        elif on_terminal():
            _watch_live(client, match_id)
        else:
            _watch_plainly(client, match_id)


def _watch_all(client: arb.BlockingClient, after_token: str, label: str) -> None:
    seen: dict[str, tuple[tuple[str, ...], str]] = {}  # players and variant, by match
    for event in client.observe_all(after_token, label):
        if isinstance(event.what, arb.MatchCreated):
            seen[event.match_id] = event.what.players, event.what.game
        elif event.match_id not in seen:
            match = client.get_match(event.match_id)
            seen[event.match_id] = match.players, match.game
        line = words.happening(event, *seen[event.match_id])
        write_line(f"{_time_of_day(event.at_ms)}  {event.match_id}  {line}")
        if len(seen) > REMEMBERED:
            del seen[next(iter(seen))]


def _watch_plainly(client: arb.BlockingClient, match_id: str) -> None:
    view = match_view.first(client.get_match(match_id))
    for event in client.observe(match_id):
        view = match_view.after(view, event)
        write_line(f"{_time_of_day(event.at_ms)}  {words.happening(event, view.players, view.variant)}")
    if view.game is not None:
        write_text(f"\n{match_view.board(view, colour=False)}")


def _watch_live(client: arb.BlockingClient, match_id: str) -> None:
    """Draw the match live. rich's thread redraws the picture, so that clocks also run between events."""
    ahead_ms = client.server_info().now_ms - time.time() * 1000
    match = client.get_match(match_id)
    view = match_view.first(match)

    def picture() -> RenderableType:
        return match_view.picture(view, time.time() * 1000 + ahead_ms)

    console = PlainConsole()
    with Live(
        console=console,
        get_renderable=picture,
        refresh_per_second=PICTURES_A_SECOND,
        screen=False,
        vertical_overflow="crop",
    ) as live:
        for event in client.observe(match_id):
            view = match_view.after(view, event)
            if event.revision >= match.revision:  # past events do not each need a picture
                live.refresh()


def _time_of_day(at_ms: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at_ms / 1000))
