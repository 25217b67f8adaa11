"""Chess: the ends, claims and texts, positions that cannot be, and comparisons with two other implementations."""

from __future__ import annotations

from random import Random

import chess as library
import pytest

from arbiter.errors import Reason
from arbiter.games import registry
from arbiter.games.chess import ChessPosition
from arbiter.games.line import follow
from arbiter.games.perft import perft
from tests.games import reference_chess as reference
from tests.games.beside_python_chess import KIWIPETE, START, STARTS, played_beside
from tests.refusals import refusing

GAME = registry.game("chess")


def test_the_start() -> None:
    assert GAME.text(GAME.initial()) == START
    assert GAME.initial() == GAME.parse(START)
    assert GAME.number(GAME.initial(), 0) == "1."
    assert GAME.number(GAME.play(GAME.initial(), "e2e4"), 1) == "1…"


@pytest.mark.parametrize(
    ("fen", "what"),
    [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0", "six"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP w KQkq - 0 1", "8 ranks"),
        ("rnbqkbnr/ppppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "rank 7"),
        ("rnbqkbnr/pppppppp/44/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "rank 6"),
        ("rnbqkbnr/pppppppp/7/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "8 squares"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR x KQkq - 0 1", "w or b"),
        ("rnbq1bnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQ - 0 1", "one king"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBKKBNR w kq - 0 1", "one king"),
        ("rnbqkbnr/pppppppp/p7/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "at most 8 pawns"),
        ("rnbqkbnr/pppppppp/q7/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "at most 0"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPP1/RNBQKBNP w Qkq - 0 1", "no pawn on the first or the last rank"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBN1 w KQkq - 0 1", "a rook on h1"),
        ("rnbq1bnr/ppppkppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "a king on e8"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w QK - 0 1", "in this order"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq e3 0 1", "a square of rank 6"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq e6 0 1", "just passed"),
        ("rnbqkbnr/pppp1ppp/8/4p3/8/8/PPPPPPPP/RNBQKBNR w KQkq e6 3 2", "0 after a pawn's double step"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 151 1", "0 to 150"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 0", "1 to 99999"),
        ("rnbqkbnr/ppppp1pp/8/7Q/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1", "Black in check"),
        ("4k3/8/8/8/4r3/3n4/8/r3K3 w - - 0 1", "3 pieces that give check"),
    ],
)
def test_positions_that_cannot_be_are_refused(fen: str, what: str) -> None:
    with refusing(Reason.POSITION_MALFORMED) as caught:
        GAME.parse(fen)
    assert what in caught.value.message


def test_a_square_that_was_passed_is_written_only_if_a_pawn_may_capture_there() -> None:
    after = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"
    assert GAME.text(GAME.parse(after)) == after.replace("e3", "-")
    assert GAME.text(GAME.play(GAME.initial(), "e2e4")) == after.replace("e3", "-")


@pytest.mark.parametrize(
    ("fen", "move", "why"),
    [
        (START, "e2e5", "the pawn on e2 does not reach e5"),
        (START, "e7e5", "White has no piece on e7"),
        (START, "e4e5", "White has no piece on e4"),
        (START, "e2e4q", "only a pawn on the last rank becomes one"),
        ("7k/1P6/8/8/8/8/8/K7 w - - 0 1", "b7b8", "the pawn becomes a piece: add q, r, b or n"),
        ("4k3/4r3/8/8/8/8/4R3/4K3 w - - 0 1", "e2d2", "the king would be in check"),
        (KIWIPETE, "e1h1", "the king on e1 does not reach h1"),
        ("7k/5R2/8/8/8/8/8/K7 b - - 0 1", "h8h7", "the king would be in check"),
    ],
)
def test_an_illegal_move_is_refused_with_the_reason(fen: str, move: str, why: str) -> None:
    with refusing(Reason.MOVE_ILLEGAL) as caught:
        GAME.play(GAME.parse(fen), move)
    assert why in caught.value.message


@pytest.mark.parametrize("move", ["", "e2", "e2e9", "e2e4x", "e7e8qq", "O-O", "Nf3", "e2e4 ", "E2e4", "e2-e4"])
def test_other_texts_are_no_moves(move: str) -> None:
    with refusing(Reason.MOVE_MALFORMED):
        GAME.play(GAME.initial(), move)


def test_aliases_are_resolved_in_a_line() -> None:
    line = follow(GAME, GAME.initial(), ["e2-e4", "d7d5", "e4xd5"])
    assert line.moves == ("e2e4", "d7d5", "e4d5")


@pytest.mark.parametrize(
    ("fen", "move", "written"),
    [
        (START, "g1f3", "Nf3"),
        (START, "e2e4", "e4"),
        (KIWIPETE, "e1g1", "O-O"),
        (KIWIPETE, "e1c1", "O-O-O"),
        (KIWIPETE, "e5g6", "Nxg6"),
        (KIWIPETE, "d5e6", "dxe6"),
        ("8/2p5/8/1P6/8/8/8/K6k b - - 0 1", "c7c5", "c5"),
        ("8/8/8/1Pp5/8/8/8/K6k w - c6 0 2", "b5c6", "bxc6"),
        ("3r3k/4P3/8/8/8/8/8/K7 w - - 0 1", "e7d8q", "exd8=Q+"),
        ("6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1", "e1e8", "Re8#"),
        ("6k1/8/8/8/R6R/8/8/K7 w - - 0 1", "a4d4", "Rad4"),
        ("7k/R7/8/8/R7/8/8/1K6 w - - 0 1", "a4a6", "R4a6"),
        ("8/8/8/k7/4Q2Q/8/8/1K5Q w - - 0 1", "h4e1", "Qh4e1+"),
    ],
)
def test_people_read_standard_algebraic_notation(fen: str, move: str, written: str) -> None:
    position = GAME.parse(fen)
    assert GAME.notation(position, move) == written
    assert library.Board(fen).san(library.Move.from_uci(move)) == written
    assert GAME.from_notation(position, written) == move


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("O-O", "e1g1"),
        ("0-0-0", "e1c1"),
        ("Nxg6", "e5g6"),
        ("Ng6!?", "e5g6"),
        ("Ne5-g6", "e5g6"),
        ("e5g6", "e5g6"),
        ("e5xg6", "e5g6"),
        ("d5xe6", "d5e6"),
        ("dxe6", "d5e6"),
        ("d:e6", "d5e6"),
    ],
)
def test_what_people_write_is_read(text: str, move: str) -> None:
    assert GAME.from_notation(GAME.parse(KIWIPETE), text) == move


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Nf6", "no knight of White may go there"),
        ("Nb4", "no knight of White may go there"),
        ("Rc1", "no rook of White may go there"),
        ("O-O-O#", "may not castle long"),
        ("Nd6", "the knights on c4, f5 may go there: say which"),
    ],
)
def test_what_people_write_and_may_not_play(text: str, why: str) -> None:
    position = GAME.parse("4k3/8/8/5N2/2N5/8/8/4K3 w - - 0 1")
    with refusing(Reason.MOVE_ILLEGAL) as caught:
        GAME.from_notation(position, text)
    assert why in caught.value.message


