"""Opening books: their entries in every form, what is wrong with one, and the order in which a pair plays them."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from arbiter.config import Limits
from arbiter.games import registry
from arbiter.matches.pgn import TO_COMMENT
from arbiter.service.tournaments.books import (
    MOST_WRONG,
    BookFacts,
    BookProblem,
    NoBooks,
    WrongEntry,
    checked_facts,
    opening_of,
)
from arbiter.service.tournaments.tournament_ports import InProcessPairing, PairingFailed
from arbiter.testing.memory import MemoryJournal
from arbiter.tournaments.book_order import Opening, entry_number
from arbiter.tournaments.openings import Turn
from arbiter.tournaments.spec import OpeningOrder, Openings
from arbiter.workers.book_files import BookFiles
from arbiter.workers.pairing import PairingProcess
from tests.workers.test_plugin_games import apart

FEN = "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
BOOKS = {
    "small.epd": f"{FEN[:-4]} bm Nf3; fmvn 2;\n\n# a comment\n{FEN.replace(' 0 2', ' 3 9')}\n{FEN[:-4]}\n",
    "games.pgn": (
        f'[White "A"]\n\n1. e4 {{good}} e5\n2. Nf3 *\n\n[White "B"]\n[FEN "{FEN}"]\n\n2. Nf3 Nc6 1-0\n'
        '\n[White "C"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n'
    ),
    "games.sgf": "(;SZ[9]KM[6.5];B[ee];W[cc])(;SZ[9];B[aa])\n(;SZ[9]AB[ee]\nPL[W];W[cc])\n",
    "lines.txt": "# openings\npods(size=3) a1 e3\n\nhop-it\npods(size=3) b1 # first in b\n",
}


@pytest.fixture
def books(tmp_path: Path) -> BookFiles:
    for name, text in BOOKS.items():
        (tmp_path / name).write_text(text)
    return BookFiles(tmp_path)


def all_of(books: BookFiles, name: str, game: str, plies: int = 0) -> list[Opening]:
    facts = books.facts(name, game)
    return [books.opening(name, facts.digest, game, entry, plies) for entry in range(1, facts.size + 1)]


def test_positions(books: BookFiles) -> None:
    assert books.facts("small.epd", "chess") == BookFacts(sha256(BOOKS["small.epd"].encode()).hexdigest(), 3)
    assert [(each.position, each.number) for each in all_of(books, "small.epd", "chess")] == [
        (FEN, 1),
        (FEN.replace(" 0 2", " 3 9"), 2),
        (FEN.replace(" 0 2", " 0 1"), 3),
    ]


def test_games_of_chess_are_cut(books: BookFiles) -> None:
    whole = all_of(books, "games.pgn", "chess")
    assert whole == [
        Opening(("e2e4", "e7e5", "g1f3"), "", 1),
        Opening(("g1f3", "b8c6"), FEN, 2),
        Opening(("f2f3", "e7e5", "g2g4"), "", 3),  # without the move that ends it
    ]
    assert [each.moves for each in all_of(books, "games.pgn", "chess", 1)] == [("e2e4",), ("g1f3",), ("f2f3",)]


def test_games_of_chess_are_cut_at_a_comment(books: BookFiles, tmp_path: Path) -> None:
    assert [each.moves for each in all_of(books, "games.pgn", "chess", TO_COMMENT)] == [
        ("e2e4",),
        ("g1f3", "b8c6"),
        ("f2f3", "e7e5", "g2g4"),
    ]
    (tmp_path / "marked.pgn").write_text(
        '[White "A"]\n\n{ by A } 1. e4 (1. d4 {closed}) e5 ; the book ends\n2. Nf3 Nc6 1-0 {and so on}\n'
        '\n[White "B"]\n\n1. c4 $1 {[%eval 0.1]} 1... e5 {x} *\n'
    )
    assert [each.moves for each in all_of(books, "marked.pgn", "chess", TO_COMMENT)] == [("e2e4", "e7e5"), ("c2c4",)]
    assert len(all_of(books, "marked.pgn", "chess")[0].moves) == 4


def test_a_book_of_chess_serves_chess960_too(tmp_path: Path) -> None:
    fen = registry.game("chess960").starts()[17]
    shredder = fen.replace("KQkq", "HFhf")
    (tmp_path / "starts.fen").write_text(f"{shredder}\n{FEN}\n")
    (tmp_path / "one.pgn").write_text(f'[Variant "Chess960"]\n[SetUp "1"]\n[FEN "{fen}"]\n\n1. e4 e5 2. O-O-O *\n')
    books = BookFiles(tmp_path)
    for game in ("chess960", "chess960(start=3)"):
        assert [each.position for each in all_of(books, "starts.fen", game)] == [fen, FEN]
    with pytest.raises(WrongEntry, match=r"one\.pgn, line 5: 2\. O-O-O: .*may not castle long"):
        all_of(books, "one.pgn", "chess960")
    (tmp_path / "one.pgn").write_text(f'[Variant "Chess960"]\n[SetUp "1"]\n[FEN "{fen}"]\n\n1. e4 e5 *\n')
    assert all_of(books, "one.pgn", "chess960") == [Opening(("e2e4", "e7e5"), fen, 1)]


def test_games_of_go(books: BookFiles) -> None:
    first, second, third = all_of(books, "games.sgf", "go(komi=5.5)")
    assert (first.moves, second.moves, third.moves) == (("e5", "c7"), ("a9",), ("c7",))
    assert (first.position, second.position) == ("", "")
    assert third.position.endswith(" 2 0 0")
    with pytest.raises(WrongEntry, match=r"games\.sgf, line 1: 'c7' is not|row|rows"):
        books.opening("games.sgf", books.facts("games.sgf", "go(size=13)").digest, "go(size=13)", 3, 0)


def test_lines_of_every_game(books: BookFiles) -> None:
    assert [each.moves for each in all_of(books, "lines.txt", "pods(size=3)")] == [("a1", "e3"), ("b1",)]
    assert [each.moves for each in all_of(books, "lines.txt", "pods(size=3)", 1)] == [("a1",), ("b1",)]
    assert all_of(books, "lines.txt", "hop-it") == [Opening((), "", 1)]
    game = registry.game("breakthrough")
    position = game.text(game.play(game.initial(), game.moves(game.initial())[0]))
    (books._folder / "lines.txt").write_text(f"breakthrough [{position}] {game.moves(game.parse(position))[0]}\n")
    (one,) = all_of(books, "lines.txt", "breakthrough")
    assert one.position == position
    assert len(one.moves) == 1


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        (
            "a.epd",
            f"{FEN}\n\n8/8/8/8/8/8/8/8 w - -\n",
            "a.epd, line 3: '8/8/8/8/8/8/8/8 w - - 0 1' is no position of chess",
        ),
        ("a.epd", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1\n", "line 1: the game is over in this position: draw stalemate"),
        ("a.pgn", '[White "A"]\n\n1. e4 *\n\n[White "B"]\n\n1. e4\ne4 *\n', "a.pgn, line 8: 1… e4: 'e4' is not legal"),
        ("a.txt", "chess e2e4 e2e4\n", "a.txt, line 1: move 2 of the line: 'e2e4' is not legal here"),
        ("a.txt", "chess [nonsense] e2e4\n", "a.txt, line 1: 'nonsense' is no position of chess"),
        ("a.txt", "pods a1\nludo e2\n", "a.txt, line 2: there is no game 'ludo'"),
        ("a.txt", "pods a1\n", "a.txt has no entries of chess"),
        ("a.txt", "", "a.txt has no entries of chess"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BookProblem) as caught:
        checked_facts(BookFiles(tmp_path), name, "chess", 0)
    assert complaint in str(caught.value)


def test_a_book_that_is_not_there_or_has_changed(books: BookFiles, tmp_path: Path) -> None:
    with pytest.raises(BookProblem, match=r"there is no book none\.pgn"):
        books.facts("none.pgn", "chess")
    with pytest.raises(BookProblem, match="no folder of opening books"):
        NoBooks().facts("small.epd", "chess")
    digest = books.facts("small.epd", "chess").digest
    (tmp_path / "small.epd").write_text(FEN + "\n")
    with pytest.raises(BookProblem, match="is another file than the tournament began with"):
        books.opening("small.epd", digest, "chess", 1, 0)
    assert books.facts("small.epd", "chess").size == 1


def _openings(books: BookFiles, name: str, game: str, **values: object) -> Openings:
    facts = books.facts(name, game)
    return Openings(book=name, book_hash=facts.digest, book_size=facts.size, **values)  # type: ignore[arg-type]


def test_a_wrong_entry_is_left_out_and_the_next_one_takes_its_place(books: BookFiles, tmp_path: Path) -> None:
    (tmp_path / "some.epd").write_text(f"{FEN}\nnonsense\n{FEN.replace(' 0 2', ' 0 5')}\n")
    openings = _openings(books, "some.epd", "chess")
    found = [opening_of(books, openings, "chess", Turn(times, times)).number for times in range(4)]
    assert found == [1, 3, 3, 1]
    (tmp_path / "none.epd").write_text("nonsense\n" * (MOST_WRONG + 1))
    with pytest.raises(BookProblem, match=r"none\.epd, line 100: "):
        opening_of(books, _openings(books, "none.epd", "chess"), "chess", Turn(0, 0))


@pytest.mark.parametrize("size", [1, 2, 7, 10, 12])
@pytest.mark.parametrize("order", [OpeningOrder.SEQUENTIAL, OpeningOrder.RANDOM])
def test_a_pair_plays_all_entries_before_it_plays_one_again(size: int, order: OpeningOrder) -> None:
    openings = Openings(book="b.epd", book_size=size, order=order, seed="s", book_first=2)
    for pair in range(4):
        found = [entry_number(openings, "chess", Turn(times, times, pair, pair)) for times in range(2 * size)]
        assert sorted(found[:size]) == sorted(found[size:]) == list(range(1, size + 1))


def test_the_order_of_a_book() -> None:
    openings = Openings(book="b.epd", book_size=1_000, book_first=999)
    assert [entry_number(openings, "chess", Turn(times, times)) for times in range(4)] == [999, 1_000, 1, 2]
    single = Openings(book="b.epd", book_size=2)
    assert [entry_number(single, "chess", Turn(times, times, paired=False)) for times in range(4)] == [1, 2, 2, 1]
    shuffled = [
        [
            entry_number(
                Openings(book="b", book_size=1_000, seed=seed, order=OpeningOrder.RANDOM), "chess", Turn(k, k, 0, pair)
            )
            for k in range(20)
        ]
        for seed, pair in (("a", 0), ("a", 1), ("b", 0))
    ]
    assert len({tuple(each) for each in shuffled}) == 3


@pytest.mark.long
async def test_the_process_of_pairing_reads_books(books: BookFiles, tmp_path: Path) -> None:
    pairing = PairingProcess(MemoryJournal(), books=tmp_path)
    alone = InProcessPairing(books)
    try:
        for name, game in (("games.pgn", "chess"), ("games.sgf", "go")):
            assert await pairing.book(name, game, 0) == await alone.book(name, game, 0)
            openings = _openings(books, name, game, book_plies=2)
            for times in range(3):
                turn = Turn(times, times)
                assert await pairing.opening(openings, game, turn) == await alone.opening(openings, game, turn)
        openings = _openings(books, "games.pgn", "chess", book_to_comment=True)
        assert (await pairing.opening(openings, "chess", Turn(0, 0))).moves == ("e2e4",)
        for each in (pairing, alone, PairingProcess(MemoryJournal()), InProcessPairing()):
            with pytest.raises(PairingFailed, match=r"no book none\.epd|no folder of opening books"):
                await each.book("none.epd", "chess", 0)
            if isinstance(each, PairingProcess):
                await each.close()
    finally:
        await pairing.close()


@pytest.mark.soak
def test_a_book_of_a_million_lines(tmp_path: Path) -> None:
    with (tmp_path / "million.epd").open("w") as file:
        file.writelines(f"{FEN[:-4]} fmvn {1 + entry % 99_999};\n" for entry in range(1, 1_000_001))
    books = BookFiles(tmp_path)
    facts = books.facts("million.epd", "chess")
    assert facts.size == 1_000_000
    for entry in (1, 99_999, 1_000_000):
        found = books.opening("million.epd", facts.digest, "chess", entry, 0)
        assert found.position.endswith(f" 0 {1 + entry % 99_999}")


@pytest.mark.long
async def test_a_book_at_whose_moves_a_plug_in_hangs_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("mischief 1\nmischief pause\n")
    (tmp_path / "packages").mkdir()
    pairing = PairingProcess(MemoryJournal(), books=tmp_path)
    drawn = None
    async with apart(tmp_path / "packages", ("mischief",), limits=Limits(rules_ms=2_000)):
        with pytest.raises(PairingFailed, match="the rules of mischief failed: no answer within 2000 ms"):
            await pairing.book("book.txt", "mischief", 0)
        while drawn is None:
            with suppress(PairingFailed):  # the next process of the package is not there yet
                drawn = await pairing.opening(Openings(plies=1, seed="s"), "mischief", Turn(0, 0))
    assert drawn.moves in {("1",), ("2",), ("3",)}
    await pairing.close()
