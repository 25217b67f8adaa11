"""Commands about matches, tokens and players, on a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arbiter.cli.terminal import table
from tests.cli.command import Arbiter, Server
from tests.processes import empty_store

pytestmark = pytest.mark.long


@pytest.fixture
def match_id(server: Server, arbiter: Arbiter) -> str:
    for name in ("alice", "bob"):
        arbiter("token", "create", name)
    ran = arbiter("match", "create", "pods(size=5)", "alice", "bob", "--time", "90s", "--label", "cup", "--at-once")
    assert (ran.code, ran.err) == (0, "")
    return ran.out.strip()


def test_a_match_is_made_listed_and_shown(arbiter: Arbiter, match_id: str) -> None:
    row = arbiter("match", "list", "--label", "cup", "--phase", "open").out.splitlines()[1].split("\t")
    assert row[:6] == [match_id, "pods(size=5)", "alice", "bob", "90s", "under way"]
    shown = arbiter("match", "show", match_id).out
    assert f"{match_id}: alice against bob, pods(size=5), 90s, cup\n" in shown
    assert "Orca to move" in shown
    assert arbiter("match", "list", "--player", "nobody").out.count("\n") == 1


def test_a_match_begins_with_an_opening(server: Server, arbiter: Arbiter) -> None:
    arbiter("token", "create", "alice")
    arbiter("token", "create", "bob")
    terms = ("pods(size=3)", "--time", "5m", "--at-once")
    match_id = arbiter("match", "create", *terms, "alice", "bob", "--opening", "a1 e3  b1").out.strip()
    shown = arbiter("match", "show", match_id).out
    assert "under way; ply 3, revision 2\n" in shown
    assert "opening: a1 e3 b1\n" in shown
    assert "moves: " not in shown
    arbiter("match", "abort", match_id)
    watched = arbiter("watch", match_id).out
    assert "pods(size=3): alice against bob, 5m, from a1 e3 b1\n" in watched
    assert "the clock of bob starts\n" in watched
    refused = arbiter("match", "create", *terms, "alice", "bob", "--opening", "a1 a1")
    assert refused.code == 1
    assert "move 2 of the line" in refused.err


def test_a_match_begins_from_a_position(server: Server, arbiter: Arbiter) -> None:
    arbiter("token", "create", "alice")
    arbiter("token", "create", "bob")
    terms = ("chess", "--time", "5m", "--at-once", "alice", "bob")
    position = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 4 30"
    match_id = arbiter("match", "create", *terms, "--position", position, "--opening", "e1g1").out.strip()
    shown = arbiter("match", "show", match_id).out
    assert f"start position: {position}\n" in shown
    assert "[R]" in shown  # castled: the rook is beside its king
    arbiter("match", "abort", match_id)
    assert f"chess: alice against bob, 5m, from {position}, e1g1\n" in arbiter("watch", match_id).out
    refused = arbiter("match", "create", *terms, "--position", "8/8/8/8/8/8/8/8 w - - 0 1")
    assert (refused.code, "0 kings" in refused.err) == (1, True)


def test_a_start_position_of_chess960_is_shown_with_its_number(server: Server, arbiter: Arbiter) -> None:
    arbiter("token", "create", "alice")
    position = "bqnnrkrb/pppppppp/8/8/8/8/PPPPPPPP/BQNNRKRB w KQkq - 0 1"
    terms = ("chess960", "alice", "alice", "--time", "5m", "--at-once", "--position", position)
    shown = arbiter("match", "show", arbiter("match", "create", *terms).out.strip()).out
    assert f"start position 3: {position}\n" in shown


def test_chess_is_shown_as_people_write_it(server: Server, arbiter: Arbiter, tmp_path: Path) -> None:
    arbiter("token", "create", "alice")
    arbiter("token", "create", "bob")
    opening = ("--opening", "e2e4 e7e5 g1f3", "--label", "cup")
    match_id = arbiter("match", "create", "chess", "alice", "bob", "--time", "5m", "--at-once", *opening).out.strip()
    shown = arbiter("match", "show", match_id, "--ply", "2").out
    assert "opening: 1. e4 e5 2. Nf3\n" in shown
    assert "after ply 2, 1… e5:\n" in shown
    assert "clock of alice (White): 5:00\n" in shown
    arbiter("match", "adjudicate", match_id, "--winner", "2", "--note", "tired")
    file = tmp_path / "game.pgn"
    assert arbiter("transcript", match_id, "--pgn", "--out", str(file)).out == f"the match in {file}\n"
    assert '[Event "cup"]\n' in file.read_text()
    assert file.read_text().endswith("\n\n1. e4 e5 2. Nf3 0-1\n")
    other = arbiter("match", "create", "go", "alice", "bob", "--time", "5m").out.strip()
    assert '[Game "go"]\n' in arbiter("transcript", other, "--pgn").out


def test_games_of_files_are_imported_for_replay(server: Server, arbiter: Arbiter, tmp_path: Path) -> None:
    arbiter("token", "create", "zoe", "--scope", "play", "--scope", "organise", "--save")
    as_zoe = ("--as", "zoe")
    file = tmp_path / "games.pgn"
    file.write_text(
        '[White "Anna"]\n[Black "Ben"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n[White "C"]\n\n1. e4 e4 *\n\n'
        '[White "Dora"]\n[Black "Ed"]\n\n1. e4 {good} c5 1-0\n'
    )
    ran = arbiter("match", "import", str(file), *as_zoe)
    assert ran.code == 1
    assert "games.pgn, game 2, line 8: 1… e4: 'e4' is not legal here" in ran.out
    assert ran.err == "arbiter: 1 game left out, because of an error\n"
    rows = [row.split("\t") for row in arbiter("match", "list", "--player", "zoe", *as_zoe).out.splitlines()[1:]]
    assert sorted(row[5] for row in rows) == [
        "zoe (Black) wins: checkmate",
        "zoe (White) wins: adjudicated (1-0 in games.pgn, game 3: Dora – Ed)",
    ]
    shown = arbiter("match", "show", rows[0][0], *as_zoe).out
    assert ", chess, none, imported: Dora – Ed\n" in shown
    assert "opening: 1. e4 c5\n" in shown
    out = arbiter("transcript", rows[0][0], "--pgn", *as_zoe).out
    assert out.endswith("\n\n1. e4 c5 1-0\n")
    file.write_text('[White "Anna"]\n[Result "1-0"]\n\n1-0\n')
    ran = arbiter("match", "import", str(file), *as_zoe)
    assert (ran.code, "game 1, line 1: it has neither moves nor a start position" in ran.out) == (1, True)
    assert arbiter("match", "import", str(file), "--game", "7", *as_zoe).complaint.endswith("has no game 7")
    assert "can't read" in arbiter("match", "import", str(tmp_path / "none.pgn"), *as_zoe).complaint


def test_go_goes_out_and_comes_in_as_sgf(server: Server, arbiter: Arbiter, tmp_path: Path) -> None:
    arbiter("token", "create", "zoe", "--scope", "organise", "--save")
    file, again = tmp_path / "game.sgf", tmp_path / "again.sgf"
    other = "(;GM[1]SZ[9]KM[6.5]PB[Carl]PW[Dora]RE[B+R];B[aa])"
    file.write_text(f"(;GM[1]SZ[9]KM[6.5]PB[Anna]PW[Ben]RE[W+R];B[ee];W[cc]){other}")
    ran = arbiter("match", "import", str(file), "--label", "club", "--game", "1", "--as", "zoe")
    assert (ran.code, ran.out.count("\n"), ran.out.endswith(": Anna – Ben\n")) == (0, 1, True), ran.err
    shown = arbiter("match", "show", "last", "--as", "zoe").out
    assert ", go(komi=6.5), none, club: Anna – Ben\n" in shown
    assert "opening: E5 C7\n" in shown
    arbiter("transcript", "last", "--sgf", "--out", str(again), "--as", "zoe")
    assert ";B[ee];W[cg]" not in again.read_text()
    assert again.read_text().endswith("RE[W+]\n;B[ee];W[cc])\n")
    assert "choose one of" in arbiter("transcript", "last", "--sgf", "--pgn", "--as", "zoe").complaint


def test_a_player_against_itself(server: Server, arbiter: Arbiter) -> None:
    arbiter("token", "create", "alice")
    match_id = arbiter("match", "create", "pods(size=3)", "alice", "alice", "--time", "5m", "--at-once").out.strip()
    assert "clock of alice (Humpback): 5:00\n" in arbiter("match", "show", match_id).out
    judged = arbiter("match", "adjudicate", match_id, "--winner", "2", "--note", "tired")
    assert judged.out == f"{match_id}: alice (Humpback) wins: adjudicated (tired)\n"
    assert arbiter("match", "create", "pods", "alice", "alice", "--rated").code == 1


def test_a_match_is_judged_once(arbiter: Arbiter, match_id: str) -> None:
    ran = arbiter("match", "adjudicate", match_id, "--winner", "2", "--note", "alice left")
    assert ran.out == f"{match_id}: bob (Humpback) wins: adjudicated (alice left)\n"
    assert arbiter("match", "abort", match_id).code == 1


def test_a_match_is_aborted(arbiter: Arbiter, match_id: str) -> None:
    assert arbiter("match", "abort", match_id).out == f"{match_id}: void: aborted\n"


def test_a_transcript_has_one_line_of_json_for_each_event(arbiter: Arbiter, match_id: str, tmp_path: Path) -> None:
    lines = arbiter("transcript", match_id).out.splitlines()
    assert [json.loads(line)["revision"] for line in lines] == [1, 2]
    file = tmp_path / "match.jsonl"
    assert arbiter("transcript", match_id, "--out", str(file)).out == f"2 events in {file}\n"
    assert file.read_text().splitlines() == lines


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("match", "create", "ludo", "alice", "bob"), "there is no game 'ludo'"),
        (("match", "create", "pods", "alice", "carol"), "there is no player 'carol'"),
        (("match", "create", "pods", "alice", "bob", "--time", "soon"), "'soon' is not allowed"),
        (("match", "show", "m0"), "m0"),
        (("watch", "m0"), "m0"),
        (("watch",), "say what to watch"),
        (("token", "revoke", "t0"), "you have no token 't0'"),
        (("match", "list", "--token", "wrong"), "this token is unknown here"),
        (("match", "list", "--as", "carol"), "no token of carol"),
        (("match", "list", "--server", "somewhere"), "'somewhere' is no address"),
        (("match", "list", "--tls-root", "/none.pem"), "can't read /none.pem"),
    ],
)
def test_a_refusal_is_one_line_and_code_1(
    arbiter: Arbiter, match_id: str, words: tuple[str, ...], complaint: str
) -> None:
    ran = arbiter(*words)
    assert ran.code == 1
    assert complaint in ran.complaint


def test_a_wrong_port_is_one_line(arbiter: Arbiter) -> None:
    assert arbiter("player", "list", "--server", "127.0.0.1:9").complaint.startswith(
        "no arbiter answers at 127.0.0.1:9"
    )


def test_no_token_is_explained(server: Server, arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARBITER_CREDENTIALS", "/none")
    assert arbiter("player", "list").complaint.startswith(f"no token for {server.address}: give --token")


@pytest.mark.long
def test_where_reading_is_public_nobody_needs_a_token(tmp_path: Path, arbiter: Arbiter) -> None:
    (tmp_path / "server").mkdir()
    empty_store(tmp_path / "server")
    server = Server(tmp_path / "server", "--public")
    try:
        where = ("--server", server.address)
        for read in (("match", "list"), ("tournament", "list"), ("player", "list"), ("leaderboard",)):
            assert arbiter(*read, *where).code == 0, read
        assert arbiter("player", "show", *where).complaint.startswith("no token for ")
        assert arbiter("match", "create", "pods", "a", "b", *where).complaint.startswith("no token for ")
    finally:
        assert server.stop() == 0


def test_tokens(server: Server, arbiter: Arbiter) -> None:
    secret = arbiter(
        "token", "create", "dora", "--scope", "play", "--scope", "organise", "--note", "home", "--save"
    ).out
    row = arbiter("token", "list", "dora").out.splitlines()[1].split("\t")
    assert (row[1], row[2], row[3], row[5]) == ("dora", "play organise", "valid", "home")
    assert "this token allows: play, organise" in arbiter("player", "show", "--as", "dora").out
    assert arbiter("player", "show", "--token", secret.strip()).out.startswith("player: dora\n")
    assert arbiter("token", "revoke", row[0]).out == f"Revoked {row[0]}.\n"
    assert arbiter("player", "show", "--as", "dora").code == 1
    assert "revoked" in arbiter("token", "list", "dora").out


def test_players(server: Server, arbiter: Arbiter) -> None:
    secret = arbiter("player", "register", "eve", "--about", "a bot", "--no-save").out.strip()
    assert "about: a bot\n" in arbiter("player", "show", "eve").out
    assert arbiter("player", "suspend", "eve").out == "Suspended eve.\n"
    assert "eve\tsuspended\t" in arbiter("player", "list").out
    assert arbiter("player", "show", "--token", secret).code == 1
    assert arbiter("player", "unsuspend", "eve").code == 0
    assert arbiter("player", "show", "--token", secret).code == 0
    assert "has no token of eve" in arbiter("player", "show", "--as", "eve").complaint
    assert arbiter("player", "register", "ben", "--save").code == 0
    assert arbiter("player", "show", "--as", "ben").code == 0
    assert len(arbiter("player", "invite").out.strip()) > 40
    assert "there is a player eve already" in arbiter("player", "register", "eve").complaint


def test_a_player_is_renamed_hidden_retired_and_deleted(server: Server, arbiter: Arbiter) -> None:
    secret = arbiter("player", "register", "fay", "--about", "a bot", "--no-save").out.strip()
    own = ("--token", secret)
    assert arbiter("player", "rename", "fay-2", *own).out == "fay is fay-2 from now on.\n"
    assert arbiter("player", "show", "fay").out.startswith("player: fay-2\nregistered as: fay\nstate: away\n")
    assert arbiter("player", "hide", *own).out == "fay-2 is hidden.\n"
    assert arbiter("player", "hide", "--show-again", *own).out == "fay-2 is listed.\n"
    assert arbiter("player", "retire", *own).out == "fay-2 has retired.\n"
    assert "fay-2\tretired\t" in arbiter("player", "list").out
    assert arbiter("player", "retire", "--back", *own).out == "fay-2 may play again.\n"
    asked = arbiter("player", "delete", *own)
    assert asked.code == 1
    assert "Add --yes to do it" in asked.complaint
    assert arbiter("player", "show", "fay", *own).code == 0
    done = arbiter("player", "delete", "--yes", *own).out
    assert done.startswith("Deleted. Its games are shown under deleted-")
    assert arbiter("player", "show", "fay").code == 1
    assert "a bot" not in arbiter("player", "show", done.split()[-1].rstrip(".")).out
    assert "there is a player fay already" in arbiter("player", "register", "fay").complaint


def test_an_id_may_be_shortened_and_the_newest_match_has_a_name(arbiter: Arbiter, match_id: str) -> None:
    for given in (match_id, match_id[:-4], "last"):
        assert arbiter("match", "show", given).out.startswith(f"{match_id}: ")
    second = arbiter("match", "create", "pods(size=5)", "alice", "bob", "--time", "90s", "--at-once").out.strip()
    assert arbiter("match", "show", "last").out.startswith(f"{second}: ")
    many = arbiter("match", "abort", "m")
    assert (many.code, "matches begin with m (" in many.complaint) == (1, True)
    assert arbiter("match", "show", "mnothing").complaint == "there is no match 'mnothing' here"
    assert arbiter("tournament", "show", "last").complaint == "there is no tournament yet"
    ended = arbiter("match", "abort", "last").out
    assert ended.startswith(f"{second}: void: ")
    assert arbiter("transcript", "last").out.count(second) > 0


def test_a_finished_match_is_shown_after_any_of_its_moves(server: Server, arbiter: Arbiter) -> None:
    arbiter("token", "create", "alice")
    arbiter("token", "create", "bob")
    terms = ("pods(size=3)", "--time", "5m", "--at-once")
    match_id = arbiter("match", "create", *terms, "alice", "bob", "--opening", "a1 e3 b1").out.strip()
    assert "--ply is for matches that have" in arbiter("watch", match_id, "--ply", "3").complaint
    arbiter("match", "adjudicate", match_id, "--winner", "1", "--note", "late")
    over = arbiter("match", "show", match_id).out
    assert "pods(size=3) – alice (Orca) wins: adjudicated (late)\n" in over
    assert " to move" not in over
    before = arbiter("match", "show", match_id, "--ply", "2").out
    assert "after ply 2, e3:\n" in before
    assert "pods(size=3) – Orca to move\n" in before
    assert "it has had 3 moves" in arbiter("match", "show", match_id, "--ply", "4").complaint
    assert "alice (Orca) wins" in arbiter("watch", match_id, "--ply", "3").out
    assert arbiter("watch", match_id, "--ply", "2").out.startswith("pods(size=3) – Orca to move\n")
    assert "say one from 0 to 3" in arbiter("watch", match_id, "--ply", "4").complaint


@pytest.mark.long
def test_no_table_wraps_an_id(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("arbiter.cli.terminal.on_terminal", lambda: True)
    ids = [f"m{number:024}" for number in range(3)]
    rows = [(each, "circle-of-life(target=1)", "alice", "2026-11-22 18:00:00") for each in ids]
    table(("match", "game", "player 1", "made"), rows, "", None)
    out = capsys.readouterr().out
    assert all(each in out for each in ids)
    assert len(out.splitlines()) > len(ids) + 2, "the other columns are cut"