@pytest.mark.parametrize("text", ["", "e9", "Nf", "O-O-O-O", "0-O", "hello", "N" * 20])
def test_a_text_in_no_notation_is_left_as_it_is(text: str) -> None:
    assert GAME.from_notation(GAME.initial(), text) == text


def test_threefold_repetition_is_claimed_and_fivefold_ends_by_itself() -> None:
    position, claims, shuffle = GAME.initial(), [], ["g1f3", "g8f6", "f3g1", "f6g8"]
    for move in shuffle * 4:
        assert position.outcome is None
        position = GAME.play(position, move)
        claims.append(GAME.claim(position))
    assert claims.index("threefold_repetition") == 7
    assert str(position.outcome) == "draw fivefold_repetition"
    assert claims[-1] is None


def test_a_lost_castling_right_makes_another_position() -> None:
    position = GAME.parse("4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1")
    for move in ["h1g1", "h8g8", "g1h1", "g8h8"] * 2:
        position = GAME.play(position, move)
    assert GAME.claim(position) is None
    for move in ["h1g1", "h8g8", "g1h1", "g8h8"]:
        position = GAME.play(position, move)
    assert GAME.claim(position) == "threefold_repetition"


def test_fifty_moves_are_claimed_and_seventy_five_end_by_themselves() -> None:
    position = GAME.parse("7k/8/8/8/8/8/8/K5R1 w - - 99 90")
    assert GAME.claim(position) is None
    assert GAME.claim(GAME.play(position, "a1b1")) == "fifty_moves"
    assert str(GAME.parse("7k/8/8/8/8/8/8/K5R1 w - - 150 90").outcome) == "draw seventy_five_moves"


@pytest.mark.parametrize(
    ("pieces", "dead"),
    [
        ("7k/8/8/8/8/8/8/K7", True),
        ("7k/8/8/8/8/8/8/KN6", True),
        ("6bk/8/8/8/8/8/8/K7", True),
        ("6bk/8/8/8/8/8/8/KB6", True),
        ("5b1k/8/8/8/8/8/8/KB6", False),
        ("6nk/8/8/8/8/8/8/KB6", False),
        ("6nk/8/8/8/8/8/8/KN6", False),
        ("7k/8/8/8/8/8/8/KNN5", False),
        ("7k/8/8/8/8/8/P7/K7", False),
        ("7k/8/8/8/8/8/8/KR6", False),
    ],
)
def test_dead_positions_by_material(pieces: str, dead: bool) -> None:
    outcome = GAME.parse(f"{pieces} w - - 0 1").outcome
    assert str(outcome or "none") == ("draw dead_position" if dead else "none")
    assert library.Board(f"{pieces} w - - 0 1").is_insufficient_material() == dead


@pytest.mark.parametrize("start", STARTS)
def test_random_games_agree_with_another_implementation(start: str) -> None:
    random = Random(start)
    for _ in range(2):
        played_beside(GAME, start, random, 150)


@pytest.mark.long
@pytest.mark.parametrize("start", STARTS)
def test_random_games_agree_with_the_reference(start: str) -> None:
    random = Random(f"reference {start}")
    other, position = reference.from_fen(start), GAME.parse(start)
    for _ in range(40):
        assert GAME.text(position) == other.fen()
        assert str(position.outcome or "none") == other.outcome(), other.fen()
        if position.outcome is not None:
            break
        assert set(GAME.moves(position)) == other.legal(), other.fen()
        move = random.choice(sorted(GAME.moves(position)))
        position, other = GAME.play(position, move), other.after(move)


def test_equal_positions_have_equal_keys_whatever_the_way() -> None:
    first = follow(GAME, GAME.initial(), ["g1f3", "g8f6", "b1c3", "b8c6"]).final
    second = follow(GAME, GAME.initial(), ["b1c3", "b8c6", "g1f3", "g8f6"]).final
    assert isinstance(first, ChessPosition)
    assert first.stood[-1] == second.stood[-1]
    assert GAME.text(first) == GAME.text(second)


def test_no_sequence_follows_an_end() -> None:
    assert perft(GAME, GAME.parse("7k/8/5K2/8/8/8/8/6Q1 w - - 0 1"), 1) > 0
    assert perft(GAME, GAME.parse("7k/8/6QK/8/8/8/8/8 b - - 0 1"), 1) == 0
