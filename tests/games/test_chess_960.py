"""Chess960: the start positions, castling, X-FEN and Shredder-FEN, and random games beside python-chess."""

from __future__ import annotations

from random import Random

import chess as library
import pytest
from arbiter_client.bridge.chess960 import start_fen

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.web.choices import picks
from tests.games.beside_python_chess import played_beside
from tests.refusals import refusing

GAME = registry.game("chess960")


@pytest.mark.long
def test_the_start_positions_have_scharnagls_numbers() -> None:
    wanted = [library.Board.from_chess960_pos(number).fen() for number in range(960)]
    assert list(GAME.starts()) == wanted
    games = [registry.game(f"chess960(start={number})") for number in range(960)]
    assert [game.text(game.initial()) for game in games] == wanted
    assert [start_fen(game.variant) for game in games] == wanted
    assert GAME.text(GAME.initial()) == start_fen("chess960") == wanted[518]
    assert not games[17].starts()


@pytest.mark.parametrize("word", ["960", "-1", "017", "", "LOT", "1.0"])
def test_other_numbers_are_refused(word: str) -> None:
    with refusing(Reason.PARAMETER_INVALID) as caught:
        registry.game(f"chess960(start={word})")
    assert "a number from 0 to 959" in caught.value.message


@pytest.mark.parametrize(
    ("fen", "written"),
    [
        ("4k3/8/8/8/8/8/8/RR2K1RR w HA - 0 1", "4k3/8/8/8/8/8/8/RR2K1RR w KQ - 0 1"),
        ("4k3/8/8/8/8/8/8/RR2K1RR w BG - 0 1", "4k3/8/8/8/8/8/8/RR2K1RR w GB - 0 1"),
        ("rr2k1rr/8/8/8/8/8/8/4K3 w hb - 0 1", "rr2k1rr/8/8/8/8/8/8/4K3 w kb - 0 1"),
        ("4k2r/8/8/8/8/8/8/1R2K3 w Bh - 0 1", "4k2r/8/8/8/8/8/8/1R2K3 w Qk - 0 1"),
    ],
)
def test_both_ways_of_writing_castling_rights_are_read(fen: str, written: str) -> None:
    assert GAME.text(GAME.parse(fen)) == written
    assert library.Board(fen, chess960=True).fen() == written


@pytest.mark.parametrize(
    ("fen", "what"),
    [
        ("4k3/8/8/8/8/8/8/R3K2R w KX - 0 1", "A to H for White"),
        ("4k3/8/8/8/8/8/8/R3K3 w K - 0 1", "a king on rank 1 and a rook to its right"),
        ("4k3/8/8/8/8/8/8/4K2R w Q - 0 1", "a king on rank 1 and a rook to its left"),
        ("4k3/8/8/8/8/8/8/4K2R w B - 0 1", "a king on rank 1 and a rook on file b"),
        ("4k3/8/8/8/8/8/4K3/7R w K - 0 1", "a king on rank 1"),
        ("4k3/8/8/8/8/8/8/4K1RR w HG - 0 1", "one rook on each side of a king"),
        ("4k3/8/8/8/8/8/8/4K2R w KH - 0 1", "one rook on each side of a king"),
        ("4k2n/8/8/8/8/8/8/4K3 w h - 0 1", "a king on rank 8 and a rook on file h"),
        ("4k3/8/8/8/8/8/8/4K2R w KKKKK - 0 1", "letters"),
    ],
)
def test_castling_rights_that_cannot_be_are_refused(fen: str, what: str) -> None:
    with refusing(Reason.POSITION_MALFORMED) as caught:
        GAME.parse(fen)
    assert what in caught.value.message


def test_castling_names_the_rook_for_bots_and_for_people_who_click() -> None:
    position = GAME.parse("4k3/8/8/8/8/8/8/R4K1R w KQ - 0 1")
    moves = GAME.moves(position)
    assert {"f1g1", "f1h1", "f1a1"} <= set(moves)
    assert "f1c1" not in moves
    with pytest.raises(Refusal):
        GAME.play(position, "f1c1")
    assert GAME.notation(position, "f1h1") == "O-O"
    assert GAME.from_notation(position, "0-0-0") == "f1a1"
    clicks = {move: tuple(pick.cell for pick in picks(GAME, move, GAME.steps(position, move))) for move in moves}
    assert len(set(clicks.values())) == len(moves)
    index = GAME.board.index
    assert clicks["f1h1"] == (index["f1"], index["h1"])
    assert clicks["f1g1"] == (index["f1"], index["g1"])
    with refusing(Reason.MOVE_ILLEGAL):
        GAME.from_notation(GAME.play(position, "f1g1"), "O-O")


def test_castling_captures_nothing_and_counts_as_a_quiet_move() -> None:
    after = GAME.play(GAME.parse("4k3/8/8/8/8/8/8/5KR1 w K - 7 9"), "f1g1")
    assert GAME.text(after) == "4k3/8/8/8/8/8/8/5RK1 b - - 8 9"


@pytest.mark.parametrize("seed", range(4))
def test_random_games_agree_with_another_implementation(seed: int) -> None:
    random = Random(seed)
    played_beside(GAME, random.choice(GAME.starts()), random, 80)
