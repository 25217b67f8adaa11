"""A random game on the arbiter's rules of chess and on python-chess (GPL, in tests only) at once."""

from __future__ import annotations

from random import Random

import chess as library

from arbiter.games import registry
from arbiter.games.contract import AnyGame

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
STARTS = (START, KIWIPETE, "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", "k7/P1P5/8/8/8/8/p1p5/K7 w - - 0 1")
PLIES = 400


def played_beside(game: AnyGame, start: str, dice: Random, plies: int = PLIES) -> set[str]:
    """Play a game and compare moves, texts, notation, claims and ends; return what has happened in it."""
    board, position = library.Board(start, chess960=game.facts.id == "chess960"), game.parse(start)
    happened: set[str] = set()
    for _ in range(plies):
        where = board.fen(en_passant="legal")
        assert game.text(position) == where
        legal = {move.uci(): move for move in board.legal_moves}
        third = _stands_again(board, 3)
        end = _end(board, bool(legal), third)
        assert str(position.outcome or "none") == end, where
        if end != "none":
            return {*happened, end.partition(" ")[2]}
        moves = game.moves(position)
        assert len(moves) == len(legal), where
        assert legal.keys() == set(moves), where
        claims = third or board.halfmove_clock >= 100
        assert bool(game.claim(position)) == claims, where
        castlings = [text for text, move in legal.items() if board.is_castling(move)]
        castles = castlings and dice.random() < 0.3
        move = dice.choice(castlings if castles else list(legal))
        written = game.notation(position, move)
        assert written == board.san(legal[move]), where
        assert game.from_notation(position, written) == move, where
        happened |= {word for word, there in (("claim", claims), ("castling", castles)) if there}
        position = game.play(position, move)
        board.push(legal[move])
    return happened


def _stands_again(board: library.Board, times: int) -> bool:
    """Say whether the position has occurred so often; python-chess undoes the moves to find out."""
    return board.halfmove_clock >= 4 * (times - 1) and board.is_repetition(times)


def _end(board: library.Board, moves: bool, third: bool) -> str:
    """Return the end by the rules, as python-chess has it: `1 checkmate`, `draw stalemate`; `none` before it."""
    if not moves:
        return f"{2 if board.turn else 1} checkmate" if board.is_check() else "draw stalemate"
    if board.is_insufficient_material():
        return "draw dead_position"
    if board.is_seventyfive_moves():
        return "draw seventy_five_moves"
    return "draw fivefold_repetition" if third and _stands_again(board, 5) else "none"


def chess(dice: Random) -> set[str]:
    """Play a game of chess from one of four positions."""
    return played_beside(registry.game("chess"), dice.choice(STARTS), dice)


def chess_960(dice: Random) -> set[str]:
    """Play a game of Chess960 from one of its 960 positions."""
    game = registry.game("chess960")
    return played_beside(game, dice.choice(game.starts()), dice)
