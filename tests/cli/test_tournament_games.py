"""The games of a tournament as one file: which are in it, and with which tags."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import arbiter_client as arb
import chess.pgn
import pytest

from arbiter.cli.tournament_games import PlayedGame, played_games
from tests.cli.command import WAIT_S, Arbiter, Server


def client_of(*happenings: arb.TournamentHappening) -> Any:
    events = [arb.TournamentEvent("t1", number, 0, "", b"", what) for number, what in enumerate(happenings, 1)]
    match = arb.MatchEvent("m1", 1, 0, "", b"", None)
    return SimpleNamespace(observe_tournament=lambda name, since: iter([match, *events, "nobody waits for more"]))


def found(revision: int) -> Any:
    return SimpleNamespace(tournament_id="t1", revision=revision, spec=SimpleNamespace(name="Cup"))


PAIRED: Final[Sequence[arb.TournamentHappening]] = [
    arb.GamesPaired(each, (arb.PairedGame(each, ("ann", "ben"), "hop-it"),), ()) for each in range(1, 7)
]  # a game in each of six rounds


def ended(number: int, winner: int, reason: str = "goal", cause: str = "rules", match: str = "") -> arb.GameEnded:
    return arb.GameEnded(number, match or f"m{number}", winner, reason, cause)


def tags(number: int, **more: str) -> dict[str, str]:
    return {"Event": "Cup", "Round": str(number), "TournamentGame": str(number), **more}


def test_only_games_that_were_played_are_in_the_file() -> None:
    ends = (ended(2, 2), ended(1, 1), ended(3, 1, "no_show", "absence"), ended(4, 0, "both_gone", "absence"))
    happened: list[arb.TournamentHappening] = [*PAIRED, *ends, arb.GameEnded(5, "", 2, "walkover", "absence")]
    games, left_out = played_games(client_of(*happened), found(len(happened)))
    assert games == [PlayedGame("m1", tags(1)), PlayedGame("m2", tags(2))]
    assert left_out == 2 + 1


def test_the_newest_ruling_is_the_result() -> None:
    rulings = [
        arb.GameRuled(1, "points", (0, 2), "cheat", "org"),
        arb.GameRuled(2, "points", (1, 0), "", "org"),
        arb.GameRuled(3, "void", (), "lost", "org"),
        arb.GameRuled(4, "points", (0, 2), "", "org"),
        arb.GameRuled(4, "stands", (), "no", "org"),
    ]
    happened: list[arb.TournamentHappening] = [*PAIRED, *(ended(number, 1) for number in range(1, 5)), *rulings]
    games, left_out = played_games(client_of(*happened), found(len(happened)))
    assert [game.tags for game in games] == [
        tags(1, Result="0-1", Ruling="0–1 by org: cheat"),
        tags(2, Result="*", Ruling="½–0 by org"),
        tags(3, Result="*", Ruling="void by org: lost"),
        tags(4),
    ]
    assert left_out == 0


SPEC: Final = """
name = "Evening cup"
format = "round_robin"
games = ["circle-of-life(target=1)"]
time = "1m"
paired = false
rated = false
"""


@pytest.mark.long
def test_the_games_of_a_tournament_and_the_transcripts_of_unrated_ones(
    server: Server, arbiter: Arbiter, tmp_path: Path
) -> None:
    spec, file, folder = tmp_path / "cup.toml", tmp_path / "games.pgn", tmp_path / "transcripts"
    spec.write_text(SPEC)
    names = ("walter", "wendy")
    for name in names:
        arbiter("token", "create", name, "--save")
    tournament_id = arbiter("tournament", "create", str(spec)).out.strip()
    arbiter("tournament", "enter", tournament_id, *names)
    arbiter("tournament", "start", tournament_id)
    assert arbiter("tournament", "games", tournament_id).err == "0 games of Evening cup\n"
    with server.bot("random", names[0]) as first, server.bot("random", names[1]) as second:
        assert (first.wait(WAIT_S), second.wait(WAIT_S)) == (0, 0)

    def written(text: str) -> Any:
        game = chess.pgn.read_game(io.StringIO(text))
        assert game is not None
        return game.headers

    arbiter("tournament", "watch", tournament_id)
    ran = arbiter("tournament", "games", tournament_id)
    assert ran.err == "1 game of Evening cup\n"
    found = written(ran.out)
    assert sorted((found["White"], found["Black"])) == list(names)
    assert (found["Round"], found["Event"], found["TimeControl"]) == ("1", "Evening cup", "60")
    heading, *rows = (line.split("\t") for line in arbiter("tournament", "standings", tournament_id).out.splitlines())
    points = {"1-0": ("1", "0"), "0-1": ("0", "1"), "1/2-1/2": ("½", "½")}[found["Result"]]
    assert {(row[1], row[2]) for row in rows} == {(found["White"], points[0]), (found["Black"], points[1])}, heading

    arbiter("tournament", "rule", tournament_id, "1", "1/2-0", "--note", "a late start")
    assert arbiter("tournament", "games", tournament_id, "--out", str(file)).out == ""
    found = written(file.read_text())
    assert (found["Result"], found["Ruling"]) == ("*", "½–0 by admin: a late start")

    for more, count in (((), "0 transcripts"), (("--unrated",), "1 transcript")):
        ran = arbiter("ratings", "export", str(folder), "--label", tournament_id, *more)
        assert ran.out.startswith(f"{count} written"), ran.err
    (transcript,) = folder.glob("*.jsonl")
    assert arbiter("verify", str(transcript), "--key", str(folder / "keys.json")).code == 0
