"""Matches as environments of PettingZoo: its own tests, and ours of what the actions mean."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from arbiter_client.training import MatchEnv, Parts
from pettingzoo.test import api_test, seed_test

from arbiter.errors import Refusal
from arbiter.games import registry


# It warns of observations that are dictionaries, as all are that have a mask, and of empty boards; its own environments
# of games are on a list of exceptions.
@pytest.mark.long
@pytest.mark.filterwarnings(
    "ignore:Observation space for each agent probably should be",
    "ignore:Observation is not a NumPy array",
    "ignore:.* is all zeros",
)
@pytest.mark.parametrize("game", registry.BUNDLED)
def test_it_passes_the_tests_of_the_library(game: str) -> None:
    api_test(MatchEnv(game), num_cycles=40)
    seed_test(lambda: MatchEnv(game), num_cycles=40)


def after(game: str, plies: int, dice: Random) -> MatchEnv:
    """Return a match after some random plies, or fewer if it has ended."""
    env = MatchEnv(game)
    env.reset()
    while len(env.match.moves) < plies and not any(env.terminations.values()):
        play(env, dice.choice(env.match.legal_moves))
    return env


def play(env: MatchEnv, move: str) -> list[str]:
    """Play a move by its parts, as the masks allow them; return the parts that were asked for."""
    parts, played, asked, agent = env.parts.of(move), len(env.match.moves), [], env.agent_selection
    while len(env.match.moves) == played:
        assert env.agent_selection == agent, "a move is one agent's"
        seen = env.observe(agent)
        begun = [int(part) for part in seen["begun"] if part >= 0]
        assert begun == list(parts[: len(begun)])[-len(seen["begun"]) :]
        action = parts[len(begun)]
        assert seen["action_mask"][action] == 1
        asked.append(env.parts.names[action])
        env.step(action)
    assert env.match.moves[-1] == move
    return asked


@pytest.mark.parametrize(
    "game",
    [
        pytest.param(game, marks=pytest.mark.long) if game in ("amazons", "elevation") else game
        for game in registry.BUNDLED
    ],
)
def test_every_legal_move_can_be_played_and_masks_allow_nothing_else(game: str) -> None:
    dice = Random(11)
    for plies in (0, 6):
        env = after(game, plies, dice)
        before = env.match.moves
        legal = env.match.legal_moves
        for move in dice.sample(legal, min(len(legal), 8)):
            env.reset()
            for earlier in before:
                env.match.step(earlier)
            env._begin_turn()
            first = {env.parts.of(each)[0] for each in legal}
            assert set(np.flatnonzero(env.observe(env.agent_selection)["action_mask"]).tolist()) == first
            play(env, move)


@pytest.mark.parametrize(
    ("game", "move", "asked"),
    [
        ("connect-four", "d", ["d"]),
        ("circle-of-life", "e5", ["e5"]),
        ("go", "pass", ["p"]),
        ("chess", "e2e4", ["e2", "e4"]),
        ("chess", "g1f3", ["g1", "f3"]),
        ("amazons", "d1-d7/g7", ["d1", "d7", "g7"]),
        ("hop-it", "b2-c2", ["b2"]),
        ("hop-it", "a3xc2", ["a3", "c2", ""]),
    ],
)
def test_parts_without_an_alternative_are_left_out(game: str, move: str, asked: list[str]) -> None:
    env = MatchEnv(game)
    env.reset()
    assert play(env, move) == asked


def test_the_end_of_a_move_is_an_action_where_it_could_go_on() -> None:
    env = MatchEnv("hop-it")
    env.reset()
    assert {"a3xc2", "a3xc2xa1", "a3xc4"} <= set(env.match.legal_moves)
    for name in ("a3", "c2"):
        env.step(env.parts.names.index(name))
    assert not env.match.moves
    ways = np.flatnonzero(env.observe("seat_1")["action_mask"])
    assert [env.parts.names[way] for way in ways] == ["x", ""]
    env.step(env.parts.end)
    assert env.match.moves == ("a3xc2",)


def test_a_win_is_rewarded_and_ends_the_match_for_both() -> None:
    env = MatchEnv("connect-four")
    env.reset()
    for move in "abababa":
        play(env, move)
    assert env.rewards == {"seat_1": 1.0, "seat_2": -1.0}
    assert env.terminations == {"seat_1": True, "seat_2": True}
    assert not env.observe("seat_1")["action_mask"].any()
    told = {}
    for agent in env.agent_iter():
        _, reward, over, cut, _ = env.last()
        told[agent] = (reward, over, cut)
        env.step(None)
    assert told == {"seat_1": (1.0, True, False), "seat_2": (-1.0, True, False)}
    env.reset()
    assert env.agents == ["seat_1", "seat_2"]


def test_a_draw_is_rewarded_with_nothing() -> None:
    env = MatchEnv("chess", "7k/8/8/8/8/8/6p1/7K w - - 0 1")
    env.reset()
    play(env, "h1g2")
    assert env.rewards == {"seat_1": 0.0, "seat_2": 0.0}
    assert env.terminations == {"seat_1": True, "seat_2": True}


def test_an_action_outside_of_the_mask_is_refused_and_changes_nothing() -> None:
    env = MatchEnv("chess")
    env.reset()
    e2, e5 = (env.parts.names.index(name) for name in ("e2", "e5"))
    with pytest.raises(ValueError, match="after ''"):
        env.step(e5)
    env.step(e2)
    with pytest.raises(ValueError, match="after 'e2'"):
        env.step(e5)
    assert not env.match.moves
    play(env, "e2e4")


def test_an_agent_sees_its_own_side_and_the_text_and_the_drawing_of_the_position() -> None:
    env = MatchEnv("connect-four", render_mode="ansi")
    env.reset()
    play(env, "d")
    cell = env.match.game.board.index["d1"]
    assert [env.observe(agent)["observation"][cell, 0] for agent in ("seat_1", "seat_2")] == [1, 2]
    assert env.infos["seat_2"]["position"] == env.match.position
    assert env.render() == str(env.match)
    assert MatchEnv("connect-four").render() is None


def test_a_wrong_game_or_position_is_refused_by_name() -> None:
    for game, position in (("risk", ""), ("chess", "nothing")):
        with pytest.raises(Refusal):
            MatchEnv(game, position)


def test_a_part_is_a_cell_or_a_sign() -> None:
    parts = Parts(["a1", "a10", "b2"])
    assert [parts.names[part] for part in parts.of("a10-b2=Q")] == ["a10", "-", "b2", "=", "Q", ""]
    assert len(parts.names) == 3 + 95 + 1
    with pytest.raises(ValueError, match="no printable character"):
        parts.of("a1é")
