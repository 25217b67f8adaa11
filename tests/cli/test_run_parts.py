"""The parts of a tournament run that need no process: its folder, its progress, its display, its examples."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import arbiter_client as arb
import pytest
from arbiter_client.bridge import piped_bot
from rich.console import Console

from arbiter.cli import bundled_bot
from arbiter.cli.demo.report import rated_games
from arbiter.cli.demo.report import remarks as remarks_of_demo
from arbiter.cli.failure import Failure
from arbiter.cli.tournament_bots import BotEntry, EngineEntry, read_bots
from arbiter.cli.tournament_run import folder as folders
from arbiter.cli.tournament_run.command import ONCE, once, remarks
from arbiter.cli.tournament_run.export import file_name
from arbiter.cli.tournament_run.host import at_most, cautions, check_versions, program, shared_out
from arbiter.cli.tournament_run.running_tournament import RunningTournament, TournamentState
from arbiter.cli.tournament_run.screen import PlainOutput, elapsed, end, picture, unusual, void_matches
from arbiter.cli.tournament_spec import read_all
from arbiter.service.tournaments.rhythm import check_rhythm
from tests.cli.test_tournament import SWISS, row, standing
from tests.cli.tournament_events import BEGAN_MS, created, ended, of_tournament, progress_of

ENGINES = {
    "example-chess.toml": {"stockfish", "gnuchess", "ethereal-chess"},
    "example-engine-trial.toml": {"stockfish"},
    "example-go.toml": {"gnugo"},
}
EXAMPLES = Path(__file__).parents[2] / "deploy" / "examples"


# The folder


def test_runs_are_numbered_and_no_number_is_used_again(tmp_path: Path) -> None:
    first, second = (folders.begin(tmp_path, "plan.json", "{}") for _ in range(2))
    assert (first.name, second.name) == ("run-1", "run-2")
    assert folders.newest(tmp_path, "plan.json") == second
    assert second.plan_file.read_text() == "{}"


def test_a_run_is_played_by_one_process_at_a_time(tmp_path: Path) -> None:
    folder = folders.begin(tmp_path, "plan.json", "{}")
    with folder.held(), pytest.raises(Failure, match="being played"), folder.held(patience_s=0):
        pass
    with folder.held(patience_s=0):
        pass  # the lock is free again


def test_without_a_run_there_is_nothing_to_resume(tmp_path: Path) -> None:
    folders.begin(tmp_path, "another plan", "")
    for directory in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(Failure, match="no run in"):
            folders.newest(directory, "plan.json")


# Cores


def entry(name: str, cores: int, ponder: bool = False, **options: str) -> BotEntry:
    engine = EngineEntry("uci", options, ponder=ponder) if options or ponder else None
    return BotEntry(name, "", (), {}, 0, "", engine=engine, cores=cores)


def test_bots_get_cores_of_their_own_as_long_as_there_are_some() -> None:
    bots = [entry("a", 2), entry("b", 0), entry("c", 1), entry("d", 3)]
    assert shared_out(bots, [0, 2, 4, 6, 8, 9]) == {"a": {0, 2}, "b": set(), "c": {4}, "d": {6, 8, 9}}
    assert shared_out(bots, [5, 7]) == {"a": {5, 7}, "b": set(), "c": {5}, "d": {5, 7}}
    assert shared_out(bots, []) == dict.fromkeys("abcd", frozenset())


def test_an_organiser_hears_of_too_few_cores() -> None:
    plain, many = entry("a", 1), entry("b", 1, Threads="4", Hash="9")
    assert list(cautions([plain, plain], 2, 2)) == []
    assert list(cautions([plain, many], 2, 8)) == []
    assert list(cautions([plain, many], 1, 1)) == [
        "The bots want 2 cores of their own, and there is 1: some share a core.",
        "In 1 game at once, up to 4 threads each, more threads think than 1 core can run: bots take time from each "
        "other.",
    ]
    assert list(cautions([plain, plain], 3, 2)) == [
        "In 3 games at once, one thread each, more threads think than 2 cores can run: bots take time from each other."
    ]
    pondering = entry("c", 0, ponder=True)
    assert list(cautions([plain, pondering], 1, 2)) == []
    assert list(cautions([plain, pondering], 2, 2)) == [
        "In 2 games at once, up to 2 threads each, more threads think than 2 cores can run: bots take time from each "
        "other."
    ]


def test_an_organiser_hears_of_games_at_once_that_the_bots_cannot_play() -> None:
    assert list(at_most(2, 1, 1)) == list(at_most(2, 8, 8)) == list(at_most(5, 1, 2)) == []
    assert list(at_most(2, 1, 8)) == [
        "Of 8 games at once no more than 1 can be under way: 2 bots play 1 each at a time. The file says how many, as "
        "`at_once`."
    ]
    assert len(list(at_most(5, 1, 3))) == 1


# Progress


def begun(number: int, match_id: str, attempt: int = 1) -> arb.TournamentEvent:
    return of_tournament(arb.GameBegun(number, match_id, attempt))


def test_progress_is_counted_from_the_record() -> None:
    games = tuple(arb.PairedGame(number, ("ann", "ben"), "hop-it") for number in (1, 2, 3))
    progress = progress_of(
        of_tournament(arb.GamesPaired(1, games, ())),
        *(created("m1", "ann", "ben"), begun(1, "m1"), ended("m1", 1, plies=2)),
        of_tournament(arb.GameEnded(1, "m1", 1, "extinction", "rules")),
        *(created("m2", "ben", "ann"), begun(2, "m2")),
        ended("m2", 0, arb.Cause.ARBITER, arb.ResultKind.VOID, plies=1),
        of_tournament(arb.GameVoided(2, "m2", 1, "fault")),
        *(created("m3", "ben", "ann"), begun(2, "m3", 2), ended("m3", 2, arb.Cause.TIME)),
        of_tournament(arb.GameEnded(3, "", 1, "walkover", "absence")),
    )
    assert (progress.paired, progress.moves_now) == (3, 3)
    assert (progress.void, progress.walkovers, progress.boards) == (1, 1, {})
    assert [end(played) for played in progress.played] == [
        "hop-it: ann 1–0 ben, extinction, 2 plies",
        "hop-it: ben 0–1 ann, extinction, 0 plies",
    ]
    assert progress.number_of("m3") == (2, 2)
    assert unusual(progress) == ["  hop-it: ben 0–1 ann, extinction, 0 plies"]
    assert elapsed(progress, 75_500) == "1:05"
    said = "2 games and 3 moves in 1:05. 1 game was not played: 1 ended by walkover. 1 match ended without a result: "
    said += "1 played again. 1 ended by a clock"
    assert remarks(progress, 75_500).startswith(said)


def test_moves_of_a_run_are_those_since_it_began_and_none_of_an_opening() -> None:
    progress = progress_of()
    progress.looked({"m2": 20, "m3": 5}, BEGAN_MS)
    early = BEGAN_MS - 1
    progress.take(created("m1", "ann", "ben", early))
    progress.take(ended("m1", 1, at_ms=early, plies=30))
    progress.take(created("m2", "ann", "ben", early, opening=("a1", "b1")))
    progress.take(created("m3", "ann", "ben", early, opening=("a1", "b1")))
    assert progress.moves_now == 0
    progress.take(created("m4", "ann", "ben", opening=("a1", "b1")))
    progress.looked({"m2": 24, "m3": 5, "m4": 8}, BEGAN_MS + 2_000)
    assert (progress.moves_now, progress.moves_a_second) == (10, 5.0)
    progress.take(ended("m2", 1, plies=30))
    progress.take(ended("m4", 1, plies=9))
    assert progress.moves_now == 17
    assert [played.board.plies for played in progress.played] == [30, 30, 9]
    for second in range(3, 9):
        progress.looked({"m3": 5}, BEGAN_MS + 1_000 * second)
    assert (progress.moves_now, progress.moves_a_second) == (17, 0.0)


def test_matches_that_a_closed_tournament_stops_are_not_played_again() -> None:
    progress = progress_of(
        *(created("m1", "ann", "ben"), begun(1, "m1"), created("m2", "ben", "ann"), begun(2, "m2")),
        *(of_tournament(arb.GameVoided(number, f"m{number}", 1, "aborted")) for number in (1, 2)),
    )
    assert void_matches([progress]) == "2 matches ended without a result: 2 stopped when the tournament ended."
    assert void_matches([progress_of()]) == ""


def test_a_game_to_which_a_player_did_not_come_is_not_counted_as_played() -> None:
    progress = progress_of(
        *(created("m1", "ann", "ben"), ended("m1", 1)),
        *(created("m2", "ben", "ann"), ended("m2", 2, arb.Cause.ABSENCE, reason="no_show")),
    )
    said = (
        "1 game and 0 moves in 1:05. 1 game was not played: a player did not come to 1. 1 ended by a clock, a violation"
    )
    assert remarks(progress, 75_500).startswith(said)
    assert "1 game and 0 moves" in remarks_of_demo([progress])[0]
    assert len(rated_games([progress])) == 1


def test_a_game_to_which_nobody_came_is_lost_by_both() -> None:
    void = (0, arb.Cause.ABSENCE, arb.ResultKind.VOID)
    progress = progress_of(created("m1", "ann", "ben"), ended("m1", *void, reason="no_show"))
    assert [end(played) for played in progress.played] == ["hop-it: ann 0–0 ben, no show, 0 plies"]
    progress = progress_of(created("m1", "ann", "ben"), ended("m1", *void, reason="abandonment"))
    assert progress.played == [], "a game that both have left is played again"


# Display


class IgnoringReader:
    """A reader that ignores everything."""

    look_every_s = 1.0

    def looked(self) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        raise AssertionError(text)

    def ended(self, played: object, contest: RunningTournament) -> None:
        raise AssertionError(played)

    def found(self, statistics: str) -> None:
        raise AssertionError(statistics)


async def nothing() -> None:
    raise AssertionError("nobody plays")


def contest() -> RunningTournament:
    client = arb.Client("127.0.0.1:1", tls=arb.NO_TLS)
    return RunningTournament(client, SWISS.spec, (), "run", {}, IgnoringReader(), nothing)


async def test_the_screen_shows_standings_boards_and_the_last_results() -> None:
    shown = contest()
    shown.progress.began_ms = BEGAN_MS
    for event in (created("m1", "ann", "ben"), ended("m1", 1), created("m2", "ben", "ann")):
        shown.progress.take(event)
    shown.progress.looked({"m2": 5}, 11_000)
    shown.stand = TournamentState(replace(SWISS, ends_ms=80_000), standing(row(1, "ann", 5), row(2, "ben", 1)))
    console = Console(width=140, file=io.StringIO(), color_system=None)
    console.print(picture(shown, 12_000))
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    for words in (
        *(
            "Cup: swiss, 4 rounds, pods(size=5), 1m",
            "running: round 2 of 4, 20 of 80 games played",
            "hop-it: ann 1–0 ben",
        ),
        *("ply 5", "0:02", "5 moves, ", "ends in 1:08", "Ctrl-C stops"),
    ):
        assert words in said
    console.print(picture(None, 0))
    assert "The arbiter and the bots start." in console.file.getvalue()


async def test_lines_say_how_each_game_ended() -> None:
    said: list[str] = []
    lines, shown = PlainOutput(said.append), contest()
    shown.progress.began_ms = BEGAN_MS
    games = (arb.PairedGame(1, ("ann", "ben"), "hop-it"), arb.PairedGame(2, ("ben", "ann"), "hop-it"))
    for event in (of_tournament(arb.GamesPaired(1, games, ())), created("m1", "ann", "ben")):
        shown.progress.take(event)
    played = shown.progress.take(ended("m1", 1, at_ms=BEGAN_MS + 3_000))
    assert played is not None
    lines.ended(played, shown)
    lines.note("ben ended by itself")
    shown.stand = TournamentState(replace(SWISS, games=2, rounds=1), standing())
    lines.ended(played, shown)
    assert said == [
        "0:03  1  hop-it: ann 1–0 ben, extinction, 0 plies",
        "ben ended by itself",
        "0:03  1/62  hop-it: ann 1–0 ben, extinction, 0 plies",
    ]
    lines.looked()
    assert len(said) == 3, "no tournament has begun"
    lines.contest = shown
    lines.looked()
    assert " running: " in said[3]


# Programs and files


def test_a_bot_gets_its_server_and_token_from_its_environment() -> None:
    mine = program(BotEntry("ann", "", ("./ann", "-v"), {"LEVEL": "3"}, 0, ""), Path("/cup"), "127.0.0.1:7", "secret")
    assert mine.command == ("./ann", "-v")
    assert mine.folder == Path("/cup")
    where = {"ARBITER_SERVER": "127.0.0.1:7", "ARBITER_TOKEN": "secret", "ARBITER_NAME": "ann"}
    assert mine.environment == {"LEVEL": "3", **where}
    bundled = program(BotEntry("x", "greedy", ("--seed", "1"), {}, 0, ""), Path("/cup"), "127.0.0.1:7", "secret")
    assert bundled.command[1:] == ("-m", "arbiter_client.bots.greedy", "--seed", "1")
    assert "secret" not in " ".join(bundled.command)
    assert bundled.folder == Path("/"), "it needs no file of other bots' folders"


def test_a_bundled_bot_plays_without_a_connection_unless_its_arguments_are_about_one_or_it_asks_the_server(
    tmp_path: Path,
) -> None:
    def bot(**values: str) -> BotEntry:
        (found,) = read_bots([values], tmp_path, {})
        return found

    for name in bundled_bot.names():
        if name in bundled_bot.ASKING:
            assert bot(bot=name).engine is None
            continue
        for arguments in ("", "--seed 7", "--seed=7"):
            seeded = bot(bot=name, args=arguments)
            assert seeded.engine is not None
            assert seeded.engine.language == "json_lines"
            process = program(seeded, tmp_path, "127.0.0.1:7", "secret")
            assert process.command[1:] == ("-m", "arbiter_client.bridge.piped_bot", name, *arguments.split())
            assert (process.spawned, process.environment) == (False, {}), "it has no token, and no server"
        assert bot(bot=name, args="--most-matches 1").engine is None
        assert piped_bot.bundled(name)(7).name == name


def test_a_bot_whose_version_differs_from_its_file_does_not_play() -> None:
    player = arb.Player("ann", "", "ann", "7", (), 0, True, False, 1)
    for version in ("", "7"):
        check_versions([BotEntry("ann", "", ("./ann",), {}, 0, version)], {"ann": player})
    with pytest.raises(Failure, match="ann says that it is version '7', not '8' as its file says"):
        check_versions([BotEntry("ann", "", ("./ann",), {}, 0, "8")], {"ann": player})


def test_names_of_transcripts_need_no_quotes_in_a_shell() -> None:
    game, players = "pods(size=5,shape=hex)", ("ann", "ben")
    assert file_name(game, players, "m1", 7) == Path("pods-size-5-shape-hex/0007-ann-ben.jsonl")
    assert file_name(game, players, "m1", 7, 2) == Path("pods-size-5-shape-hex/0007-ann-ben-attempt-2.jsonl")
    assert file_name(game, players, "m1", 0) == Path("pods-size-5-shape-hex/m1-ann-ben.jsonl")


# The examples


@pytest.mark.parametrize("format_", [format_ for format_ in arb.TournamentFormat if format_.value])
def test_every_format_has_an_example_that_ends_by_itself(format_: arb.TournamentFormat) -> None:
    name = format_.name.lower().replace("_", "-")
    read = read_all(EXAMPLES / f"example-{name}.toml")
    spec = read.tournament
    assert spec.format is format_
    assert all(bot.bundled for bot in read.bots)
    assert len(read.bots) == 2 if format_ is arb.TournamentFormat.TRIAL else len(read.bots) >= 4
    timed = format_ in (arb.TournamentFormat.ARENA, arb.TournamentFormat.LADDER)
    assert (spec.options.duration_ms > 0) is timed
    assert spec.options.duration_ms <= 120_000


def test_there_are_as_many_examples_as_formats() -> None:
    formats = [format_ for format_ in arb.TournamentFormat if format_.value]
    others = {*ENGINES, "example-series.toml", "example-teams.toml"}
    assert len([file for file in EXAMPLES.iterdir() if file.name not in others]) == len(formats)


def test_the_example_of_a_series_is_one() -> None:
    file = read_all(EXAMPLES / "example-series.toml")
    check_rhythm(file.tournament.schedule.every)
    assert file.tournament.series == arb.SeriesRules(6, 8, (10, 7, 5, 3, 2, 1))


def test_a_run_plays_one_tournament_of_a_series_and_says_so() -> None:
    file = read_all(EXAMPLES / "example-series.toml")
    ran = once(file)
    assert (ran.tournament.schedule.every, ran.tournament.series) == ("", arb.SeriesRules())
    assert ran.tournament.schedule.too_few is arb.TooFewRule.CANCEL
    assert ran.cautions == (*file.cautions, ONCE)
    single = read_all(EXAMPLES / "example-swiss.toml")
    assert once(single) is single


@pytest.mark.parametrize("name", ENGINES)
def test_the_examples_of_engines_are_tournaments_of_engines(name: str) -> None:
    engines = [bot for bot in read_all(EXAMPLES / name).bots if bot.engine and not bot.bundled]
    assert len(engines) >= 2
    assert {bot.command[0] for bot in engines} == ENGINES[name]
