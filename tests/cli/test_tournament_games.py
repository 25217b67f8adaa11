"""The games of a tournament as one file: which are in it, and with which tags."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Final

import chess.pgn
import pytest

from arbiter.cli.failure import Failure
from arbiter.cli.tournament_games import PlayedGame, played_games, tournament_of
from arbiter.event_json.canonical import encode
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import codec
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.corrections import Disqualify, Replay, Results
from arbiter.tournaments.spec import Format
from tests.cli.command import WAIT_S, Arbiter, Server
from tests.tournaments.test_corrections import correct
from tests.tournaments.test_game_rulings import rule, run_of


def cup() -> TournamentRun:
    """Return a round robin in whose first six games seat 1 has won."""
    run = run_of(Format.ROUND_ROBIN, 4)
    run.pair()
    for number in range(1, 7):
        run.act(do.Begin(number, 1, f"m{number}"))
        run.act(do.ReportResult(number, f"m{number}", 1, "goal", "rules"))
    return run


def games_of(run: TournamentRun) -> tuple[list[PlayedGame], int]:
    lines = [encode(codec.write_event(event)) for event in run.log]
    return played_games(tournament_of(b"\n".join([*lines, b'{"kind":"standings"}'])))


def tags(run: TournamentRun, number: int, **more: str) -> dict[str, str]:
    round_ = run.tournament.meetings[run.tournament.games[number - 1].meeting - 1].round
    return {"Event": "t", "Round": str(round_), "TournamentGame": str(number), **more}


def test_only_games_that_were_played_are_in_the_file() -> None:
    run = run_of(Format.ROUND_ROBIN, 4)
    run.pair()
    for number, winner, reason, cause in ((2, 2, "goal", "rules"), (1, 1, "no_show", "absence")):
        run.act(do.Begin(number, 1, f"m{number}"))
        run.act(do.ReportResult(number, f"m{number}", winner, reason, cause))  # type: ignore[arg-type]
    run.withdraw(run.tournament.games[2].seat1)
    games, left_out = games_of(run)
    assert games == [PlayedGame("m2", tags(run, 2))]
    assert left_out == len(run.tournament.results) - 1 > 1


def test_the_newest_ruling_is_the_result() -> None:
    run = cup()
    rule(run, 1, ev.Decision.POINTS, 0, 2)
    rule(run, 2, ev.Decision.POINTS, 1, 0)
    rule(run, 3, ev.Decision.VOID)
    rule(run, 4, ev.Decision.POINTS, 0, 2)
    rule(run, 4, ev.Decision.STANDS)
    games, left_out = games_of(run)
    assert [game.tags for game in games[:4]] == [
        tags(run, 1, Result="0-1", Ruling="0–1 by org: seen on video"),
        tags(run, 2, Result="*", Ruling="½–0 by org: seen on video"),
        tags(run, 3, Result="*", Ruling="void by org: seen on video"),
        tags(run, 4),
    ]
    assert left_out == 0


@pytest.mark.parametrize(
    ("results", "said"),
    [(Results.FORFEIT, "0–1 without play"), (Results.VOID, "void"), (Results.STAND, "")],
)
def test_games_of_a_disqualified_player_say_so_and_count_for_no_rating_unless_they_stand(
    results: Results, said: str
) -> None:
    run = cup()
    cheat = run.tournament.games[0].seat1
    correct(run, Disqualify(cheat, True, results))
    games, left_out = games_of(run)
    ruling = {"Result": "*", "Ruling": f"{said} by org: seen on video"} if said else {}
    assert games[0].tags == tags(run, 1, Disqualified=cheat, **ruling)
    mine = [number for number, game in enumerate(run.tournament.games[:6], 1) if cheat in game[2:4]]
    assert [number for number, game in enumerate(games, 1) if "Disqualified" in game.tags] == mine
    assert (len(games), left_out) == (6, 0)


def test_a_game_that_is_played_again_has_only_its_new_match() -> None:
    run = run_of(Format.ROUND_ROBIN, 4)
    run.pair()
    run.act(do.Begin(1, 1, "m1"))
    run.act(do.ReportResult(1, "m1", 1, "goal", "rules"))
    rule(run, 1, ev.Decision.VOID)
    correct(run, Replay(1))
    assert games_of(run) == ([], 0)
    run.act(do.Begin(1, 2, "again"))
    run.act(do.ReportResult(1, "again", 2, "goal", "rules"))
    assert games_of(run) == ([PlayedGame("again", tags(run, 1))], 0)


def test_a_log_that_is_none_is_refused() -> None:
    for log in (b"{", b'{"kind":"paused"}', b""):
        with pytest.raises(Failure, match="can't be read"):
            tournament_of(log)


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
