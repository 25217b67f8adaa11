"""Matches of chess as PGN: other programs read what is written, and games of other programs are read or refused."""

from __future__ import annotations

import io
import subprocess
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

import chess
import chess.pgn
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import argument_invalid
from arbiter.event_json.canonical import RecordError
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.matches.commands import Play, Resign
from arbiter.matches.comments import Comment, Searched
from arbiter.matches.events import Created
from arbiter.matches.notation import NotationError
from arbiter.matches.pgn import PgnGame, play, read, write
from tests.clients.toolchains import require
from tests.matches.logged_match import LoggedMatch, started

GAME = registry.game("chess")
PGN_EXTRACT = "/usr/games/pgn-extract"
FOOLS_MATE = ("f2f3", "e7e5", "g2g4", "d8h4")


def _started(time: str, opening: tuple[str, ...]) -> LoggedMatch:
    logged = started("chess", time, opening=opening)
    logged.match = replace(logged.match, secret=b"\x05" * 32)
    return logged


def _played(seed: int, plies: int, time: str = "5m+2s") -> LoggedMatch:
    """Return a match of random moves with comments, in which somebody has resigned if the rules have not ended it."""
    random, logged = Random(seed), _started(time, ("e2e4", "c7c5"))
    while logged.match.result is None and logged.match.ply < plies:
        match = logged.match
        move = random.choice(GAME.moves(match.position))
        comment = Comment(random.randrange(1_001), (move,)) if random.random() < 0.8 else None
        logged.do(Play(match.turn, f"r{match.revision}", match.ply, move, logged.now + 40, comment=comment), 40)
    if logged.match.result is None:
        logged.do(Resign(logged.match.turn, "enough"))
    return logged


def test_a_match_as_pgn() -> None:
    logged = _started("1m+1s", ("f2f3",))
    for move, after_ms, score in zip(FOOLS_MATE[1:], (1_600, 61, 1_000), (500, 100, 1_000), strict=True):
        match = logged.match
        logged.do(
            Play(match.turn, f"r{match.ply}", match.ply, move, logged.now + after_ms, comment=Comment(score)), after_ms
        )
    assert write(logged.events, {"Round": "3"}) == (
        '[Event "?"]\n[Site "?"]\n[Date "2027.01.15"]\n[Round "3"]\n[White "alice"]\n[Black "bob"]\n[Result "0-1"]\n'
        '[TimeControl "60+1"]\n[PlyCount "4"]\n[OpeningPlies "1"]\n[Termination "normal"]\n[EndReason "checkmate"]\n'
        '[Match "m1"]\n\n'
        "1. f3 e5 { [%eval 0.00] [%clk 0:00:59.4] [%emt 0:00:01.6] }\n"
        "2. g4 { [%eval -3.82] [%clk 0:01:00.939] [%emt 0:00:00.061] }\n"
        "2... Qh4# { [%eval -100.00] [%clk 0:00:59.4] [%emt 0:00:01] } 0-1\n"
    )


def test_what_an_engine_says_is_written_as_engine_testers_do() -> None:
    logged = _started("1m+1s", ())
    said = (
        Searched(31, None, 13, 4_532, 61),
        Searched(-40, None, 9),
        Searched(None, -2, 20, 7),
        Searched(None, 1, 2),
    )
    for move, search in zip(FOOLS_MATE, said, strict=True):
        match = logged.match
        comment = Comment(500, (), search)
        logged.do(Play(match.turn, f"r{match.ply}", match.ply, move, logged.now + 61, comment=comment), 61)
    moves = " ".join(write(logged.events).partition("\n\n")[2].split())
    for part in (
        "1. f3 { +0.31/13 0.061s, n=4532 [%eval 0.31]",
        "1... e5 { -0.40/9 0.061s [%eval 0.40]",
        "2. g4 { -M2/20 0.061s, n=7 [%eval #-2]",
        "2... Qh4# { +M1/2 0.061s [%eval #-1]",
    ):
        assert part in moves
    game = chess.pgn.read_game(io.StringIO(write(logged.events)))
    assert game is not None
    scores = [node.eval() for node in game.mainline()]
    assert [str(score.white()) for score in scores if score is not None] == ["+31", "+40", "#-2", "#-1"]


