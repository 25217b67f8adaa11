"""The bot that searches: tactics, time, randomness, and strength against the greedy bot; no test waits for a clock."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import arbiter_client as arb
import pytest
from arbiter_client import engines
from arbiter_client.bots.greedy import best_move
from arbiter_client.bots.mcts import LONGEST_LINE, MctsBot, Search
from arbiter_client.search.evaluation import WEIGHTS, Evaluation, Weights
from arbiter_client.think_time import each_move_ms, think_time_ms
from arbiter_client.values.play import LiveMatch

from arbiter.games import registry
from arbiter.games.contract import Game

FIVE = tuple(registry.SEED)

# In these positions at most one move in seven wins at once.
WINS_IN_ONE = {
    "circle-of-life": ".ss.s/S.ss.s/SS....S/S.sS..../..sSSs.../s.ssSsS./s...sS./S.s..S/.sssS 2 12 18",
    "elevation": "4,3f,3,3,2,3/0,6s,2,4,2,4f/4,4,6,1F,3,3/3,2,0,5,0,7/3,4,10,5,1,2/2,0,2,0d,2,3 2 1",
    "hop-it(duty=none)": "_...._/_...f._/_...._/_....._/_.f.._/_.FF.._/_F.F._ 1 0",
    "pods": "......./P...PPP./.PPP...P./pPP.PP..P./ppppp..PP../ppppppPP.PP./pppppp..P..P./pp..p...PP../p..ppp.P.P."
    "/....p..P../....p..../......../....... 1 54",
    "pondlife": "t3...T0/t3....T0/t3.....T0/sf3....W4T0/d2t2nw2S...D1/t3....W2HT0/t3...F4F4T0/t3...NT0/t3...T0"
    " 1 F FFH 7 8 7 5 1 0",
}

# In these positions at least half of the moves let the opponent win at once.
LOSSES_IN_ONE = {
    "circle-of-life": ".ss.s/S.ss.s/SS....S/S.sS..ss/..sSSs..s/s.ssS..s/s...sS./S.s..S/.sss. 1 8 18",
    "elevation": "4,3f,3,3,2,3/0,6s,2,4,2,4f/4,4,5,2,3,3/3,2,0F,5,0,7/3,4,10,5,1,2/2,0,2,0d,2,3 1 0",
    "hop-it": "_...._/_.f..._/_.f.f_/_..F.._/_..F._/_....._/_...f_ 1 4",
    "pods": "pp..pp./.p....p./..ppp..pp/..pp.ppppp/....ppppppp/....p..Pp.P./......P.P..P./.....P..PP.P/.P.P.PPP.PP"
    "/.P.P....P./.P.PP..P./.PP.PP../....... 2 55",
    "pondlife": "t3...T0/t3....T0/t3.....T0/t3.t3...T0./.....N.F3./......s./t3w2f3n.../.....T0/.t3w2.T0"
    " 1 - - 5 7 8 8 0 0",
}


def searched(variant: str, text: str, most: int, seed: int = 1) -> tuple[Game[Any], Any, str]:
    """Return the game, a position, and the move that the search finds in it after this many simulated moves."""
    game = registry.game(variant)
    position = game.parse(text)
    return game, position, Search(game, Random(seed)).move((), position, lambda played: played >= most)


def winning(game: Game[Any], position: Any) -> list[str]:
    """Return the moves that win at once."""
    found = []
    for move in game.moves(position):
        outcome = game.play(position, move).outcome
        if outcome is not None and outcome.winner == position.turn:
            found.append(move)
    return found


@pytest.mark.parametrize("variant", WINS_IN_ONE)
def test_it_wins_when_it_can(variant: str) -> None:
    game, position, move = searched(variant, WINS_IN_ONE[variant], 2_000)
    assert game.play(position, move).outcome.winner == position.turn
    assert len(winning(game, position)) <= len(game.moves(position)) / 7


@pytest.mark.long
@pytest.mark.parametrize("variant", LOSSES_IN_ONE)
def test_it_avoids_an_immediate_loss(variant: str) -> None:
    game, position, move = searched(variant, LOSSES_IN_ONE[variant], 4_000)
    after = game.play(position, move)
    assert after.outcome is None
    assert not winning(game, after)
    sample = Random(1).sample(list(game.moves(position)), min(20, len(game.moves(position))))
    bad = sum(bool(winning(game, game.play(position, move))) for move in sample)
    assert bad >= len(sample) / 2


def turn_in(variant: str, match: LiveMatch | None = None, **more: Any) -> arb.Turn:
    """Return the first turn of a game, or the one after `match.moves`, as the arbiter would send it."""
    game = registry.game(variant)
    match = match or LiveMatch("m1", game.variant, 1, "bob")
    position = game.initial()
    for move in match.moves:
        position = game.play(position, move)
    told: dict[str, Any] = {
        "game": game.variant,
        "seat": position.turn,
        "ply": len(match.moves),
        "position": game.text(position),
        "last_moves": (),
        "clocks": (),
        "started_ms": 0,
        "now_ms": 0,
        "draw_claim": "",
        "draw_offered": False,
        "opponent": "bob",
        "board": (),
        "legal_move_count": None,
        "legal_moves": (),
        "available_ms": 0,
        "revision": 2,
    }
    return arb.Turn(match=match, **{**told, **more})


@pytest.mark.long
@pytest.mark.parametrize("variant", FIVE)
def test_the_same_seed_and_budget_give_the_same_moves(variant: str) -> None:
    def run(seed: int) -> list[str]:
        bot = MctsBot(seed, most_played=300, now_s=lambda: 0.0)
        game, match = registry.game(variant), LiveMatch("m1", variant, 1, "bob")
        for _ in range(4):
            match.moves = (*match.moves, chosen(bot, turn_in(variant, match)).text)
            position = game.initial()
            for move in match.moves:
                position = game.play(position, move)
            match.moves = (*match.moves, game.moves(position)[0])
        return list(match.moves)

    first = run(3)
    assert run(3) == first
    assert any(run(seed) != first for seed in (4, 5))


class Ticking:
    """A clock that goes on by a millisecond at each reading."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.001
        return self.now_s


