"""What benchmarks, bots, the kit and runs of several processes do with their options."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from arbiter_client import bridge

from arbiter.bench.report import TIMES, Report
from arbiter.cli import conformance as conformance_command
from arbiter.cli.app import run
from arbiter.cli.connection import Connection
from tests.options.enumerated import COMMANDS, CommandOption, options_of
from tests.options.reaching import (
    RecordingClient,
    call_of,
    module_of,
    passed,
    ran,
    reaching,
    specification,
)

# -- benchmarks --------------------------------------------------------------------------------------------------------


def _of_plans() -> Iterator[CommandOption]:
    for command in COMMANDS:
        kind, _, name = command.partition(" ")
        if kind == "bench" and name != "ratios":
            yield from (option for option in options_of(command) if option.name != "--svg")


@cache
def without_options(command: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return what a benchmark measures without an option, which is the same for each of its options."""
    return call_of(command.split())


@pytest.mark.parametrize("option", [*_of_plans()], ids=lambda option: f"{option.command} {option.name}")
def test_each_option_of_a_benchmark_changes_its_plan(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: CommandOption
) -> None:
    name = option.command.removeprefix("bench ")
    monkeypatch.setattr(f"arbiter.bench.{name}.bench_{name}", reaching("measured"))
    monkeypatch.setattr("arbiter.runtime.build.is_compiled", lambda: False)
    words = option.command.split()
    if option.name == "--json":
        call_of([*words, "--json", str(tmp_path / "kept.json")])
        assert (tmp_path / "kept.json").exists(), "it is made before anything is measured"
        return
    value = {"--only": "thinking" if name == "moves" else "looking", "--folder": str(tmp_path)}.get(option.name, "7")
    flags = ("--profile", "--bus", "--two", "--web-process", "--steps", "--network")
    given = [option.given[-1]] if option.name in flags else [option.name, value]
    changed = call_of([*words, *given])
    assert str(without_options(option.command)[1][0]) != str(changed[1][0])


def _kept() -> Report:
    """Return what a benchmark has found: a ratio with its goal."""
    report = Report("moves", "about")
    report.add("bare_rate_ratio", "moves a second, of the bare path's", 0.9, TIMES, 0.8)
    return report