@pytest.mark.parametrize("variant", ["chess960", "chess960(start=17)"])
def test_a_game_of_chess960_is_read_by_another_library_and_read_back(variant: str) -> None:
    rules, random = registry.game(variant), Random(variant)
    position = rules.parse("1r2k1r1/pppppppp/8/8/8/8/PPPPPPPP/1R2K1R1 w KQkq - 0 1") if variant == "chess960" else None
    start = "" if position is None else rules.text(position)
    logged = started(variant, "none", position=start)
    castled = 0
    while logged.match.result is None and logged.match.ply < 60:
        match = logged.match
        moves = rules.moves(match.position)
        castlings = [move for move in moves if rules.steps(match.position, move)[-1].action == "castle"]
        castled += bool(castlings)
        move = (castlings or [random.choice(moves)])[0]
        logged.do(Play(match.turn, f"r{match.revision}", match.ply, move, logged.now + 40), 40)
    logged.do(Resign(logged.match.turn, "enough"))
    text = write(logged.events)
    assert '[Variant "Chess960"]' in text
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    assert not game.errors
    assert game.board().chess960
    assert [move.uci() for move in game.mainline_moves()] == list(logged.match.moves)
    (read_back,) = read(text.splitlines())
    again = play(read_back)
    assert (again.variant, again.moves) == ("chess960", logged.match.moves)
    assert again.start == (start or rules.text(rules.initial()))
    assert castled or variant != "chess960"
    other = str(chess.pgn.Game.from_board(game.end().board()))  # as another program writes it
    (foreign,) = read(other.splitlines())
    assert play(foreign).moves == logged.match.moves


@pytest.mark.parametrize("seed", range(6))
def test_another_library_reads_the_same_game(seed: int) -> None:
    logged = _played(seed, 120, ("none", "5m+2s", "40/30m")[seed % 3])
    game = chess.pgn.read_game(io.StringIO(write(logged.events)))
    assert game is not None
    assert not game.errors
    assert [move.uci() for move in game.mainline_moves()] == list(logged.match.moves)
    assert game.headers["Result"] == ("0-1" if logged.match.turn == 1 else "1-0")
    assert game.headers["TimeControl"] == ("-", "300+2", "40/1800")[seed % 3]
    nodes = list(game.mainline())
    assert nodes[1].clock() is None  # of the opening
    assert nodes[2].emt() == 0.04
    assert any(node.eval() is not None for node in nodes)
    if seed % 3:
        clocks = [node.clock() for node in nodes[2:]]
        assert None not in clocks


def test_pgn_extract_reads_it_without_a_complaint(tmp_path: Path) -> None:
    require(PGN_EXTRACT, why="it reads what is written")
    file = tmp_path / "games.pgn"
    file.write_text("\n".join(write(_played(seed, 60).events) for seed in range(3)))
    ran = subprocess.run([PGN_EXTRACT, "-Wuci", file], capture_output=True, text=True, check=True)
    assert "3 games matched out of 3" in ran.stderr
    assert not [line for line in ran.stderr.splitlines() if "rror" in line or "Unknown" in line]
    moves = " ".join(_played(1, 60).match.moves[:6])
    assert moves in ran.stdout


@pytest.mark.parametrize("seed", range(3))
def test_what_is_written_reads_back(seed: int) -> None:
    logged = _played(seed, 80)
    text = write(logged.events) + "\n" + write(logged.events)
    games = list(read(text.splitlines(keepends=True)))
    assert [game.number for game in games] == [1, 2]
    for game in games:
        assert play(game).moves == logged.match.moves
    assert play(games[0], 7).moves == logged.match.moves[:7]


def test_a_start_position_is_written_and_read() -> None:
    logged = started("chess")
    created = logged.events[0]
    assert isinstance(created, Created)
    fen = "4k3/8/8/8/8/8/4P3/4K3 b - - 3 40"
    object.__setattr__(created, "position", fen)
    text = write([created])
    assert f'[SetUp "1"]\n[FEN "{fen}"]\n' in text
    assert play(next(read(text.splitlines()))).start == fen
    object.__setattr__(created, "opening", ("e8e7", "e2e4"))
    assert "\n40... Ke7 41. e4 *\n" in write([created])


def test_a_match_of_another_game_has_tags_for_programs_that_rate_players() -> None:
    """Programs for chess read a game without moves, which are a comment."""
    logged = started("pods(size=3)", "40/30m", opening=("a1",))
    logged.do(Play(logged.match.turn, "r", 1, "b1", logged.now + 40), 40)
    logged.do(Resign(logged.match.turn, "enough"))
    text = write(logged.events, {"Round": "2", "Event": "Cup"})
    assert text == (
        '[Event "Cup"]\n[Site "?"]\n[Date "2027.01.15"]\n[Round "2"]\n[White "alice"]\n[Black "bob"]\n[Result "0-1"]\n'
        '[TimeControl "40/1800"]\n[Game "pods(size=3)"]\n[Player1 "alice"]\n[Player2 "bob"]\n[PlyCount "2"]\n'
        '[OpeningPlies "1"]\n[Termination "normal"]\n[EndReason "resignation"]\n[Match "m1"]\n\n'
        "{ 1. a1 2. b1 } 0-1\n"
    )
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    assert not game.errors
    assert (game.headers["White"], game.headers["Result"], list(game.mainline_moves())) == ("alice", "0-1", [])
    assert next(read(text.splitlines())).tags["Black"] == "bob"
    overruled = write(logged.events, {"Result": "1-0"})
    assert '[Result "1-0"]' in overruled
    assert overruled.endswith(" } 1-0\n"), "the result at the end is that of the tags, as the standard has it"


