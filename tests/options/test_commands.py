"""What commands do with their options: each one reaches what the command calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from arbiter_client import Tls, bridge

from arbiter.cli import conformance as conformance_command
from arbiter.cli import connection as connection_options
from arbiter.cli.connection import Connection
from arbiter.config import Settings
from tests.options.enumerated import COMMANDS, options_of, takes
from tests.options.enumerated import connection_options as of_connection
from tests.options.reaching import (
    RecordingClient,
    call_of,
    module_of,
    passed,
    ran,
    reaching,
    required,
    specification,
)

# -- the settings of a server ------------------------------------------------------------------------------------------

SERVE: dict[str, tuple[str, str, object]] = {
    "--listen": ("127.0.0.1:7", "listen", "127.0.0.1:7"),
    "--listen-proxy": ("10.0.0.1", "listen_proxies", ("10.0.0.1",)),
    "--web": ("127.0.0.1:8", "web", "127.0.0.1:8"),
    "--web-url": ("https://there", "web_url", "https://there"),
    "--web-proxy": ("10.0.0.1", "web_proxies", ("10.0.0.1",)),
    "--web-origin": ("https://here", "web_origins", ("https://here",)),
    "--metrics": ("127.0.0.1:9", "metrics", "127.0.0.1:9"),
    "--store": ("sqlite:///x.db", "store", "sqlite:///x.db"),
    "--processes": ("3", "processes", 3),
    "--postgres": ("pg", "postgres", Path("pg").absolute()),
    "--bus": ("nats://there:1", "bus", "nats://there:1"),
    "--keys": ("x.keys", "keys", Path("x.keys")),
    "--registration": ("closed", "registration", "closed"),
    "--public": ("", "public", True),
    "--insecure": ("", "insecure", True),
    "--tls-certificate": ("c.pem", "tls_certificate", Path("c.pem")),
    "--tls-key": ("k.pem", "tls_key", Path("k.pem")),
    "--tls-client-authority": ("a.pem", "tls_client_authority", Path("a.pem")),
}
"""Options of `arbiter serve`: a value as it is written, the setting, and its value there."""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Return a function that begins to serve with some options, and returns what the server would get."""
    monkeypatch.setattr("arbiter.cli.logs.configure", lambda level: None)
    monkeypatch.setattr("arbiter.cli.serve_here.serve_until_signal", reaching("here"))
    monkeypatch.setattr("arbiter.cli.serve_processes.serve_processes", reaching("processes"))

    def begin(*options: str) -> dict[str, Any]:
        name, arguments, _ = call_of(["serve", *options])
        if name == "here":
            settings, new, bots, serves, _ = arguments
            return {"settings": settings, "new": new, "bots": bots, **serves.keywords}
        settings, save_token, new, bots, level = arguments
        return {"settings": settings, "new": new, "bots": bots, "save_token": save_token, "log_level": level}

    return begin


@pytest.mark.parametrize("option", SERVE)
def test_a_server_has_the_setting_of_its_option(served: Callable[..., dict[str, Any]], option: str) -> None:
    written, name, value = SERVE[option]
    settings: Settings = served(option, *([written] if written else []))["settings"]
    assert getattr(settings, name) == value
    assert getattr(Settings(), name) != value, "it shows no effect, unless the default is another value"


def test_the_page_has_a_process_of_its_own_by_the_option(served: Callable[..., dict[str, Any]]) -> None:
    page = ("--web", "127.0.0.1:8")
    assert [served(*page, *more)["settings"].web_process for more in ((), ("--web-process",))] == [False, True]


