"""Random games are legal, and end alike, by the rules of OpenSpiel, which others have written (Apache-2.0)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

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
