"""Whether the rules of today lead from the moves of a record to its positions and to its end."""

from __future__ import annotations

from collections.abc import Iterable

from arbiter.errors import Refusal, shortened
from arbiter.games.contract import Outcome
from arbiter.games.registry import game as registered_game
from arbiter.matches.events import Cause, Created, Ended, Event, Moved, Started
from arbiter.matches.evolution import Games, opening_played


def difference(created: Created, events: Iterable[Event], games: Games = registered_game) -> str:
    """Return the first place where the rules differ from the record of a match, as a clause; '' if there is none.

    Moves, the seats to move, positions and ends by the rules are compared: no clocks, no hashes, no signature.
    Raises Refusal GAME_UNKNOWN if the game is not installed.
    """
    game = games(created.game)
    try:
        position, _ = opening_played(game, created.opening, created.position)
    except Refusal as refusal:
        return f"start position or opening: {refusal.message}"
    for event in events:
        found = ""
        match event:
            case Started():
                found = _compared("at the start", event.position, game.text(position))
            case Moved():
                try:
                    position = game.play(position, event.move)
                except Refusal as refusal:
                    return f"ply {event.ply}: {refusal.message}"
                found = _compared(f"after ply {event.ply}", event.position, game.text(position))
                found = found or _compared(f"turn after ply {event.ply}", event.turn, position.turn)
            case Ended():
                by_rules = Outcome(event.winner, event.reason) if event.cause is Cause.RULES else "none"
                claimed = by_rules == (0, game.claim(position))
                found = _compared("the end by the rules", by_rules, by_rules if claimed else position.outcome or "none")
        if found:
            return found
    return ""


def _compared(where: str, then: object, now: object) -> str:
    return "" if then == now else f"{where}: {shortened(str(then), 200)} in the record, {shortened(str(now), 200)} now"
