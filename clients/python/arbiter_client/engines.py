"""The arbiter's own rule engines for bots that look ahead: from a turn to a position of an engine.

Needs the extra `game-arbiter-client[engines]`. The position is reached by replaying the moves of the match, each of
them only once, so rules about earlier positions (repetition) work too.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter_client.errors import BotFailed
from arbiter_client.values.play import Turn

_MEMORY: Final = "arbiter_client.engines"


class Standing(NamedTuple):
    """A game and a position of it, with its history."""

    game: AnyGame
    position: Any


class _Replay(NamedTuple):
    moves: tuple[str, ...]
    position: Any


def standing(turn: Turn) -> Standing:
    """Return the game and the position of a turn. Only the moves since the last call for the match are replayed.

    Raises BotFailed if the installed engine does not know the game, or its position differs from the arbiter's.
    """
    moves = turn.match.moves
    try:
        game = registry.game(turn.game)
        known: _Replay | None = turn.match.memory.get(_MEMORY)
        if known is None or moves[: len(known.moves)] != known.moves:
            known = _Replay((), game.start(turn.match.start_position))
        position = known.position
        for move in moves[len(known.moves) :]:
            position = game.play(position, move)
    except Refusal as refusal:
        raise BotFailed(f"the engine can't follow match {turn.match.match_id}: {refusal}") from refusal
    if game.text(position) != turn.position:
        raise BotFailed(
            f"the engine has {game.text(position)} where the arbiter has {turn.position}: are the versions the same?"
        )
    turn.match.memory[_MEMORY] = _Replay(moves, position)
    return Standing(game, position)
