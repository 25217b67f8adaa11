"""The bundled bots: each plays a legal move in every game, within its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any

import arbiter_client as arb
import pytest
from arbiter_client import cli
from arbiter_client.bot import Run
from arbiter_client.bots.greedy import GreedyBot, best_move
from arbiter_client.bots.random import RandomBot
from arbiter_client.bots.wire import WireBot
from arbiter_client.engines import standing
from arbiter_client.values.play import LiveMatch

from arbiter.games import registry
from arbiter.games.circle_of_life import CircleOfLife, CirclePosition


def turn_in(variant: str, moves: tuple[str, ...] = (), match: LiveMatch | None = None, **more: Any) -> arb.Turn:
    """Return a turn at the end of a line of a game, as the arbiter would send it."""
    rules = registry.game(variant)
    position = rules.initial()
    for move in moves:
        position = rules.play(position, move)
    match = match or LiveMatch("m1", rules.variant, position.turn, "bob")
    match.moves = moves
    told: dict[str, Any] = {
        "game": rules.variant,
        "seat": position.turn,
        "ply": len(moves),
        "position": rules.text(position),
        "last_moves": (),
        "clocks": (),
        "started_ms": 0,
        "now_ms": 0,
        "draw_claim": "",
        "draw_offered": False,
        "opponent": "bob",
        "board": (),
        "legal_move_count": None,
        "legal_moves": tuple(arb.LegalMove(text, ()) for text in sorted(rules.moves(position))),
        "available_ms": 0,
        "revision": 2,
    }
    return arb.Turn(match=match, **{**told, **more})


@pytest.mark.parametrize("game", registry.classes())
def test_greedy_plays_a_legal_move_in_every_game(game: str) -> None:
    turn = turn_in(game, available_ms=2_000)
    assert GreedyBot(seed=1).choose(turn) in [move.text for move in turn.legal_moves]


def test_greedy_moves_at_once_when_its_clock_has_nearly_run_out() -> None:
    turn = turn_in("elevation", available_ms=25)
    start_s = time.monotonic()
    move = GreedyBot(seed=1).choose(turn)
    assert time.monotonic() - start_s < 1.0  # 1,150 legal moves, each with thousands of answers
    assert move in [move.text for move in turn.legal_moves]


def test_greedy_wins_when_it_can() -> None:
    rules = registry.game("hop-it")
    dice = Random(5)
    tried = 0
    for _ in range(5):
        position = rules.initial()
        while position.outcome is None:
            before, position = position, rules.play(position, dice.choice(rules.moves(position)))
        if position.outcome.winner == before.turn:
            found = best_move(rules, before, dice, time.monotonic() + 60)
            assert rules.play(before, found).outcome.winner == before.turn
            tried += 1
    assert tried >= 3


def test_the_engine_replays_only_new_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    first = turn_in("circle-of-life")
    opening = tuple(move.text for move in first.legal_moves[:1])
    standing(first)
    rules = registry.game("circle-of-life")
    second = turn_in("circle-of-life", opening, first.match)
    played: list[str] = []
    monkeypatch.setattr(type(rules), "play", _counting(type(rules).play, played))
    assert rules.text(standing(second).position) == second.position
    assert rules.text(standing(second).position) == second.position
    assert played == list(opening)


def _counting(play: Callable[..., Any], played: list[str]) -> Callable[..., Any]:
    def counted(self: CircleOfLife, position: CirclePosition, move: str) -> Any:
        played.append(move)
        return play(self, position, move)

    return counted


def test_an_engine_that_disagrees_with_the_server_is_named() -> None:
    with pytest.raises(arb.BotFailed, match="are the versions the same"):
        standing(turn_in("pods", position="something else"))
    with pytest.raises(arb.BotFailed, match="can't follow match m1: GAME_UNKNOWN"):
        standing(turn_in("pods", game="ludo"))


def test_a_bot_with_a_seed_repeats_its_choices_in_each_match() -> None:
    def run() -> list[str]:
        bot = RandomBot(seed=4)
        turns = [turn_in("pods", match=LiveMatch(f"m{n}", "pods", 1, "bob")) for n in range(5)]
        return [bot.choose(turn) for turn in turns]

    assert run() == run()
    assert len(set(run())) > 1


class AnsweringClient:
    """Plays lines as the server does."""

    def play_moves(self, line: arb.Line, from_ply: int) -> arb.PlayedLine:
        assert from_ply == len(line.moves)
        rules = registry.game(line.game)
        position = rules.initial()
        for move in line.moves:
            position = rules.play(position, move)
        final = arb.PlayedPosition(len(line.moves), rules.text(position), position.turn, (), "")
        return arb.PlayedLine((final,), arb.GameOutcome(*position.outcome) if position.outcome else None)


def test_the_bot_without_rules_finds_wins_and_losses_with_the_server() -> None:
    rules = registry.game("circle-of-life")
    dice = Random(7)
    bot = WireBot(seed=1)
    bot._runs = (Run(None, AnsweringClient()),)  # type: ignore[arg-type]
    position = rules.initial()
    line: tuple[str, ...] = ()
    while position.outcome is None:
        move = dice.choice(rules.moves(position))
        before, line, position = line, (*line, move), rules.play(position, move)
    turn = turn_in("circle-of-life", before)
    assert bot.worth(turn, line[-1]) == (1 if position.outcome.winner == turn.seat else -1)
    assert bot.choose(turn) in [move.text for move in turn.legal_moves]


def test_a_bots_command_line_has_readable_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        cli.main(RandomBot, "Plays.", ["--help"])
    assert done.value.code == 0
    assert "--server HOST:PORT" in capsys.readouterr().out


def test_a_mistake_on_the_command_line_gets_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        cli.main(RandomBot, "Plays.", ["--server", "nowhere", "--name", "alice"])
    assert done.value.code == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_line_builds_the_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(cli, "run", lambda bot, server, **more: made.append((bot, server, more)))
    cli.main(
        RandomBot,
        "Plays.",
        ["--server", "here:1", "--games", "pods(size=5,rings=1), hop-it", "--most-matches", "3", "--client-key", "k"],
    )
    bot, server, more = made[0]
    assert (list(bot.games), bot.most_matches, server) == (["pods(size=5,rings=1)", "hop-it"], 3, "here:1")
    assert more["tls"] == arb.Tls(None, None, "k")
