"""Matches of Go as SGF: another library reads what is written, and games of other programs are read or refused."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sgfmill import sgf, sgf_moves

from arbiter.event_json.canonical import RecordError
from arbiter.games import registry
from arbiter.matches.commands import Play, Resign
from arbiter.matches.comments import Comment
from arbiter.matches.events import Created
from arbiter.matches.notation import NotationError
from arbiter.matches.sgf import play, write
from arbiter.matches.sgf_nodes import read
from tests.matches.logged_match import LoggedMatch, started


def _played(seed: int, variant: str, plies: int, time: str = "5m+3x30s") -> LoggedMatch:
    random, logged = Random(seed), started(variant, time, opening=("e5", "c3"))
    logged.match = replace(logged.match, secret=b"\x05" * 32)
    game = registry.game(variant)
    while logged.match.ply < plies and logged.match.result is None:
        match = logged.match
        move = random.choice(game.moves(match.position))
        comment = Comment(random.randrange(1_001))
        logged.do(Play(match.turn, f"r{match.revision}", match.ply, move, logged.now + 40, comment=comment), 40)
    return logged


def test_a_match_as_sgf() -> None:
    logged = _played(1, "go(size=9,komi=0.5)", 2)
    for move in ("d4", "pass", "pass"):
        logged.play(move, 1_500)
    assert write(logged.events) == (
        "(;FF[4]GM[1]CA[UTF-8]AP[arbiter]SZ[9]KM[0.5]RU[Tromp-Taylor]DT[2027-01-15]PB[alice]PW[bob]TM[300]"
        "GC[match m1; time 5m+3x30s; the first 2 moves are an opening that nobody played; end: area]RE[B+0.5]\n"
        ";B[ee];W[cg];B[df]BL[298.5]OB[3];W[]WL[298.5]OW[3];B[]BL[297]OB[3])\n"
    )


@pytest.mark.parametrize("variant", ["go", "go(size=19)", "go(size=13,komi=-3)"])
def test_another_library_reads_the_same_game(variant: str) -> None:
    logged = _played(7, variant, 150)
    if logged.match.result is None:
        logged.do(Resign(1, "enough"))
    file = sgf.Sgf_game.from_bytes(write(logged.events).encode())
    game = registry.game(variant)
    assert file.get_size() == int(str(game.values["size"]))
    assert file.get_komi() == float(str(game.values["komi"]))
    assert (file.get_player_name("b"), file.get_player_name("w")) == ("alice", "bob")
    assert file.get_winner() == {1: "b", 2: "w", 0: None}[logged.match.result.winner]  # type: ignore[union-attr]
    _, moves = sgf_moves.get_setup_and_moves(file)
    letters = "abcdefghjklmnopqrst"
    said = [(colour, f"{letters[place[1]]}{place[0] + 1}" if place else "pass") for colour, place in moves]
    assert [move for _, move in said] == list(logged.match.moves)
    assert all(colour == "bw"[ply % 2] for ply, (colour, _) in enumerate(said))
    assert file.get_main_sequence()[3].get("BL") > 299


@pytest.mark.parametrize("seed", range(3))
def test_what_is_written_reads_back(seed: int) -> None:
    logged = _played(seed, "go(size=9)", 120)
    first, second = read((write(logged.events) * 2).splitlines(keepends=True))
    assert (first.number, second.number) == (1, 2)
    for game in (first, second):
        again = play(game)
        assert (again.variant, again.moves) == ("go", logged.match.moves)
    assert play(first, 5).moves == logged.match.moves[:5]


AGREED = "go(komi=0.5,scoring=agreed)"


def _agreed() -> LoggedMatch:
    return started(AGREED, "5m", opening=("a2", "j9", "b1", "j8", "d5", "b2"))


def test_what_players_agree_is_written_for_other_programs_and_reads_back() -> None:
    logged = _agreed()
    for move in ("pass", "pass", "dead-b2", "agree", "dead-j8", "agree", "agree"):
        logged.play(move, 1_000)
    text = write(logged.events)
    assert "RU[Tromp-Taylor, dead stones by agreement]" in text
    assert ";C[Black: dead-b2]BL[298];C[Black: agree]BL[297];C[White: dead-j8]WL[298]" in text.replace("\n", "")
    file = sgf.Sgf_game.from_bytes(text.encode())
    _, moves = sgf_moves.get_setup_and_moves(file)
    assert len(moves) == 8
    assert (file.get_winner(), file.get_root().get("RE")) == ("b", "B+80.5")
    black, white = (
        file.get_last_node().get(name) if file.get_last_node().has_property(name) else set() for name in ("TB", "TW")
    )
    assert (len(black), white) == (78, set())
    (game,) = read([text])
    again = play(game)
    assert (again.variant, again.ended) == (AGREED, True)
    assert again.moves == (*logged.match.moves[:-4], "dead-j8", "agree", "agree")
    assert play(game, 8).variant == "go(komi=0.5)", "an opening is one of either way of scoring"


def test_a_disputed_agreement_reads_back() -> None:
    logged = _agreed()
    for move in ("pass", "pass", "dead-b2", "agree", "dispute", "a1", "pass", "pass"):
        logged.play(move, 1_000)
    (game,) = read([write(logged.events)])
    again = play(game)
    assert (again.variant, again.ended) == (AGREED, True)
    assert again.moves == (*logged.match.moves[:8], "dispute", "a1", "pass", "pass")


@pytest.mark.parametrize(
    ("territories", "dead"),
    [("TB[aa:ib]TW[ai]", ("dead-d9",)), ("TB[aa][da]", ("dead-d9",)), ("TW[aa]", ())],
)
def test_dead_stones_follow_from_the_territories_of_other_programs(territories: str, dead: tuple[str, ...]) -> None:
    rows = "".join(f"AB[{column}c]" for column in "abcdefghi")
    (game,) = read([f"(;SZ[9]KM[0.5]RE[B+80.5]{rows};B[];W[da];B[];W[]{territories})"])
    again = play(game)
    assert again.variant == AGREED
    assert again.moves == ("pass", "d9", "pass", "pass", *dead, "agree", "agree")
    assert again.ended


def test_a_start_position_is_written_and_read() -> None:
    logged = started("go(size=9)")
    created = logged.events[0]
    assert isinstance(created, Created)
    rows = "/".join(["S.......s", *["........."] * 8])
    object.__setattr__(created, "position", f"{rows} 2 0 7")
    text = write([created])
    assert "PL[W]AB[aa]AW[ia]RE[?]" in text
    (game,) = read([text])
    assert play(game).start == f"{rows} 2 0 0"


def test_other_games_and_other_records_are_refused() -> None:
    with pytest.raises(RecordError, match="SGF is for Go, and this is a match of chess"):
        write(started("chess").events)
    with pytest.raises(RecordError, match="begins with its making"):
        write(started("go").events[1:])


def test_what_programs_write() -> None:
    """Text before the game, values over lines, variations, old names of properties, a handicap, dead stones."""
    text = (
        "From: somebody (:\n\n(;GaMe[1]FF[4]SZ[9]KM[6.50]HA[2]AB[cc][gg]PB[A \\] (b]PW[B]\nC[a ( in\n"
        "a \\] comment] ;W[ee];B[ff](;W[df]C[main])(;W[aa];B[bb]))\n"
        "(;GM[1]SZ[9]KM[6.5];B[ee];W[aa];B[tt];W[]RE[x])"
    )
    first, second = read(text.splitlines(keepends=True))
    assert (first.heading, first.line, second.line) == ("A ] (b – B", 3, 6)
    game = play(first)
    assert (game.variant, game.moves, game.result) == ("go(komi=6.5)", ("e5", "f4", "d4"), "*")
    assert game.start.count("S") == 2
    assert " 2 0 0" in game.start
    again = play(second)  # the rules say that Black wins, and the file does not
    assert (again.moves, again.ended) == (("e5", "a9", "pass"), False)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("(;SZ[9];B[ee]\n;W[ee])", "line 2: move 2: 'e5' is not legal here: e5 is taken"),
        ("(;SZ[9];B[ee]\n\n;B[ef])", "line 3: move 2: White is to move"),
        ("(;SZ[9];B[zz])", "line 1: move 1: 'zz' is not a move of go(komi=0)"),
        ("(;SZ[9];B[ee]\n;AB[aa])", "line 2: stones that are set after the first move"),
        ("(;SZ[9]AB[zz];B[ee])", "line 1: 'zz' is no point of the board"),
        ("(;SZ[7];B[ee])", "line 1: '7' is not allowed"),
        ("(;SZ[9]KM[much];B[ee])", "line 1: KM[much] is no number"),
        ("(;SZ[9]KM[0.3];B[ee])", "line 1: '0.3' is not allowed"),
        ("(;GM[2];B[ee])", "line 1: GM[2] is another game than Go"),
        ("(;SZ[9];B[ee]\n;W[ef]", "line 1: this game is never closed"),
        ("(\n)", "line 1: a game without a node"),
        ("(\nB[ee])", "line 2: 'B' is in no node"),
        ("(;[ee])", "line 1: '[ee]' has no name"),
        ("(;SZ[9]\n;B[ee] 7)", "line 2: '7)' is out of place"),
    ],
)
def test_a_wrong_game_is_named_with_line_and_reason(text: str, complaint: str) -> None:
    (game,) = read(text.splitlines(keepends=True))
    with pytest.raises(NotationError) as caught:
        play(game)
    assert complaint in str(caught.value)


def test_one_bad_game_does_not_spoil_the_next() -> None:
    first, second = read(["(;SZ[9];B[zz])(;SZ[9];B[ee])"])
    with pytest.raises(NotationError):
        play(first)
    assert play(second).moves == ("e5",)


@given(st.text(alphabet="();[]\\BWSZAPL KM9ae\n", max_size=100))
def test_any_text_is_read_or_refused(text: str) -> None:
    for whole in (text, "(;SZ[9];B[ee]" + text):
        for game in read(whole.splitlines(keepends=True)):
            try:
                played = play(game)
            except NotationError:
                continue
            assert len(played.moves) <= len(whole)