def chosen(bot: MctsBot, turn: arb.Turn) -> arb.Move:
    """Return the move that a bot chooses, when it chooses a move."""
    move = bot.choose(turn)
    assert isinstance(move, arb.Move)
    return move


@pytest.mark.parametrize("variant", FIVE)
def test_it_keeps_its_time_limit(variant: str) -> None:
    ticking = Ticking()
    MctsBot(1, most_thought_s=0.1, now_s=ticking).choose(turn_in(variant))
    assert 0.09 <= ticking.now_s <= 0.11
    # With ten seconds on the clock a move gets (10,000 - 1,000) / 30 ms.
    ticking = Ticking()
    clock = arb.Clock(10_000, 10_000, 0, 0)
    MctsBot(1, now_s=ticking).choose(turn_in(variant, clocks=(clock, clock), available_ms=10_000))
    assert ticking.now_s <= 0.31


def test_the_end_of_a_match_ends_the_search() -> None:
    match = LiveMatch("m1", "pods", 1, "bob", over=True)
    bot = MctsBot(1, now_s=lambda: 0.0)
    game = registry.game("pods")
    assert chosen(bot, turn_in("pods", match)).text in game.moves(game.initial())


@pytest.mark.parametrize("variant", FIVE)
def test_it_sends_its_evaluation(variant: str) -> None:
    move = chosen(MctsBot(1, most_played=600, now_s=lambda: 0.0), turn_in(variant))
    game = registry.game(variant)
    position = game.initial()
    assert move.evaluation is not None
    assert 0 <= move.evaluation <= 1000
    assert 1 <= len(move.line) <= LONGEST_LINE
    assert move.line[0] == move.text
    for each in move.line:
        position = game.play(position, each)


def test_the_search_tree_is_kept_for_the_next_turn() -> None:
    game = registry.game("circle-of-life")
    search = Search(game, Random(1))
    move = search.move((), game.initial(), lambda played: played >= 3_000)
    after = game.play(game.initial(), move)
    reply, node = max(search.tree.root.children[move].children.items(), key=lambda item: item[1].visits)
    position = game.play(after, reply)
    assert search.move((move, reply), position, lambda played: played >= 100) in game.moves(position)
    assert search.tree.root is node


def test_an_unknown_line_starts_a_new_tree() -> None:
    game = registry.game("hop-it")
    search = Search(game, Random(1))
    first = search.move((), game.initial(), lambda played: played >= 100)
    position = game.initial()
    line: tuple[str, ...] = ()
    for _ in range(3):
        line = (*line, next(move for move in game.moves(position) if move != first))
        position = game.play(position, line[-1])
    assert search.move(line, position, lambda played: played >= 100) in game.moves(position)


