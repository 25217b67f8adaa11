"""A match as a viewer sees it: an immutable value that events update, and its picture for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import arbiter_client as arb
from rich.console import Group, RenderableType
from rich.text import Text

from arbiter.cli import words
from arbiter.cli.terminal import clock_text
from arbiter.drawing.text_drawing import draw
from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame, Step
from arbiter.games.line import follow, written

SHOWN_LINES: Final = 4  #: how many of the latest events are shown below the board
COLOURS: Final = ("yellow", "cyan")  #: of the seats, as in `arbiter.drawing.text_drawing`


@dataclass(frozen=True, slots=True)
class MatchView:
    """The known state of a match after an event.

    `game` and `position` are None if this machine does not have the game's rules; `text` is always the position's text.
    `clocks` are as of `since_ms`, the time at which the clock of `turn` started, 0 if none runs.
    """

    match_id: str
    variant: str
    players: tuple[str, ...]
    time_control: str
    game: AnyGame | None
    position: Any
    text: str
    steps: Sequence[Step] = ()
    ply: int = 0
    turn: int = 0
    clocks: tuple[arb.Clock, ...] = ()
    since_ms: int = 0
    phase: str = words.PHASES[arb.Phase.PENDING]
    lines: tuple[str, ...] = ()
    ended: bool = False


def first(match: arb.Match) -> MatchView:
    """Return the view of a match before its first event."""
    game = _known(match.game)
    position = game.initial() if game else None
    text = game.text(position) if game else ""
    return MatchView(match.match_id, match.game, match.players, match.time_control, game, position, text)


def after(view: MatchView, event: arb.MatchEvent) -> MatchView:
    """Return the view after an event."""
    what = event.what
    line = words.happening(event, view.players, view.variant, _written(view, what))
    view = replace(view, lines=(*view.lines, line)[-SHOWN_LINES:])
    if isinstance(what, arb.MatchCreated):
        return _opened(_at(view, what.position) if what.position else view, what.opening)
    if isinstance(what, arb.TurnStarted):
        return replace(
            _at(view, what.position),
            turn=what.turn,
            ply=what.ply,
            clocks=what.clocks,
            since_ms=event.at_ms,
            phase=words.PHASES[arb.Phase.ACTIVE],
        )
    if isinstance(what, arb.MovePlayed):
        return replace(_moved(view, what), turn=what.turn, ply=what.ply + 1, clocks=what.clocks, since_ms=event.at_ms)
    if isinstance(what, arb.Interrupted):
        return replace(view, since_ms=0, phase=words.PHASES[arb.Phase.PAUSED])
    if isinstance(what, arb.Result):
        return replace(view, since_ms=0, turn=0, phase=words.result(what, view.players, view.variant), ended=True)
    return view


def picture(view: MatchView, now_ms: float, colour: bool = True) -> RenderableType:
    """Return the picture of a view at a given time: players with their clocks, board, latest events."""
    parts: list[RenderableType] = [Text(f"{view.match_id}  {view.time_control}", style="dim")]
    parts += [_player(view, seat, now_ms) for seat in range(1, len(view.players) + 1)]
    parts += [Text(), board(view, colour), Text()]
    parts += [Text(line, style="dim", overflow="ellipsis", no_wrap=True) for line in view.lines[:-1]]
    parts += [Text(line, style="bold" if view.ended else "", no_wrap=True) for line in view.lines[-1:]]
    return Group(*parts)


def board(view: MatchView, colour: bool = True) -> Text:
    """Return the board, or the position's text if this machine does not have the game's rules."""
    if view.game is None:
        return Text(f"{view.variant}: {view.text}")
    ended = view.phase if view.ended else ""
    return Text.from_ansi(draw(view.game, view.position, view.steps or None, colour, ended), no_wrap=True)


def _player(view: MatchView, seat: int, now_ms: float) -> Text:
    to_move = view.turn == seat and not view.ended
    name = view.game.facts.seat_name(seat) if view.game else f"seat {seat}"
    text = Text("▶ " if to_move else "  ")
    text.append(view.players[seat - 1], style=f"bold {COLOURS[(seat - 1) % 2]}")
    text.append(f" ({name})  ", style="dim")
    if seat <= len(view.clocks):
        left_ms = time_left(view, seat, now_ms)
        text.append(clock_text(left_ms), style="bold red" if to_move and left_ms < 10_000 else "bold")
    return text


def time_left(view: MatchView, seat: int, now_ms: float) -> float:
    """Return how long a seat may think before its flag falls, in ms, at a given time; the clock of the turn runs."""
    available_ms = view.clocks[seat - 1].available_ms
    if view.turn != seat or not view.since_ms:
        return available_ms
    return max(0.0, available_ms - max(0.0, now_ms - view.since_ms))


def _known(variant: str) -> AnyGame | None:
    try:
        return registry.game(variant)
    except Refusal:
        return None


def _written(view: MatchView, what: object) -> str:
    """Return a move as people read it, with its number; '' for other events, or if the rules are not known here."""
    if view.game is None or not isinstance(what, arb.MovePlayed):
        return ""
    try:
        return written(view.game, view.position, what.ply, what.move)
    except Refusal:
        return ""


def _opened(view: MatchView, opening: Sequence[str]) -> MatchView:
    """Return a view after the opening of its match."""
    game = view.game
    if game is None or not opening:
        return replace(view, ply=len(opening))
    try:
        line = follow(game, view.position, opening)
    except Refusal:
        return replace(view, game=None, ply=len(opening))
    steps = tuple(game.steps(line.positions[-2], opening[-1]))
    return replace(view, position=line.final, text=game.text(line.final), steps=steps, ply=len(opening))


def _at(view: MatchView, text: str) -> MatchView:
    """Return a view with the position of a text; if the view already has that position, its history is kept."""
    if text == view.text or view.game is None:
        return replace(view, text=text)
    try:
        return replace(view, text=text, position=view.game.parse(text), steps=())
    except Refusal:
        return replace(view, text=text, game=None)


def _moved(view: MatchView, what: arb.MovePlayed) -> MatchView:
    """Return a view after a move. If this machine's rules differ from the server's, the server is right."""
    game = view.game
    if game is None:
        return replace(view, text=what.position)
    try:
        steps = game.steps(view.position, what.move)
        position = game.play(view.position, what.move)
    except Refusal:
        return _at(view, what.position)
    played = replace(view, position=position, steps=tuple(steps), text=game.text(position))
    return _at(played, what.position)
