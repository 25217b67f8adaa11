"""Aliases of moves: the record holds a move's own text, and a repeated request is recognised however it writes it."""

from __future__ import annotations

import pytest

from arbiter.matches.commands import Play
from arbiter.matches.events import Moved
from arbiter.matches.requests import Receipt
from tests.matches.logged_match import started


@pytest.mark.parametrize(
    ("game", "said", "move"),
    [("chess", "e2-e4", "e2e4"), ("go", "D4", "d4"), ("checkers", "11-15", "f6-e5"), ("connect-four", "4", "d")],
)
def test_the_record_holds_the_games_own_text(game: str, said: str, move: str) -> None:
    logged = started(game, "1m")
    first = logged.play(said, 100, "r")
    assert isinstance(first.events[0], Moved)
    assert first.events[0].move == move
    assert logged.match.moves == (move,)
    for again in (said, move):
        repeated = logged.do(Play(1, "r", 0, again, logged.now), 5)
        assert isinstance(repeated.answer, Receipt)
        assert (repeated.events, repeated.answer) == ((), first.answer)
    logged.check()


def test_the_first_moves_of_a_match_are_resolved_too() -> None:
    logged = started("chess", "1m", opening=("e2-e4", "e7-e5"))
    assert logged.match.created.opening == ("e2e4", "e7e5")
    logged.check()