def test_a_forced_move_is_played_at_once() -> None:
    game = registry.game("hop-it")
    position = game.parse("_...._/_....f_/_.f.._/_..F.._/_...._/_.F..._/_F..._ 2 2")
    assert len(game.moves(position)) == 1
    search = Search(game, Random(1))
    counted = itertools.count()
    assert search.move((), position, lambda played: next(counted) > 100) == game.moves(position)[0]
    assert next(counted) < 10


@pytest.mark.parametrize(
    ("notation", "expected_ms"),
    [
        ("5m", 0),
        ("5m+3s", 3_000),
        ("5m+3sd", 3_000),
        ("1m+500msb", 500),
        ("300ms/move+10s", 300),
        ("1m+3x10s", 10_000),
        ("40/30m", 0),
        ("none", 0),
        ("", 0),
    ],
)
def test_the_time_for_a_move_with_each_control(notation: str, expected_ms: int) -> None:
    assert each_move_ms(notation) == expected_ms


def test_with_other_matches_in_the_process_a_search_ends_earlier() -> None:
    assert think_time_ms("50ms/move", 50, 0, matches=5) < think_time_ms("50ms/move", 50, 0, matches=1)
    assert think_time_ms("50ms/move", 10, 0) == 0


def test_it_claims_a_draw_that_is_better_than_its_position() -> None:
    game = registry.game("pondlife")
    text = "t3...T0/t3....T0/t3.....T0/.......T0/n..s....N/t3......T0/t3.....T0/t3....T0/t3...T0 1 - - 7 8 0 0 61 0"
    position = game.parse(text)
    assert game.claim(position) == "sixty_moves"
    bot = MctsBot(1, most_played=500, now_s=lambda: 0.0)
    told = turn_in("pondlife", position=text, draw_claim="sixty_moves")
    told.match.memory["arbiter_client.engines"] = engines._Replay((), position)
    assert bot.choose(told) == arb.ClaimDraw()
    told = turn_in("pondlife", LiveMatch("m2", "pondlife", 1, "bob"), position=text)
    told.match.memory["arbiter_client.engines"] = engines._Replay((), position)
    assert chosen(bot, told).text in game.moves(position)


@pytest.mark.parametrize("variant", FIVE)
def test_the_evaluation_favours_neither_seat(variant: str) -> None:
    game = registry.game(variant)
    evaluation = Evaluation(game, WEIGHTS[variant])
    if variant != "pondlife":  # Blue has one egg more
        assert evaluation(game.initial()) == 0
    dice, position = Random(5), game.initial()
    while position.outcome is None and dice.random() < 0.97:
        position = game.play(position, dice.choice(game.moves(position)))
        assert -1 < evaluation(position) < 1


def test_weights_name_existing_counters_and_pieces() -> None:
    for variant, weights in WEIGHTS.items():
        game = registry.game(variant)
        dice, position, names = Random(1), game.initial(), set()
        for _ in range(60):
            names |= set(game.counters(position))
            if position.outcome is not None:
                break
            position = game.play(position, dice.choice(game.moves(position)))
        eels = {name for name in weights.counters if "eel" in name}
        assert set(weights.counters) - eels <= names
        assert set(weights.pieces) <= set(game.facts.letters or ())


def test_a_game_without_weights_is_evaluated_by_its_pieces() -> None:
    game = registry.game("hop-it")
    assert game.facts.letters is not None
    evaluation = Evaluation(game, Weights(pieces=dict.fromkeys(game.facts.letters, 1.0)))
    assert evaluation(game.parse("_ffff_/_ttttt_/_...._/_....._/_...._/_TTTTT_/_FFF._ 1 0")) < 0


@pytest.mark.long
def test_it_beats_the_greedy_bot() -> None:
    """Four games of Circle of Life with 400 moves in the tree for each turn: no clock, so always the same games."""
    game = registry.game("circle-of-life")
    points = 0.0
    for number in range(4):
        own, other, seat = Search(game, Random(f"own {number}")), Random(f"other {number}"), 1 + number % 2
        position = game.initial()
        line: tuple[str, ...] = ()
        while position.outcome is None:
            if position.turn == seat:
                move = own.move(line, position, lambda played: played >= 400)
            else:
                move = best_move(game, position, other, float("inf"))
            line, position = (*line, move), game.play(position, move)
        points += 1 if position.outcome.winner == seat else 0
    assert points >= 3