@pytest.mark.long
def test_a_server_has_what_is_no_setting_from_its_options(
    served: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = served()
    assert (plain["new"], plain["bots"], plain["save_token"]) == (False, (), True)
    other = served("--new", "--bot", "mcts", "--bot", "greedy", "--no-save-token")
    assert (other["new"], other["bots"], other["save_token"]) == (True, ("mcts", "greedy"), False)
    several = served("--new", "--bot", "mcts", "--no-save-token", "--processes", "2", "--log-level", "debug")
    assert (several["new"], several["bots"], several["save_token"]) == (True, ("mcts",), False)
    assert several["log_level"] == "debug", "its processes log as much"
    file = tmp_path / "arbiter.toml"
    file.write_text("rules_workers = 7")
    assert served("--config", str(file))["settings"].rules_workers == 7
    levels: list[str] = []
    monkeypatch.setattr("arbiter.cli.logs.configure", levels.append)
    served("--log-level", "error")
    assert levels == ["error"]


# -- the store of a command --------------------------------------------------------------------------------------------

OF_A_STORE = {"--store": "store", "--keys": "keys", "--ring": "keys", "--postgres": "postgres", "--config": ""}
"""Options that say which store and keys a command is about, with the setting; '' for the file of settings."""


@pytest.mark.long
def test_a_command_is_about_the_store_of_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """All commands in one test: it takes long to find out what each accepts."""
    for command in COMMANDS:
        if not hasattr(module_of(command), "load") or command in ("serve", "key show", "key export"):
            continue
        monkeypatch.setattr(module_of(command), "load", reaching("load"))
        for option in {each.name for each in options_of(command)} & OF_A_STORE.keys():
            value = "x.toml" if option == "--config" else "sqlite:///x.db" if option == "--store" else "x"
            _, (file, *_), given = call_of([*command.split(), *required(command), option, value])
            found = {"": file, **given}[OF_A_STORE[option]]
            assert found == (value if option == "--store" else Path(value)), (command, option)


# -- the server of a command -------------------------------------------------------------------------------------------

CONNECTION = {
    "--server": ("there:1", "server", "there:1"),
    "--token": ("secret", "token", "secret"),
    "--as": ("ann", "as_", "ann"),
    "--tls": ("", "tls", True),
    "--tls-root": ("r.pem", "tls_root", Path("r.pem")),
    "--tls-certificate": ("c.pem", "tls_certificate", Path("c.pem")),
    "--tls-key": ("k.pem", "tls_key", Path("k.pem")),
}
"""Options of all commands that ask a server: a value as it is written, the field, and its value there."""

ASKING = [command for command in COMMANDS if takes(command, Connection)]


@pytest.mark.parametrize("command", ASKING)
def test_a_command_asks_the_server_of_its_options(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    assert of_connection(command) == set(CONNECTION)
    monkeypatch.setattr("arbiter.cli.connection.BlockingClient", reaching("client"))
    monkeypatch.setattr(connection_options.Connection, "secret", lambda self: f"{self.token} {self.as_}")
    more = [str(specification(tmp_path))] if command == "tournament create" else required(command)
    if command == "bot run":
        monkeypatch.setattr(bridge, "run", reaching("run"))
    if command == "play":
        monkeypatch.setattr("arbiter.cli.play._play", reaching("play"))
    if command == "mcp":
        monkeypatch.setattr("arbiter.agents.serving.serve_stdio", reaching("agent"))
    if command == "conformance":
        monkeypatch.setattr(conformance_command, "_run_clauses", passed)
        monkeypatch.setattr(conformance_command, "_print_report", lambda report, words, output: None)
        monkeypatch.setattr(conformance_command, "_write_report", lambda *files: None)
        monkeypatch.setattr("arbiter.conformance.kit.Kit", lambda *given: ran)

    def asked(*options: str) -> tuple[object, ...]:
        name, arguments, named = call_of([*command.split(), *more, *options])
        if name == "play":
            return arguments[3].server, arguments[3].secret(), arguments[3].security()
        if name == "agent":
            return arguments
        if name == "run":
            return arguments[1], f"{named['token'] or None} {named['name'] or None}", named["tls"]
        return *arguments, named["token"], named["tls"]

    given = [word for option, (written, *_) in CONNECTION.items() for word in (option, written) if word]
    assert asked(*given) == ("there:1", "secret ann", Tls(Path("r.pem"), Path("c.pem"), Path("k.pem")))
    if command in ("match list", "bot run", "play", "mcp"):  # one for each way in which `asked` finds it
        assert asked("--tls")[2] == Tls(), "the other options speak TLS without it"


def test_each_option_of_a_connection_has_an_effect() -> None:
    for written, field, value in CONNECTION.values():
        assert getattr(Connection(**{field: value}), field) != getattr(Connection(), field), written  # type: ignore[arg-type]
    assert Connection().security() is None
    assert Connection(tls=True).security() == Tls()
    assert Connection(tls_root=Path("r")).security() == Tls(Path("r"))


# -- what is asked of a server -----------------------------------------------------------------------------------------

ASKED: dict[tuple[str, str], list[str]] = {
    ("match create", "GAME"): ["pods(size=3)"],
    ("match create", "--time"): ["7s"],
    ("match create", "--rated"): [],
    ("match create", "--label"): ["cup"],
    ("match list", "--player"): ["ann"],
    ("match list", "--game"): ["pods"],
    ("match list", "--label"): ["cup"],
    ("match list", "--phase"): ["ended"],
    ("match list", "--most"): ["7"],
    ("match create", "PLAYER_1"): ["p0", "cat"],
    ("match create", "PLAYER_2"): ["p0", "p1", "cat"],
    ("match create", "--at-once"): [],
    ("match show", "MATCH_ID"): ["m7"],
    ("match abort", "MATCH_ID"): ["m7"],
    ("match abort", "--note"): ["why"],
    ("match adjudicate", "MATCH_ID"): ["m7"],
    ("transcript", "MATCH_ID"): ["m7"],
    ("watch", "MATCH_ID"): ["m7"],
    ("tournament enter", "TOURNAMENT_ID"): ["t7"],
    ("tournament enter", "PLAYERS"): ["p0", "cat"],
    ("tournament enter", "--rating"): ["7"],
    ("tournament enter", "--bye"): ["7"],
    ("tournament enter", "--team"): ["red"],
    ("tournament enter", "--category"): ["rust"],
    ("tournament change", "TOURNAMENT_ID"): ["t7"],
    ("tournament change", "PLAYER"): ["p0", "cat"],
    ("tournament change", "--rating"): ["7"],
    ("tournament change", "--bye"): ["7"],
    ("tournament change", "--no-byes"): [],
    ("tournament withdraw", "TOURNAMENT_ID"): ["t7"],
    ("tournament withdraw", "PLAYER"): ["p0", "cat"],
    ("tournament start", "TOURNAMENT_ID"): ["t7"],
    ("tournament pause", "TOURNAMENT_ID"): ["t7"],
    ("tournament resume", "TOURNAMENT_ID"): ["t7"],
    ("tournament cancel", "TOURNAMENT_ID"): ["t7"],
    ("tournament cancel", "--note"): ["why"],
    ("tournament cancel", "--series-goes-on"): [],
    ("tournament disqualify", "TOURNAMENT_ID"): ["t7", "ann"],
    ("tournament disqualify", "PLAYER"): ["p0", "eve"],
    ("tournament disqualify", "--from-start"): [],
    ("tournament disqualify", "--results"): ["void"],
    ("tournament disqualify", "--games-go-on"): [],
    ("tournament disqualify", "--note"): ["why"],
    ("tournament disqualify", "--revision"): ["7"],
    ("tournament disqualify", "--preview"): [],
    ("tournament reinstate", "TOURNAMENT_ID"): ["t7", "ann"],
    ("tournament reinstate", "PLAYER"): ["p0", "eve"],
    ("tournament reinstate", "--note"): ["why"],
    ("tournament reinstate", "--revision"): ["7"],
    ("tournament reinstate", "--preview"): [],
    ("tournament replay", "TOURNAMENT_ID"): ["t7", "1"],
    ("tournament replay", "GAME"): ["p0", "7"],
    ("tournament replay", "--note"): ["why"],
    ("tournament replay", "--revision"): ["7"],
    ("tournament replay", "--preview"): [],
    ("tournament points", "TOURNAMENT_ID"): ["t7", "ann", "1"],
    ("tournament points", "PLAYER"): ["p0", "eve", "1"],
    ("tournament points", "POINTS"): ["p0", "ann", "-0.5"],
    ("tournament points", "--note"): ["why"],
    ("tournament points", "--revision"): ["7"],
    ("tournament points", "--preview"): [],
    ("tournament lot", "TOURNAMENT_ID"): ["t7", "ann", "ben"],
    ("tournament lot", "PLAYERS"): ["p0", "eve", "ben"],
    ("tournament lot", "--seed"): ["x"],
    ("tournament lot", "--note"): ["why"],
    ("tournament lot", "--revision"): ["7"],
    ("tournament lot", "--preview"): [],
    ("tournament pair", "TOURNAMENT_ID"): ["t7", "3", "ann", "ben"],
    ("tournament pair", "NUMBER"): ["p0", "7", "ann", "ben"],
    ("tournament pair", "PLAYERS"): ["p0", "3", "eve", "ben"],
    ("tournament pair", "--note"): ["why"],
    ("tournament pair", "--revision"): ["7"],
    ("tournament pair", "--preview"): [],
    ("tournament bye", "TOURNAMENT_ID"): ["t7", "ann", "3"],
    ("tournament bye", "PLAYER"): ["p0", "eve", "3"],
    ("tournament bye", "NUMBER"): ["p0", "ann", "7"],
    ("tournament bye", "--half"): [],
    ("tournament bye", "--note"): ["why"],
    ("tournament bye", "--revision"): ["7"],
    ("tournament bye", "--preview"): [],
    ("tournament pair-round", "TOURNAMENT_ID"): ["t7", "3"],
    ("tournament pair-round", "NUMBER"): ["p0", "7"],
    ("tournament pair-round", "--afresh"): [],
    ("tournament pair-round", "--note"): ["why"],
    ("tournament pair-round", "--revision"): ["7"],
    ("tournament pair-round", "--preview"): [],
    ("tournament hold", "TOURNAMENT_ID"): ["t7"],
    ("tournament hold", "--off"): [],
    ("tournament hold", "--note"): ["why"],
    ("tournament hold", "--revision"): ["7"],
    ("tournament hold", "--preview"): [],
    ("tournament forbid", "TOURNAMENT_ID"): ["t7", "ann", "ben"],
    ("tournament forbid", "FIRST"): ["p0", "eve", "ben"],
    ("tournament forbid", "SECOND"): ["p0", "ann", "eve"],
    ("tournament forbid", "--note"): ["why"],
    ("tournament forbid", "--revision"): ["7"],
    ("tournament forbid", "--preview"): [],
    ("tournament allow", "TOURNAMENT_ID"): ["t7", "ann", "ben"],
    ("tournament allow", "FIRST"): ["p0", "eve", "ben"],
    ("tournament allow", "SECOND"): ["p0", "ann", "eve"],
    ("tournament allow", "--note"): ["why"],
    ("tournament allow", "--revision"): ["7"],
    ("tournament allow", "--preview"): [],
    ("tournament rule", "TOURNAMENT_ID"): ["t7"],
    ("tournament rule", "GAME"): ["p0", "7"],
    ("tournament rule", "RESULT"): ["p0", "1", "void"],
    ("tournament rule", "--note"): ["why"],
    ("tournament rule", "--revision"): ["7"],
    ("tournament rule", "--preview"): [],
    ("tournament export", "TOURNAMENT_ID"): ["t7"],
    ("tournament show", "TOURNAMENT_ID"): ["t7"],
    ("tournament standings", "TOURNAMENT_ID"): ["t7"],
    ("tournament standings", "--category"): ["rust"],
    ("tournament series", "TOURNAMENT_ID"): ["t7"],
    ("tournament watch", "TOURNAMENT_ID"): ["t7"],
    ("tournament list", "--format"): ["swiss"],
    ("tournament list", "--creator"): ["ann"],
    ("tournament list", "--phase"): ["ended"],
    ("tournament list", "--most"): ["7"],
    ("leaderboard", "GAME"): ["pods"],
    ("leaderboard", "--all-versions"): [],
    ("leaderboard", "--most"): ["7"],
    ("match create", "--abandon-ms"): ["0"],
    ("rating", "PLAYER"): ["ben"],
    ("rating", "--game"): ["pods"],
    ("rating", "--points"): ["7"],
    ("compare", "PLAYER"): ["ben"],
    ("compare", "OTHER"): ["p0", "ben"],
    ("compare", "--game"): ["pods"],
    ("compare", "--elo0"): ["-3"],
    ("compare", "--elo1"): ["30"],
    ("compare", "--alpha"): ["0.01"],
    ("compare", "--beta"): ["0.01"],
    ("ratings export", "--game"): ["pods"],
    ("ratings export", "--label"): ["cup"],
    ("ratings arranged", "--game"): ["pods"],
    ("ratings rule", "DECISION"): ["rated"],
    ("ratings rule", "MATCH_IDS"): ["unrated", "m7"],
    ("ratings rule", "--player"): ["ben"],
    ("ratings rule", "--label"): ["cup"],
    ("ratings rule", "--game"): ["pods"],
    ("ratings rule", "--since"): ["2026-11-01T18:00:00Z"],
    ("ratings rule", "--until"): ["2026-11-01T18:00:00Z"],
    ("ratings rule", "--note"): ["why"],
    ("ratings rule", "--revision"): ["7"],
    ("ratings rule", "--preview"): [],
    ("ratings take-back", "RULING"): ["7"],
    ("ratings take-back", "--note"): ["why"],
    ("ratings take-back", "--revision"): ["7"],
    ("ratings take-back", "--preview"): [],
    ("player show", "NAME"): ["ben"],
    ("player suspend", "NAME"): ["ben"],
    ("player rename", "NEW_NAME"): ["ben"],
    **{(f"player {deed}", "--player"): ["ben"] for deed in ("rename", "retire", "hide", "delete")},
    ("player retire", "--back"): [],
    ("player hide", "--show-again"): [],
    ("player unsuspend", "NAME"): ["ben"],
    ("player register", "NAME"): ["ben"],
    ("player register", "--about"): ["a bot"],
    ("player register", "--invitation"): ["secret"],
    ("token create", "NAME"): ["ben"],
    ("token create", "--scope"): ["admin"],
    ("token create", "--note"): ["for the cup"],
    ("web-hook create", "TOURNAMENT_ID"): ["t7", "p1"],
    ("web-hook create", "URL"): ["p0", "https://example.net"],
    ("web-hook list", "TOURNAMENT_ID"): ["t7"],
    ("web-hook retry", "TOURNAMENT_ID"): ["t7", "p1"],
    ("web-hook retry", "WEB_HOOK_ID"): ["p0", "w7"],
    ("web-hook delete", "TOURNAMENT_ID"): ["t7", "p1"],
    ("web-hook delete", "WEB_HOOK_ID"): ["p0", "w7"],
    ("token list", "PLAYER"): ["ben"],
    ("token revoke", "TOKEN_ID"): ["t7"],
}
"""Options that a command passes to a call of a server, each with a value that is not its default."""


@cache
def without_options(command: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return what a command asks without an option, which is the same for each of its options."""
    return call_of([*command.split(), *required(command)])


@pytest.mark.parametrize(("command", "option"), ASKED)
def test_an_option_changes_what_a_server_is_asked(monkeypatch: pytest.MonkeyPatch, command: str, option: str) -> None:
    @contextmanager
    def connected(connection: Connection | None) -> Iterator[RecordingClient]:
        yield RecordingClient()

    monkeypatch.setattr(module_of(command), "connected", connected)
    for kind in ("match_id", "tournament_id"):
        monkeypatch.setattr(f"arbiter.cli.short_ids.{kind}", lambda client, given: given)
    value = ASKED[command, option]
    words, positional = command.split(), required(command)
    plain = without_options(command)
    changed = [*positional, option, *value]
    if option.isupper():
        changed = [*value, *positional[len(value) :]]
        assert sum(one != other for one, other in zip_longest(positional, changed)) == 1, "it shows this one's effect"
    other = call_of([*words, *changed])
    assert plain != other
