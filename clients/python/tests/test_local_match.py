"""A match of two bots in one process, without a server."""

from __future__ import annotations

import arbiter_client as arb
import pytest
from arbiter_client.bots.greedy import GreedyBot
from arbiter_client.bots.random import RandomBot
from arbiter_client.local_match import local_match, play_local_match

from arbiter.errors import Refusal
from arbiter.games import registry

QUICK = "circle-of-life(target=1)"


class Script(arb.Bot):
    """Makes its choices one after the other, and then plays the first legal move."""

    def __init__(self, *choices: arb.Choice, accepts: bool = False) -> None:
        self.choices = list(choices)
        self.accepts = accepts
        self.turns: list[arb.Turn] = []
        self.told: list[str] = []

    async def choose(self, turn: arb.Turn) -> arb.Choice:
        self.turns.append(turn)
        return self.choices.pop(0) if self.choices else (await self.ask_legal_moves(turn))[0].text

    def started(self, match: arb.LiveMatch) -> None:
        self.told.append(f"started as {match.seat} against {match.opponent}")

    def ended(self, finished: arb.FinishedMatch) -> None:
        self.told.append(f"ended with {finished.score}")

    def draw_offered(self, offer: arb.DrawOffer) -> bool:
        return self.accepts


def test_two_bots_play_to_the_end_by_the_rules() -> None:
    finished = local_match(GreedyBot(1), RandomBot(2), QUICK)
    assert finished.match is not None
    game = registry.game(QUICK)
    position = game.initial()
    for move in finished.match.moves:
        position = game.play(position, move)
    assert position.outcome is not None
    assert (finished.result.reason, finished.result.winner) == (position.outcome.reason, position.outcome.winner)
    assert finished.position == game.text(position)
    assert finished.opponent == "seat-2"


def test_one_bot_may_play_both_seats() -> None:
    class Both(arb.Bot):
        def choose(self, turn: arb.Turn) -> str:
            turn.match.memory.setdefault("plies", []).append(turn.ply)
            plies.setdefault(turn.seat, turn.match.memory["plies"])
            return turn.legal_moves[0].text

    plies: dict[int, list[int]] = {}
    bot = Both()
    finished = local_match(bot, bot, "pods(size=3)")
    assert (finished.seat, finished.opponent) == (1, "seat-2")
    assert finished.match is not None
    assert sorted(plies[1] + plies[2]) == list(range(len(finished.match.moves)))
    assert not set(plies[1]) & set(plies[2]), "the memory belongs to a seat"


def test_bots_are_told_what_a_server_tells_them() -> None:
    first, second = Script(), Script(arb.Resign())
    finished = local_match(first, second, "pods(size=3)", time_control="5m:2m", opening=["a1", "b1"])
    assert (finished.result.reason, finished.score, finished.result.cause) == (
        "resignation",
        1.0,
        arb.Cause.RESIGNATION,
    )
    assert first.told == ["started as 1 against seat-2", "ended with 1.0"]
    assert second.told == ["started as 2 against seat-1", "ended with 0.0"]
    [turn], [reply] = first.turns, second.turns
    assert (turn.ply, turn.seat, turn.match.moves) == (2, 1, reply.match.moves)
    assert (turn.match.time_control, turn.match.match_time_control) == ("5m", "5m:2m")
    assert turn.match.opening_plies == 2
    assert turn.board
    assert 0 < (reply.think_time_ms() or 0) < 120_000
    assert [recent.move for recent in reply.last_moves] == list(reply.match.moves)
    assert [recent.seat for recent in reply.last_moves] == [1, 2, 1]


def test_a_refused_move_is_chosen_again_and_a_second_refusal_resigns() -> None:
    first, second = Script("nonsense"), Script("nonsense", "nonsense")
    finished = local_match(first, second, "pods(size=3)")
    assert first.turns[1].refused is not None
    assert first.turns[1].refused.reason == arb.Reason.MOVE_MALFORMED
    assert (finished.result.reason, finished.score) == ("resignation", 1.0)
    assert len(second.turns) == 2


@pytest.mark.parametrize("accepts", [True, False])
async def test_draws_are_offered_and_answered(accepts: bool) -> None:
    first = Script(arb.OfferDraw("e2e4"), arb.Resign())
    finished = await play_local_match(first, Script(accepts=accepts), "chess")
    assert finished.result.reason == ("draw_agreed" if accepts else "resignation")
    assert finished.score == (0.5 if accepts else 0.0)


def test_in_a_game_without_draw_offers_none_is_made() -> None:
    finished = local_match(Script(arb.OfferDraw("a1"), arb.Resign()), Script(accepts=True), "pods(size=3)")
    assert finished.result.reason == "resignation"
    assert finished.match is not None
    assert finished.match.moves[0] == "a1"


def test_a_match_from_a_position_of_its_own() -> None:
    first = Script("f7g7")
    finished = local_match(first, Script(), "chess", position="7k/5Q2/6K1/8/8/8/8/8 w - - 0 1")
    assert (finished.result.reason, finished.score) == ("checkmate", 1.0)
    assert first.turns[0].match.start_position == first.turns[0].position == "7k/5Q2/6K1/8/8/8/8/8 w - - 0 1"


def test_a_flag_falls() -> None:
    class Slow(arb.Bot):
        def choose(self, turn: arb.Turn) -> str:
            while turn.time_left_ms:
                pass
            return turn.legal_moves[0].text

    finished = local_match(Slow(), Script(), "pods(size=3)", time_control="20ms")
    assert (finished.result.reason, finished.score) == ("time", 0.0)


def test_what_can_not_be_played_is_refused() -> None:
    with pytest.raises(Refusal, match="no game"):
        local_match(Script(), Script(), "ludo")
    with pytest.raises(Refusal, match="5 min"):
        local_match(Script(), Script(), "pods", time_control="5 min")