def test_the_latency_by_offered_load_is_drawn_in_the_file_of_the_option(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("arbiter.bench.moves.bench_moves", lambda plan, progress: _kept())
    monkeypatch.setattr("arbiter.bench.loads.loads_svg", lambda report: f"<svg>{report.name}</svg>")
    picture = tmp_path / "loads.svg"
    assert run(["bench", "moves", "--only", "offered", "--svg", str(picture)]) == 0
    assert picture.read_text() == "<svg>moves</svg>\n"


def test_the_ratios_are_those_of_the_files_that_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "moves.json"
    file.write_text(json.dumps(_kept().json()))
    assert run(["bench", "ratios", str(file)]) == 0
    assert "moves\tmoves a second, of the bare path's\t0.900\ttimes\t≥ 0.80  met\n" in capsys.readouterr().out


# -- bots --------------------------------------------------------------------------------------------------------------

BOT_RUN: dict[str, list[str]] = {
    "--exec": ["false"],
    "--name": ["orca"],
    "--json": [],
    "--games": ["pods"],
    "--accept-seeks": [],
    "--enter-tournaments": [],
    "--most-matches": ["7"],
    "--matches": ["7"],
    "--move-time": ["7"],
    "--start-time": ["7"],
    "--restarts": ["7"],
    "--invitation": ["secret"],
    "--uci": ["true"],
    "--gtp": ["true"],
    "--dialogue": [],
}
"""Options of `arbiter bot run` that reach the bridge, with a value."""
ENGINE: dict[str, list[str]] = {
    "--option": ["Hash = 64"],
    "--nodes": ["7"],
    "--depth": ["7"],
    "--movetime": ["7"],
    "--ponder": [],
}
"""Those of a chess engine."""


class SetUpBot:
    """What `arbiter bot run` sets of a bot."""

    games: tuple[str, ...] = ("its own",)
    accept_seeks = enter_tournaments = False
    most_matches = 0


@pytest.mark.parametrize("option", BOT_RUN)
def test_an_option_changes_how_a_program_plays(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.setattr(bridge, "run", reaching("run"))
    monkeypatch.setattr("arbiter.cli.bot.os.cpu_count", lambda: 3)

    def plays(*options: str) -> str:
        program = [] if {"--exec", "--uci", "--gtp"} & {*options} else ["--exec", "true"]
        _, (command, server), named = call_of(["bot", "run", *program, "--sandbox", "off", *options])
        bot = SetUpBot()
        named.pop("set_up")(bot)
        named["language"] = type(named["language"]).__name__
        return repr((command, server, sorted(named.items()), sorted(vars(bot).items())))

    assert plays() != plays(option, *BOT_RUN[option])


@pytest.mark.parametrize("option", ENGINE)
def test_an_option_changes_how_an_engine_is_asked(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.setattr(bridge, "run", reaching("run"))

    def asked(*options: str) -> dict[str, Any]:
        _, _, named = call_of(["bot", "run", "--uci", "true", "--sandbox", "off", *options])
        return {**vars(named["language"])}

    assert asked() != asked(option, *ENGINE[option])


def test_the_options_of_a_sandbox_reach_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("arbiter.cli.bot.chosen", reaching("chosen"))
    _, (wanted, limits), _ = call_of(
        ["bot", "run", "--exec", "true", "--sandbox", "require", "--limit", "memory_mb=512"]
    )
    assert wanted == "require"
    assert "512" in repr(limits)
    monkeypatch.setattr("arbiter.cli.bot.chosen", lambda wanted, limits: (SimpleNamespace(job=reaching("job")), ""))
    _, arguments, named = call_of(["bot", "run", "--exec", "true", "--see", str(tmp_path)])
    assert str(tmp_path) in repr((arguments, named))


CONFORMANCE: dict[str, list[str]] = {
    "--bot": ["false"],
    "--timeout-scale": ["7"],
    "--fresh": [],
    "--stages": ["7"],
    "--folder": ["."],
    "--sandbox": ["require"],
    "--limit": ["memory_mb=512"],
    "--see": ["."],
}
"""Options of `arbiter conformance` that reach the kit, with a value."""


@pytest.mark.parametrize("option", CONFORMANCE)
def test_an_option_changes_how_the_kit_runs(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.setattr("arbiter.cli.boxed.chosen", lambda wanted, limits: (f"{wanted} {limits}", ""))
    monkeypatch.setattr("arbiter.conformance.kit.Kit", reaching("kit"))

    def kit(*options: str) -> str:
        return repr(call_of(["conformance", *([] if "--bot" in options else ["--bot", "true"]), *options]))

    assert kit() != kit(option, *CONFORMANCE[option])


def test_the_kit_writes_the_reports_that_its_options_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(conformance_command, "_run_clauses", reaching("run"))
    known = str(tmp_path / "known.toml")
    _, arguments, _ = call_of(["conformance", "--bot", "true", "--known-failing", known])
    assert arguments[2] == Path(known)
    monkeypatch.setattr(conformance_command, "_run_clauses", passed)
    monkeypatch.setattr(conformance_command, "_print_report", lambda report, words, output: None)
    monkeypatch.setattr(conformance_command, "_write_report", reaching("write"))
    monkeypatch.setattr("arbiter.conformance.kit.Kit", lambda *given: ran)
    words = ["conformance", "--bot", "true", "--html", "h", "--json", "j", "--junit", "u"]
    _, (_, html, json, junit), _ = call_of(words)
    assert (html, json, junit) == (Path("h"), Path("j"), Path("u"))


def test_a_quiet_bot_says_only_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "run", reaching("run"))
    logger = logging.getLogger("arbiter_client")
    monkeypatch.setattr(logger, "level", logger.level)
    for options, level in (([], logging.INFO), (["--quiet"], logging.WARNING)):
        call_of(["bot", "run", "--exec", "true", "--sandbox", "off", *options])
        assert logger.level == level


# -- runs of several processes -----------------------------------------------------------------------------------------

DEMO = {
    "--directory": "elsewhere",
    "--games": "pods",
    "--rounds": "7",
    "--ladder": "7s",
    "--time": "7s",
    "--concurrency": "7",
    "--port": "7",
}
"""Options of `arbiter demo`, with a value."""


Begin = Callable[..., tuple[Any, ...]]  #: begins a run with some options; returns what it gets


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Begin:
    monkeypatch.setattr("arbiter.cli.demo.command._Run", reaching("run"))
    monkeypatch.setattr("arbiter.cli.demo.command.chosen", lambda wanted: (None, ""))
    monkeypatch.chdir(tmp_path)
    return lambda *options: call_of(["demo", *options])[1]


@pytest.mark.parametrize("option", DEMO)
def test_an_option_changes_what_a_demo_plays(demo: Begin, option: str) -> None:
    def plays(*options: str) -> tuple[Any, ...]:
        folder, _, settings, terms = demo(*options)
        return folder.path.parent, settings, terms

    assert plays() != plays(option, DEMO[option])


RUN = {"--directory": "elsewhere", "--concurrency": "7", "--port": "7", "--export": "there", "--log-days": "7"}
"""Options of `arbiter tournament run`, with a value."""


@pytest.fixture
def tournament(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Begin:
    monkeypatch.setattr("arbiter.cli.tournament_run.command._Run", reaching("run"))
    monkeypatch.chdir(tmp_path)
    file = specification(tmp_path)
    bots = "".join(f'[[bots]]\nname = "{name}"\ncommand = ["true"]\n' for name in ("ann", "ben"))
    file.write_text(file.read_text() + bots)
    return lambda *options: call_of(["tournament", "run", str(file), *options])[1]


@pytest.mark.parametrize("option", RUN)
def test_an_option_changes_how_a_tournament_is_run(tournament: Begin, option: str) -> None:
    def plays(*options: str) -> tuple[Any, ...]:
        folder, _, settings, _, export_to = tournament("--no-sandbox", *options)
        return folder.path.parent, settings, export_to

    assert plays() != plays(option, RUN[option])


@pytest.mark.parametrize(("command", "options"), [("demo", []), ("tournament", ["--no-sandbox"])])
def test_a_run_is_continued_by_the_option(request: pytest.FixtureRequest, command: str, options: list[str]) -> None:
    begin: Begin = request.getfixturevalue(command)
    runs = [begin(*options, *more) for more in ((), (), ("--resume",))]
    assert [(folder.name, settings.resumed) for folder, _, settings, *_ in runs] == [
        ("run-1", False),
        ("run-2", False),
        ("run-2", True),
    ]


def test_the_options_of_a_tournaments_sandbox_reach_it(monkeypatch: pytest.MonkeyPatch, tournament: Begin) -> None:
    monkeypatch.setattr("arbiter.cli.tournament_run.command.chosen", reaching("chosen"))
    asked = [tournament(*options)[0] for options in ((), ("--sandbox", "require"), ("--no-sandbox",))]
    assert asked == ["auto", "require", "off"]


# -- figures -----------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("command", ["top", "doctor"])
def test_metrics_are_read_with_the_certificate_of_the_option(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    monkeypatch.setattr(module_of(command), "read", reaching("read"))
    monkeypatch.chdir(tmp_path)
    given = {"top": ["there:1"], "doctor": ["--metrics", "there:1"]}[command]
    _, arguments, _ = call_of([command, *given, "--tls-root", "r.pem"])
    assert arguments == ("there:1", Path("r.pem"))


def test_figures_are_shown_once_or_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("arbiter.cli.top.looked", lambda addresses, tls_root: [None])
    monkeypatch.setattr("arbiter.cli.top.on_terminal", lambda: True)
    monkeypatch.setattr("arbiter.cli.top.time.sleep", pauses.append)
    monkeypatch.setattr("arbiter.cli.top.Live", reaching("live"))
    call_of(["top", "there:1"])
    assert run(["top", "there:1", "--once", "--every", "7"]) == 0
    assert pauses == [7.0]


@pytest.mark.long
@pytest.mark.parametrize("listen", [(), ("--listen", "127.0.0.1:7490")])
def test_models_are_served_at_the_address_of_the_option(
    monkeypatch: pytest.MonkeyPatch, listen: tuple[str, ...]
) -> None:
    monkeypatch.setattr("arbiter.agents.serving.serve_http", reaching("http"))
    monkeypatch.setattr("arbiter.agents.serving.serve_stdio", reaching("stdio"))
    name, (server, *more), _ = call_of(["mcp", "--server", "there:1", "--token", "secret", *listen])
    expected: list[object] = [None, "127.0.0.1", 7490, []] if listen else ["secret", None]
    assert (name, server, more) == ("http" if listen else "stdio", "there:1", expected)


def test_a_match_that_is_over_is_shown_from_the_ply_of_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    over = SimpleNamespace(match_id="m1", result="a win", players=("ann", "ben"))

    @contextmanager
    def connected(connection: Connection | None) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(get_match=lambda match_id: over)

    monkeypatch.setattr("arbiter.cli.watch.connected", connected)
    monkeypatch.setattr("arbiter.cli.short_ids.match_id", lambda client, given: given)
    monkeypatch.setattr("arbiter.cli.watch.stepping.step_through", reaching("from a ply"))
    monkeypatch.setattr("arbiter.cli.watch._watch_plainly", reaching("from now on"))
    assert [call_of(["watch", "m1", *ply])[0] for ply in ((), ("--ply", "3"))] == ["from now on", "from a ply"]
    assert call_of(["watch", "m1", "--ply", "3"])[1][2] == 3


def test_all_matches_are_watched_by_label_and_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def connected(connection: Connection | None) -> Iterator[RecordingClient]:
        yield RecordingClient()

    monkeypatch.setattr("arbiter.cli.watch.connected", connected)
    assert call_of(["watch", "--all"])[:2] == ("observe_all", ("", ""))
    assert call_of(["watch", "--all", "--label", "cup", "--from-start"])[:2] == ("observe_all", ("0", "cup"))