def test_a_game_whose_rules_are_not_installed_has_its_moves_as_they_are_recorded() -> None:
    def missing(variant: str) -> AnyGame:
        raise argument_invalid(variant, "game", "a game that is installed")

    assert "\n{ a1 b1 } *\n" in write(started("pods(size=3)", opening=("a1", "b1")).events, games=missing)


def test_other_records_are_refused() -> None:
    with pytest.raises(RecordError, match="begins with its making"):
        write(started("chess").events[1:])


def test_what_people_and_programs_write() -> None:
    """Comments over lines, variations in variations, glyphs, lines of other programs, no spaces, no tags."""
    text = (
        '\ufeff[Event "a \\"cup\\""]\r\n[White "A"][Black "B"]\r\n\r\n% of a program\r\n'
        "1.e4 {a comment\n(with a bracket} e5 $1 2. Nf3! ; to the end of the line )\n"
        "(2. Bc4 Nc6 (2... Nf6 3. d3) 3. Qh5) 2... Nc6 3.Bb5 a6 4. Bxc6 dxc6 5. 0-0 f6 6. d2-d4 exd4 1-0\n"
        "1. d4 d5 *\n\n1. c4 1/2-1/2\n"
    )
    first, second, third = read(text.splitlines(keepends=True))
    assert first.tags["Event"] == 'a "cup"'
    assert first.heading == 'A – B, a "cup"'
    assert play(first).moves == tuple(
        "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5c6 d7c6 e1g1 f7f6 d2d4 e5d4".split()  # noqa: SIM905
    )
    assert play(first).result == "1-0"
    assert (play(second).moves, play(second).result, second.line) == (("d2d4", "d7d5"), "*", 8)
    assert (play(third).moves, play(third).result) == (("c2c4",), "1/2-1/2")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1. e4 e4 *", "line 1: 1… e4: 'e4' is not legal here: no pawn of Black may go there"),
        ("1. e4\ne5\n2. Nd2 *", "line 3: 2. Nd2: 'Nd2' is not legal here: no knight of White may go there"),
        ("1. e4 e5 2. O-O *", "line 1: 2. O-O: 'O-O' is not legal here: White may not castle short"),
        ("1. d4 d5 2. Nf3 Nf6 3. Nd2 Nc6 *", "3. Nd2: 'Nd2' is not legal here: the knights on b1, f3 may go there"),
        ("1. e4 hello *", "line 1: 1… hello: 'hello' is not a move of chess"),
        ("1. e4 {never\nends", "line 1: '{' is never closed"),
        ("1. e4\n(1. d4 (1. c4)", "line 2: '(' is never closed"),
        ("1. e4 ) e5", "line 1: ')' closes nothing"),
        ("1. e4 } e5", "line 1: '}' is out of place"),
        ("1. e4 * e5", "line 1: 'e5' comes after the result"),
        ("1. f3 e5 2. g4 Qh4# 1-0", "the result is 1-0, but by the rules it is 0-1"),
        ("1. f3 e5 2. g4 Qh4# 3. a3", "line 1: 3. a3: 'a3' is not legal here: the game is over"),
        ('[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]\n\n*', "line 1: '0 kings'"),
        ('[Variant "Atomic"]\n\n*', "line 1: the variant 'atomic' is not played here"),
        ('[Event "unclosed\n\n*', "line 1: '[Event \"unclosed' is no tag"),
    ],
)
def test_a_wrong_game_is_named_with_line_and_reason(text: str, complaint: str) -> None:
    (game,) = read(text.split("\n"))
    with pytest.raises(NotationError) as caught:
        play(game)
    assert complaint in str(caught.value)


def test_one_bad_game_does_not_spoil_the_next() -> None:
    text = '[White "A"]\n\n1. e4 {open\n\n[White "B"]\n\n1. e5 *\n\n[White "C"]\n\n1. e4 c5 *\n'
    games = list(read(text.split("\n")))
    assert [game.tags["White"] for game in games] == ["A", "B", "C"]
    assert games[0].fault is not None
    assert play(games[2]).moves == ("e2e4", "c7c5")


def test_a_file_of_any_length_is_a_stream() -> None:
    def lines() -> object:
        while True:
            yield '[White "A"]\n'
            yield "1. e4 *\n"

    assert len(list(islice(read(lines()), 10_000))) == 10_000  # type: ignore[arg-type]


def test_a_game_without_end_is_refused() -> None:
    with pytest.raises(NotationError, match="is no PGN"):
        list(read("1. e4 " + "{" + "x" * 200_000 for _ in range(1)))


@given(st.text(alphabet='[]{}()"\\;%$<>White 12.-*/OKNe4d5x=+#!?\n', max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    for game in read(text.split("\n")):
        assert isinstance(game, PgnGame)
        try:
            played = play(game)
        except NotationError:
            continue
        assert len(played.moves) <= len(game.words)
