"""The arbiter's own rule engines in the bot's process: for bots that look ahead, and for players that are trained.

Needs the extra `game-arbiter-client[engines]`. A `Standing` is a position with its game, such as `standing` makes of a
turn. An `Environment` goes from the start of a game to its end, a move at a time. A notebook draws both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame, Piece
from arbiter_client.errors import BotFailed
from arbiter_client.values.game import GameOutcome
from arbiter_client.values.play import Turn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MEMORY: Final = "arbiter_client.engines"

COLUMNS: Final = ("owner", "piece", "facing", "height", "mark")
"""The columns of `Standing.cells`."""

PIECES: Final = 27  #: the largest number of a kind of piece: A to Z are 1 to 26, any other sign is this one


class Standing(NamedTuple):
    """A game and a position of it, with its history."""

    game: AnyGame
    position: Any

    def cells(self, seat: int = 1) -> NDArray[np.int32]:
        """Return what is on the board, as `seat` sees it: an array of shape (cells, 5).

        A row is a cell, in the order of `game.board.names`. The columns:

        - owner: 1 for a piece of `seat`, 2 for one of the opponent, 0 for none
        - piece: 1 to 26 for the letter A to Z of the piece (`game.facts.letters`), 27 for another sign, 0 without one
        - facing: 1 more than the number of its direction or face, 0 without one
        - height: 1 more than the tiles of the cell, 0 in games without tiles
        - mark: 1 if the cell itself is marked (a lily of Hop It!, an arrow of Amazons), else 0

        What is on no cell is not in it, such as castling rights, ko, or counts beside the board: the text of the
        position has that.
        """
        import numpy as np  # it takes a tenth of a second to load, which bots that only play save

        rows = [_row(piece, seat) for piece in self.game.pieces(self.position)]
        return np.array(rows, np.int32).reshape(len(rows), len(COLUMNS))

    def _repr_svg_(self) -> str:
        return _drawn(self.game, self.position)


class Environment:
    """A game that is played move by move, by its rules alone: no bots, no clocks, no server.

        env = Environment("connect-four")
        while env.outcome is None:
            env.step(random.choice(env.legal_moves))

    It draws itself in a notebook, and as text for `print`.
    """

    def __init__(self, game: str, position: str = "", moves: Sequence[str] = ()) -> None:
        """Begin a game, or a variant such as `pods(size=5)`, and play some moves.

        position: where it starts; '' for the initial position. Raises arbiter.errors.Refusal for an unknown game, a
        wrong position, or an illegal move.
        """
        self.game: Final[AnyGame] = registry.game(game)
        self._start = self.game.start(position)
        self.reset()
        for move in moves:
            self.step(move)

    def reset(self) -> None:
        """Go back to the start."""
        self._position: Any = self._start
        self._before: Any = None
        self.moves: tuple[str, ...] = ()  #: since the start

    @property
    def legal_moves(self) -> tuple[str, ...]:
        """The legal moves, in the engine's order; none at the end."""
        return tuple(self.game.moves(self._position))

    def step(self, move: str) -> GameOutcome | None:
        """Play a move; return the end of the game, if it leads to one.

        Raises arbiter.errors.Refusal MOVE_MALFORMED or MOVE_ILLEGAL, and changes nothing then.
        """
        self._position, self._before = self.game.play(self._position, move), self._position
        self.moves += (move,)
        return self.outcome

    @property
    def turn(self) -> int:
        """The seat to move, 1 or 2. In some games a seat moves twice in a row."""
        return int(self._position.turn)

    @property
    def outcome(self) -> GameOutcome | None:
        """The end of the game by its rules, or None."""
        end = self._position.outcome
        return None if end is None else GameOutcome(end.winner, end.reason)

    @property
    def position(self) -> str:
        """The text of the position, as the arbiter writes it."""
        return self.game.text(self._position)

    @property
    def standing(self) -> Standing:
        """The position as a value, for a search."""
        return Standing(self.game, self._position)

    def cells(self, seat: int = 0) -> NDArray[np.int32]:
        """Return what is on the board as `Standing.cells` does, as a seat sees it; 0: the seat to move."""
        return self.standing.cells(seat or self.turn)

    def __str__(self) -> str:
        from arbiter.drawing.text_drawing import draw

        return draw(self.game, self._position, self._steps())

    def _repr_svg_(self) -> str:
        return _drawn(self.game, self._position, self._steps(), self._before)

    def _steps(self) -> Sequence[Any] | None:
        return None if self._before is None else self.game.steps(self._before, self.moves[-1])


def _row(piece: Piece, seat: int) -> tuple[int, int, int, int, int]:
    owner = piece.owner if seat == 1 or not piece.owner else 3 - piece.owner
    kind = ord(piece.letter.upper()) - ord("A") + 1 if piece.letter else 0
    return owner, kind if 0 <= kind < PIECES else PIECES, piece.facing + 1, piece.height + 1, int(bool(piece.mark))


def _drawn(game: AnyGame, position: Any, steps: Sequence[Any] | None = None, before: Any = None) -> str:
    from arbiter.drawing.svg import svg  # as long to load as the rules, and only notebooks need it

    return svg(game, position, steps, before)


class _Replay(NamedTuple):
    moves: tuple[str, ...]
    position: Any


def standing(turn: Turn) -> Standing:
    """Return the game and the position of a turn. Only the moves since the last call for the match are replayed.

    The position has its history, so rules about earlier positions (repetition) work too. Raises BotFailed if the
    installed engine does not know the game, or its position differs from the arbiter's.
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
