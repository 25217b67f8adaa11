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
from arbiter.drawing.terminal import draw
from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame, Step
from arbiter.games.line import follow

SHOWN_LINES: Final = 4  #: how many of the latest events are shown below the board
COLOURS: Final = ("yellow", "cyan")  #: of the seats, as in `arbiter.drawing.terminal`


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
    """Return the scene of a match before its first event."""
    game = _known(match.game)
    position = game.initial() if game else None
    text = game.text(position) if game else ""
    return MatchView(match.match_id, match.game, match.players, match.time_control, game, position, text)


def after(scene: MatchView, event: arb.MatchEvent) -> MatchView:
    """Return the scene after an event."""
    what = event.what
    scene = replace(scene, lines=(*scene.lines, words.happening(event, scene.players))[-SHOWN_LINES:])
    if isinstance(what, arb.MatchCreated):
        return _opened(scene, what.opening)
    if isinstance(what, arb.TurnStarted):
        return replace(
            _at(scene, what.position),
            turn=what.turn,
            ply=what.ply,
            clocks=what.clocks,
            since_ms=event.at_ms,
            phase=words.PHASES[arb.Phase.ACTIVE],
        )
    if isinstance(what, arb.MovePlayed):
        return replace(_moved(scene, what), turn=what.turn, ply=what.ply + 1, clocks=what.clocks, since_ms=event.at_ms)
    if isinstance(what, arb.Interrupted):
        return replace(scene, since_ms=0, phase=words.PHASES[arb.Phase.PAUSED])
    if isinstance(what, arb.Result):
        return replace(scene, since_ms=0, turn=0, phase=words.result(what, scene.players), ended=True)
    return scene


def picture(scene: MatchView, now_ms: float, colour: bool = True) -> RenderableType:
    """Return the picture of a scene at a given time: players with their clocks, board, latest events."""
    parts: list[RenderableType] = [Text(f"{scene.match_id}  {scene.time_control}", style="dim")]
    parts += [_player(scene, seat, now_ms) for seat in range(1, len(scene.players) + 1)]
    parts += [Text(), board(scene, colour), Text()]
    parts += [Text(line, style="dim", overflow="ellipsis", no_wrap=True) for line in scene.lines[:-1]]
    parts += [Text(line, style="bold" if scene.ended else "", no_wrap=True) for line in scene.lines[-1:]]
    return Group(*parts)


def board(scene: MatchView, colour: bool = True) -> Text:
    """Return the board, or the position's text if this machine does not have the game's rules."""
    if scene.game is None:
        return Text(f"{scene.variant}: {scene.text}")
    ended = scene.phase if scene.ended else ""
    return Text.from_ansi(draw(scene.game, scene.position, scene.steps or None, colour, ended), no_wrap=True)


def _player(scene: MatchView, seat: int, now_ms: float) -> Text:
    to_move = scene.turn == seat and not scene.ended
    name = scene.game.facts.seat_name(seat) if scene.game else f"seat {seat}"
    text = Text("▶ " if to_move else "  ")
    text.append(scene.players[seat - 1], style=f"bold {COLOURS[(seat - 1) % 2]}")
    text.append(f" ({name})  ", style="dim")
    if seat <= len(scene.clocks):
        left_ms = time_left(scene, seat, now_ms)
        text.append(clock_text(left_ms), style="bold red" if to_move and left_ms < 10_000 else "bold")
    return text


def time_left(scene: MatchView, seat: int, now_ms: float) -> float:
    """Return how long a seat may think before its flag falls, in ms, at a given time; the clock of the turn runs."""
    available_ms = scene.clocks[seat - 1].available_ms
    if scene.turn != seat or not scene.since_ms:
        return available_ms
    return max(0.0, available_ms - max(0.0, now_ms - scene.since_ms))


def _known(variant: str) -> AnyGame | None:
    try:
        return registry.game(variant)
    except Refusal:
        return None


def _opened(scene: MatchView, opening: Sequence[str]) -> MatchView:
    """Return a scene after the opening of its match."""
    game = scene.game
    if game is None or not opening:
        return replace(scene, ply=len(opening))
    try:
        line = follow(game, scene.position, opening)
    except Refusal:
        return replace(scene, game=None, ply=len(opening))
    steps = tuple(game.steps(line.positions[-2], opening[-1]))
    return replace(scene, position=line.final, text=game.text(line.final), steps=steps, ply=len(opening))


def _at(scene: MatchView, text: str) -> MatchView:
    """Return a scene with the position of a text; if the scene already has that position, its history is kept."""
    if text == scene.text or scene.game is None:
        return replace(scene, text=text)
    try:
        return replace(scene, text=text, position=scene.game.parse(text), steps=())
    except Refusal:
        return replace(scene, text=text, game=None)


def _moved(scene: MatchView, what: arb.MovePlayed) -> MatchView:
    """Return a scene after a move. If this machine's rules differ from the server's, the server is right."""
    game = scene.game
    if game is None:
        return replace(scene, text=what.position)
    try:
        steps = game.steps(scene.position, what.move)
        position = game.play(scene.position, what.move)
    except Refusal:
        return _at(scene, what.position)
    played = replace(scene, position=position, steps=tuple(steps), text=game.text(position))
    return _at(played, what.position)
