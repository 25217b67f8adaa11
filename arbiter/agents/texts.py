"""What an agent reads: values as JSON, positions as text and as pictures.

Whatever another person wrote is an object `{"quoted": TEXT}` of bounded length: names, reasons, notes, titles. No
sentence of ours contains such a text, so that nothing that an opponent writes reads like an instruction of the server.
No text at all has control characters, or characters that nobody sees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import arbiter_client as arb
from resvg_py import svg_to_bytes

from arbiter.drawing.svg import svg
from arbiter.drawing.text_drawing import draw
from arbiter.errors import Refusal, RulesAwaited, RulesFailed
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.plain_text import plain

LONGEST: Final = 500  #: characters of a quoted text
PIXELS: Final = 800  #: width of a picture

Json = dict[str, Any]


def quoted(text: str) -> Json:
    """Return a text that somebody else wrote, marked as such."""
    return {"quoted": plain(text[:LONGEST]) + (" …" if len(text) > LONGEST else "")}


def plainly(answer: Any) -> Any:
    """Return an answer with all of its texts escaped as `plain` does, except line ends."""
    if isinstance(answer, str):
        return plain(answer, "\n")
    if isinstance(answer, dict):
        return {plainly(key): plainly(value) for key, value in answer.items()}
    return [plainly(each) for each in answer] if isinstance(answer, list) else answer


def board(game: str, position: str) -> str:
    """Return the board of a position as lines of text; '' if this machine can't draw it."""
    return _drawn(draw, game, position) or ""


def picture(game: str, position: str) -> bytes:
    """Return the board of a position as a PNG of `PIXELS` pixels in width; nothing if this machine can't draw it."""
    drawn = _drawn(svg, game, position)
    return bytes(svg_to_bytes(svg_string=drawn, width=PIXELS)) if drawn else b""


def _drawn(how: Callable[[AnyGame, Any], str], game: str, position: str) -> str | None:
    """Return a drawing; None if the game's rules are not here, do not answer at once, or fail."""
    try:
        rules = registry.game(game)
        return how(rules, rules.parse(position))
    except (Refusal, RulesAwaited, RulesFailed):
        return None


def clocks(clocks: Sequence[arb.Clock], seat: int) -> Json:
    """Return the milliseconds that both players have for the next move; nothing without clocks."""
    if not clocks:
        return {"clocks": "none"}
    return {"your_time_ms": clocks[seat - 1].available_ms, "opponents_time_ms": clocks[2 - seat].available_ms}


def turn(of: arb.Turn) -> Json:
    """Return a turn that waits for the agent."""
    left = of.time_left_ms
    return {
        "match_id": of.match.match_id,
        "your_turn": True,
        "ply": of.ply,
        "you_are_seat": of.seat,
        "opponent": quoted(of.opponent),
        "game": of.game,
        "position": of.position,
        "board": board(of.game, of.position),
        "moves_since_your_last": [recent.move for recent in of.last_moves],
        "your_time_ms": None if left is None else round(left),
        "draw_claim": of.draw_claim or None,
        "draw_offered_by_opponent": of.draw_offered,
    }


def match(of: arb.Match, player: str) -> Json:
    """Return a match as the player sees it."""
    seats = [seat for seat, name in enumerate(of.players, 1) if name == player]
    seen: Json = {
        "match_id": of.match_id,
        "game": of.game,
        "players": [quoted(name) for name in of.players],
        "you_are_seat": seats[0] if seats else None,
        "time_control": of.time_control,
        "rated": of.rated,
        "phase": of.phase.name.lower(),
        "ply": of.ply,
        "seat_to_move": of.turn or None,
        "position": of.position,
        "board": board(of.game, of.position),
        "moves_played": len(of.moves),
        "last_moves": list(of.moves[-40:]),
        **(clocks(of.clocks, seats[0]) if seats and of.result is None else {}),
    }
    if of.result is not None:
        seen["result"] = result(of.result, seats[0] if seats else 0)
    return seen


def result(of: arb.Result, seat: int) -> Json:
    """Return how a match has ended, and the player's points, if it has played in it."""
    return {
        "kind": of.kind.name.lower(),
        "winner_seat": of.winner or None,
        "reason": of.reason,
        **({"your_points": of.score(seat)} if seat else {}),
    }


def ended(of: arb.FinishedMatch) -> Json:
    """Return a match of the player that has ended."""
    return {
        "match_id": of.match_id,
        "game": of.game,
        "opponent": quoted(of.opponent),
        "result": result(of.result, of.seat),
        "final_position": of.position,
    }


def challenge(of: arb.Challenge) -> Json:
    """Return a challenge to the player, or an open seek."""
    return {
        "challenge_id": of.challenge_id,
        "from": quoted(of.challenger),
        "game": of.terms.game,
        "time_control": of.terms.time_control or "the server's default",
        "abandon_ms": "the server's value" if of.terms.abandon_ms is None else of.terms.abandon_ms,
        "rated": of.terms.rated,
        "challenger_takes_seat": of.terms.seat or "by lot",
    }


def closed(of: arb.ChallengeClosed) -> Json:
    """Return how a challenge of the player was closed."""
    return {"challenge_id": of.challenge_id, "match_id": of.match_id or None, "reason": quoted(of.reason)}


def open_tournament(of: arb.Tournament) -> Json:
    """Return a tournament, for players who may enter it."""
    return {
        "tournament_id": of.tournament_id,
        "name": quoted(of.spec.name),
        "format": of.spec.format.name.lower(),
        "phase": of.phase.name.lower(),
        "games": list(of.spec.games),
        "time_control": of.spec.time,
        "entrants": [quoted(entrant.player) for entrant in of.entrants[:100]],
        "games_paired": of.games,
        "games_ended": of.games_ended,
    }


def tournament(of: arb.TournamentSummary) -> Json:
    """Return a tournament in a list."""
    return {
        "tournament_id": of.tournament_id,
        "name": quoted(of.name),
        "format": of.format.name.lower(),
        "phase": of.phase.name.lower(),
    }


def standing(of: arb.StandingsRow) -> Json:
    """Return a row of a tournament's standings."""
    return {"place": of.place, "player": quoted(of.player), "points": of.points, "games": of.games}
