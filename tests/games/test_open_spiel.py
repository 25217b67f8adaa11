"""Random games are legal, and end alike, by the rules of OpenSpiel, which others have written (Apache-2.0)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyspiel
import pytest

from arbiter.games import registry

FEW: Final = 25  #: games in `make test`; in `make soak` 50 for each seed, so that 2,000 seeds are 100,000


def column(action: str) -> str:
    """Return the column of an action such as `x3`."""
    return "abcdefg"[int(action[1])]


def mirrored(action: str) -> str:
    """Return a move of breakthrough, where the first player of OpenSpiel begins at the top: `a7b6*` is `a2-b3`."""
    return f"{action[0]}{9 - int(action[1])}-{action[2]}{9 - int(action[3])}"


def turned(square: str) -> str:
    """Return a square of checkers as seen from the other side: the first player of OpenSpiel begins at the bottom."""
    return f"{'hgfedcba'['abcdefgh'.index(square[0])]}{9 - int(square[1])}"


def checkers_moves(state: Any, path: tuple[str, ...] = ()) -> dict[str, tuple[int, ...]]:
    """Return the turns of OpenSpiel's checkers, in which each jump is an action, by their move here: `h6xf4xh2`."""
    found: dict[str, tuple[int, ...]] = {}
    for action in state.legal_actions():
        text, child = state.action_to_string(action), state.child(action)
        origin, target = turned(text[:2]), turned(text[2:4])
        assert path[-1:] in ((), (origin,)), "the same piece goes on"
        squares = (*(path or (origin,)), target)
        jumps = abs(int(text[1]) - int(text[3])) == 2
        if jumps and not child.is_terminal() and child.current_player() == state.current_player():
            found |= {move: (action, *others) for move, others in checkers_moves(child, squares).items()}
        else:
            found[("x" if jumps else "-").join(squares)] = (action,)
    return found


def test_random_games_of_checkers_are_those_of_open_spiel(seeds: int) -> None:
    """Only draws differ: here a position that comes again, there 40 moves without a capture."""
    game, other = registry.game("checkers"), pyspiel.load_game("checkers")
    dice, won = random.Random("checkers"), 0
    for _ in range(50 * seeds if seeds > 20 else FEW):
        position, state = game.initial(), other.new_initial_state()
        while position.outcome is None and not state.is_terminal():
            turns = checkers_moves(state)
            assert set(game.moves(position)) == set(turns), state
            move = dice.choice(sorted(turns))
            position = game.play(position, move)
            for action in turns[move]:
                state.apply_action(action)
        theirs = state.returns()[0] if state.is_terminal() else 0
        if theirs or (position.outcome and position.outcome.winner):
            won += 1
            assert position.outcome is not None
            assert position.outcome.winner == {1.0: 1, -1.0: 2}[theirs], state
    assert won > FEW / 2


def amazon_moves(state: Any, origins: Sequence[int]) -> dict[str, tuple[int, int, int]]:
    """Return the turns of OpenSpiel's amazons, which are three actions each, by their move here: `d1-d7/g7`.

    origins: the actions that choose the amazons to look at.
    """
    found: dict[str, tuple[int, int, int]] = {}
    for origin in origins:
        chosen = state.child(origin)
        for target in chosen.legal_actions():
            moved = chosen.child(target)
            for arrow in moved.legal_actions():
                found[f"{square(origin)}-{square(target)}/{square(arrow)}"] = (origin, target, arrow)
    return found


def square(action: int) -> str:
    """Return the square of an action: OpenSpiel counts them by rows, from the top."""
    return f"{'abcdefghij'[action % 10]}{10 - action // 10}"


def test_random_games_of_amazons_are_those_of_open_spiel(seeds: int) -> None:
    """Of each position the moves of one amazon are compared, since OpenSpiel takes long to list those of all."""
    game, other = registry.game("amazons"), pyspiel.load_game("amazons")
    dice = random.Random("amazons")
    for _ in range(50 * seeds if seeds > 20 else 10):
        position, state = game.initial(), other.new_initial_state()
        for _ in range(200):
            origins = [] if state.is_terminal() else state.legal_actions()
            moves = game.moves(position)
            assert {move.partition("-")[0] for move in moves} == {square(action) for action in origins}, state
            if not origins:
                break
            origin = dice.choice(origins)
            turns = amazon_moves(state, [origin])
            assert {move for move in moves if move.startswith(f"{square(origin)}-")} == set(turns), state
            move = dice.choice(sorted(turns))
            position = game.play(position, move)
            for action in turns[move]:
                state.apply_action(action)
        assert state.is_terminal()
        assert position.outcome is not None
        assert position.outcome.winner == {1.0: 1, -1.0: 2}[state.returns()[0]], state


def test_random_games_of_go_are_those_of_open_spiel(seeds: int) -> None:
    """OpenSpiel forbids suicide, allows what repeats an earlier position and ends the game then, and has an end."""
    game, other = registry.game("go"), pyspiel.load_game("go(board_size=9,komi=7.5)")
    dice, scored, suicides = random.Random("go"), 0, 0
    for _ in range(50 * seeds if seeds > 20 else FEW):
        position, state = game.initial(), other.new_initial_state()
        full = dice.randrange(10, 150)  #: plies, after which both players pass more and more
        for ply in range(other.max_game_length()):
            actions = {state.action_to_string(each).split()[1].lower(): each for each in state.legal_actions()}
            moves = set(game.moves(position))
            for move in moves - set(actions):
                suicides += 1
                assert not game.pieces(game.play(position, move))[game.board.index[move]].letter, (move, state)
            assert all(state.child(actions[move]).is_terminal() for move in set(actions) - moves), state
            both = sorted(moves & set(actions))
            move = "pass" if dice.random() < (0.02 if ply < full else 0.5) else dice.choice(both)
            position = game.play(position, move)
            state.apply_action(actions[move])
            rows = [line.split() for line in str(state).splitlines()[2:11]]
            board = "/".join(row[1] for row in rows).translate(str.maketrans("X+O", "S.s"))
            assert game.text(position).split()[0] == board, state
            if position.outcome is not None or state.is_terminal():
                break
        if position.outcome is not None:
            scored += 1
            assert state.is_terminal()
            assert position.outcome.winner == {1.0: 1, -1.0: 2}[state.returns()[0]], state
    assert scored > FEW / 2
    assert suicides


@pytest.mark.parametrize(
    ("variant", "theirs", "move_of"),
    [
        ("connect-four", "connect_four", column),
        ("othello", "othello", str),
        ("breakthrough", "breakthrough", mirrored),
        ("hex(swap=false)", "hex(board_size=11)", str),
    ],
)
def test_random_games_are_those_of_open_spiel(
    variant: str, theirs: str, move_of: Callable[[str], str], seeds: int
) -> None:
    game, other = registry.game(variant), pyspiel.load_game(theirs)
    dice = random.Random(variant)
    for _ in range(50 * seeds if seeds > 20 else FEW):
        position, state = game.initial(), other.new_initial_state()
        while position.outcome is None:
            assert not state.is_terminal()
            actions = {move_of(state.action_to_string(action)): action for action in state.legal_actions()}
            assert set(game.moves(position)) == set(actions), state
            move = dice.choice(sorted(actions))
            position = game.play(position, move)
            state.apply_action(actions[move])
        assert state.is_terminal()
        winner = {1.0: 1, 0.0: 0, -1.0: 2}[state.returns()[0]]
        assert position.outcome.winner == winner, state
