"""A random game on the arbiter's rules and on those of OpenSpiel, which others have written (Apache-2.0), at once.

Each function plays one game and compares the moves of every position and the end; it returns what has happened in it.
OpenSpiel writes an action alike in every position of a player, so its text is asked for once; that of the action that
is played is asked for each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any, Final

import pyspiel

from arbiter.games import registry
from arbiter.games.contract import AnyGame

WINNERS: Final = {1.0: 1, 0.0: 0, -1.0: 2}  #: by what the first player of OpenSpiel has won
BOARD: Final = str.maketrans("X+O", "S.s")


class Actions:
    """The moves of OpenSpiel's actions, by player."""

    def __init__(self, move_of: Callable[[str], str]) -> None:
        self._move_of = move_of
        self._known: tuple[dict[int, str], dict[int, str]] = ({}, {})

    def moves(self, state: Any, actions: Iterable[int]) -> dict[str, int]:
        """Return actions by their moves."""
        known = self._known[state.current_player()]
        return {known.get(action) or self._asked(state, action): action for action in actions}

    def apply(self, state: Any, move: str, action: int) -> None:
        """Play an action, which is a move."""
        assert self._asked(state, action) == move, state
        state.apply_action(action)

    def _asked(self, state: Any, action: int) -> str:
        move = self._known[state.current_player()][action] = self._move_of(state.action_to_string(action))
        return move


class Alike:
    """Games of which moves and ends are the same in OpenSpiel."""

    def __init__(self, variant: str, theirs: str, move_of: Callable[[str], str]) -> None:
        self._game, self._other = registry.game(variant), pyspiel.load_game(theirs)
        self._actions = Actions(move_of)

    def __call__(self, dice: Random) -> set[str]:
        """Play a game."""
        game, position, state = self._game, self._game.initial(), self._other.new_initial_state()
        while position.outcome is None:
            assert not state.is_terminal(), state
            legal = state.legal_actions()
            actions = self._actions.moves(state, legal)
            assert actions.keys() == set(game.moves(position)), state
            move = dice.choice(list(actions))
            position = game.play(position, move)
            self._actions.apply(state, move, actions[move])
        assert state.is_terminal(), state
        assert position.outcome.winner == WINNERS[state.returns()[0]], state
        return {"won" if position.outcome.winner else "drawn"}


def column(action: str) -> str:
    """Return the column of an action such as `x3`."""
    return "abcdefg"[int(action[1])]


def mirrored(action: str) -> str:
    """Return a move of breakthrough, where the first player of OpenSpiel begins at the top: `a7b6*` is `a2-b3`."""
    return f"{action[0]}{9 - int(action[1])}-{action[2]}{9 - int(action[3])}"


def turned(square: str) -> str:
    """Return a square of checkers as seen from the other side: the first player of OpenSpiel begins at the bottom."""
    return f"{'hgfedcba'['abcdefgh'.index(square[0])]}{9 - int(square[1])}"


class Checkers:
    """Only draws differ: here a position that comes again, there 40 moves without a capture."""

    def __init__(self) -> None:
        self._game, self._other = registry.game("checkers"), pyspiel.load_game("checkers")
        self._actions = Actions(lambda action: turned(action[:2]) + turned(action[2:4]))

    def __call__(self, dice: Random) -> set[str]:
        """Play a game."""
        game, position, state = self._game, self._game.initial(), self._other.new_initial_state()
        while position.outcome is None and not state.is_terminal():
            turns = self._turns(state)
            assert turns.keys() == set(game.moves(position)), state
            move = dice.choice(list(turns))
            position = game.play(position, move)
            for action in turns[move]:
                state.apply_action(action)
        theirs = WINNERS[state.returns()[0]] if state.is_terminal() else 0
        ours = position.outcome.winner if position.outcome is not None else 0
        assert ours == theirs, state
        return {"won" if ours else "drawn"}

    def _turns(self, state: Any, path: tuple[str, ...] = ()) -> dict[str, tuple[int, ...]]:
        """Return the turns of OpenSpiel's checkers, in which each jump is an action, by their move: `h6xf4xh2`."""
        found: dict[str, tuple[int, ...]] = {}
        for text, action in self._actions.moves(state, state.legal_actions()).items():
            origin, target = text[:2], text[2:]
            assert path[-1:] in ((), (origin,)), "the same piece goes on"
            squares = (*(path or (origin,)), target)
            if abs(int(text[1]) - int(text[3])) != 2:
                found[f"{origin}-{target}"] = (action,)
                continue
            child = state.child(action)
            if not child.is_terminal() and child.current_player() == state.current_player():
                found |= {move: (action, *others) for move, others in self._turns(child, squares).items()}
            else:
                found["x".join(squares)] = (action,)
        return found


