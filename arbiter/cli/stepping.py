"""Stepping through a match that is over, with keys."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import arbiter_client as arb
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from arbiter.cli import match_view
from arbiter.cli.failure import Failure
from arbiter.cli.terminal import PlainConsole, on_terminal, write_text

LEGEND: Final = "← → a move   ↑ ↓ ten moves   Home, End   q leaves"


def step_through(client: arb.BlockingClient, match: arb.Match, ply: int | None) -> None:
    """Show a match that is over from a ply on, and step by keys; without a terminal, print the board there."""
    shown = frames(client, match)
    plies = [each.ply for each in shown]
    if ply is not None and ply not in plies:
        raise Failure(f"{match.match_id} has no board after ply {ply}: say one from {plies[0]} to {plies[-1]}")
    at = 0 if ply is None else plies.index(ply)
    if not (on_terminal() and sys.stdin.isatty()):
        write_text(str(match_view.board(shown[at], colour=False)))
        return
    console = PlainConsole()
    with Live(console=console, auto_refresh=False, screen=True, vertical_overflow="crop") as live:
        live.update(_picture(shown, at), refresh=True)
        for key in _keys():
            at = max(0, min(len(shown) - 1, at + STEPS.get(key, 0))) if key in STEPS else at
            if key in ("q", "escape", "c-c", "c-d"):
                return
            live.update(_picture(shown, at), refresh=True)


STEPS: Final = {
    "right": 1,
    " ": 1,
    "n": 1,
    "left": -1,
    "p": -1,
    "down": 10,
    "pagedown": 10,
    "up": -10,
    "pageup": -10,
    "home": -1_000_000,
    "end": 1_000_000,
}
"""How many moves a key goes on."""


def frames(client: arb.BlockingClient, match: arb.Match) -> list[match_view.MatchView]:
    """Return the views of a match that is over, after each of its moves; the last has its result."""
    by_ply: dict[int, match_view.MatchView] = {}
    view = match_view.first(match)
    for event in client.observe(match.match_id):
        if isinstance(event.what, arb.MatchCreated):
            for ply in range(len(event.what.opening)):
                shorter = replace(event.what, opening=event.what.opening[:ply])
                by_ply[ply] = match_view.after(view, replace(event, what=shorter))
        view = match_view.after(view, event)
        by_ply[view.ply] = view
    return [by_ply[ply] for ply in sorted(by_ply)]


def _picture(shown: list[match_view.MatchView], at: int) -> RenderableType:
    view = shown[at]
    foot = Text(f"ply {view.ply} of {shown[-1].ply}   {LEGEND}", style="dim")
    return Group(match_view.picture(view, view.since_ms), Text(), foot)


def _keys() -> Iterator[str]:
    """Yield the keys that are pressed, by name: `left`, `q`."""
    from prompt_toolkit.input import create_input  # only those who step wait for this import

    keyboard = create_input()
    with keyboard.raw_mode():
        while not keyboard.closed:
            select.select([keyboard.fileno()], [], [])
            for press in keyboard.read_keys():
                yield str(getattr(press.key, "value", press.key))
            if not select.select([keyboard.fileno()], [], [], 0.05)[0]:
                for press in keyboard.flush_keys():  # a lone Escape
                    yield str(getattr(press.key, "value", press.key))
