"""Results in words: with the names of the seats, where the rules of the game have names."""

from __future__ import annotations

import arbiter_client as arb
import pytest

from arbiter.cli import tournament_words, words

PLAYERS = ("ann", "ben")


@pytest.mark.parametrize(
    ("game", "players", "said"),
    [
        ("chess", PLAYERS, "ben (Black) wins: checkmate"),
        ("go(size=13)", PLAYERS, "ben (White) wins: checkmate"),
        ("circle-of-life", PLAYERS, "ben wins: checkmate"),
        ("circle-of-life", ("ann", "ann"), "ann (seat 2) wins: checkmate"),
        ("chess", ("ann", "ann"), "ann (Black) wins: checkmate"),
        ("not-installed", PLAYERS, "ben wins: checkmate"),
    ],
)
def test_a_winner_is_named_with_its_seat(game: str, players: tuple[str, str], said: str) -> None:
    event = arb.GameEnded(3, "m3", 2, "checkmate", "rules")
    happened = arb.TournamentEvent("t1", 1, 0, "game_ended", b"", event)
    paired = {3: arb.PairedGame(3, players, game)}
    assert said.replace(": checkmate", " (checkmate)") in tournament_words.happening(happened, paired)
    result = arb.Result(arb.ResultKind.WIN, 2, "checkmate", arb.Cause.RULES, arb.Party.PLAYER, 1, "")
    assert words.result(result, players, game) == said