SQUARES: Final = tuple(f"{file}{rank}" for rank in range(10, 0, -1) for file in "abcdefghij")
"""The squares of amazons by their actions: OpenSpiel counts them by rows, from the top."""


class Amazons:
    """Of each position the moves of one amazon are compared, since OpenSpiel takes long to list those of all."""

    def __init__(self) -> None:
        self._game, self._other = registry.game("amazons"), pyspiel.load_game("amazons")

    def __call__(self, dice: Random) -> set[str]:
        """Play a game."""
        game, position, state = self._game, self._game.initial(), self._other.new_initial_state()
        while not state.is_terminal():
            origins, moves = state.legal_actions(), game.moves(position)
            listed, known = "\n" + "\n".join(moves), set(moves)  # counting in one text is faster than move by move
            each = {origin: listed.count(f"\n{SQUARES[origin]}-") for origin in origins}
            assert all(each.values()), state
            assert sum(each.values()) == len(moves) == len(known), state
            origin = dice.choice(origins)
            turns = self._turns(state, origin)
            assert turns.keys() <= known, state
            assert len(turns) == each[origin], state
            move = dice.choice(list(turns))
            position = game.play(position, move)
            for action in turns[move]:
                state.apply_action(action)
        assert not game.moves(position), state
        assert position.outcome.winner == WINNERS[state.returns()[0]], state
        return {"won"}

    def _turns(self, state: Any, origin: int) -> dict[str, tuple[int, int, int]]:
        """Return the turns of an amazon of OpenSpiel, which are three actions each, by their move: `d1-d7/g7`."""
        found: dict[str, tuple[int, int, int]] = {}
        chosen = state.child(origin)
        for target in chosen.legal_actions():
            moved = f"{SQUARES[origin]}-{SQUARES[target]}/"
            for arrow in chosen.child(target).legal_actions():
                found[moved + SQUARES[arrow]] = (origin, target, arrow)
        return found


class Go:
    """OpenSpiel forbids suicide, allows what repeats an earlier position and ends the game then, and has an end."""

    def __init__(self) -> None:
        self._game, self._other = registry.game("go"), pyspiel.load_game("go(board_size=9,komi=7.5)")
        self._actions = Actions(lambda action: action.split()[1].lower())

    def __call__(self, dice: Random) -> set[str]:
        """Play a game."""
        game, position, state = self._game, self._game.initial(), self._other.new_initial_state()
        full = dice.randrange(10, 150)  #: plies, after which both players pass more and more
        happened: set[str] = set()
        for ply in range(self._other.max_game_length()):
            actions = self._actions.moves(state, state.legal_actions())
            moves = set(game.moves(position))
            for move in moves - actions.keys():
                happened.add("suicide")
                assert is_suicide(game, position, move), (move, state)
            for move in actions.keys() - moves:
                happened.add("superko")
                assert state.child(actions[move]).is_terminal(), (move, state)
            passes = dice.random() < (0.02 if ply < full else 0.5)
            move = "pass" if passes else dice.choice([each for each in actions if each in moves])
            position = game.play(position, move)
            self._actions.apply(state, move, actions[move])
            rows = str(state).split("\n")[2:11]
            board = "/".join([row[-9:] for row in rows]).translate(BOARD)
            assert game.text(position).startswith(f"{board} "), state
            if position.outcome is not None or state.is_terminal():
                break
        if position.outcome is not None:
            happened.add("won")
            assert state.is_terminal(), state
            assert position.outcome.winner == WINNERS[state.returns()[0]], state
        return happened


def is_suicide(game: AnyGame, position: Any, move: str) -> bool:
    """Say whether a stone does not stand where it was set."""
    return not game.pieces(game.play(position, move))[game.board.index[move]].letter
