"""Names of variants: which game each name builds, and with what reason a wrong name is refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from importlib import resources
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.circle_of_life import CircleOfLife
from arbiter.games.contract import Game, Value, decimal_parameter, number_parameter
from arbiter.testing import laws
from tests.documents import ROOT, block, install
from tests.plugins.installed import forget_packages
from tests.refusals import refusing


def test_the_bundled_games_come_first_in_their_order() -> None:
    assert list(registry.classes())[:5] == ["circle-of-life", "elevation", "hop-it", "pods", "pondlife"]


@pytest.mark.parametrize("name", registry.classes())
def test_a_class_knows_the_id_that_it_is_registered_under(name: str) -> None:
    facts = registry.classes()[name].facts
    assert facts.id == name
    assert facts.seats[0] != facts.seats[1]
    assert facts.summary.isprintable()


@pytest.mark.parametrize("name", registry.BUNDLED)
def test_the_rules_text_comes_with_the_package(name: str) -> None:
    text = resources.files("arbiter.games").joinpath(f"texts/{name}.md").read_text("utf-8")
    assert text.startswith(f"# {name}\n")


def test_the_page_of_games_names_each() -> None:
    page = (ROOT / "deploy" / "GAMES.md").read_text("utf-8").partition("\n## ")[0]
    rows = re.findall("^[|] (`.*?) [|]", page, re.MULTILINE)
    assert re.findall("`([^`]+)`", " ".join(rows)) == list(registry.BUNDLED)


@pytest.mark.parametrize("name", registry.BUNDLED)
def test_the_rules_name_the_aliases(name: str) -> None:
    """Those that differ from the move by more than the case; Chess960 has those of chess."""
    text = registry.rules_text(registry.game("chess" if name == "chess960" else name))
    aliases = registry.game(name).facts.aliases
    assert [alias for alias, move in aliases if alias.lower() != move and f"`{alias}`" not in text] == []


@pytest.fixture
def fresh() -> Iterator[None]:
    """Give a test an empty registry, and restore it afterwards."""
    forget_packages()
    yield
    forget_packages()


@pytest.mark.usefixtures("fresh")
def test_a_package_can_add_a_game_and_replace_none(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = [EntryPoint(name, "arbiter.games.pods:Pods", registry.GROUP) for name in ("zebra", "hop-it", "ants")]
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda *, group: installed if group == registry.GROUP else []
    )
    assert list(registry.classes()) == [*registry.BUNDLED, "ants", "zebra"]
    assert registry.game("zebra(size=4)").values == {"size": 4}
    assert registry.game("hop-it").facts.id == "hop-it"


class WithKomi(CircleOfLife):
    facts = replace(
        CircleOfLife.facts,
        id="go_like",
        parameters=(
            number_parameter("board_size", 9, 2, 19, "cells on a side"),
            decimal_parameter("komi", "7.5", "-20", "20", "points for White"),
        ),
    )

    def __init__(self, **values: Value) -> None:
        Game.__init__(self, **values)


@pytest.mark.usefixtures("fresh")
def test_names_have_underscores_and_values_are_decimals(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = [EntryPoint("go_like", f"{__name__}:WithKomi", registry.GROUP)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: installed)
    game = registry.game("go_like(komi=-0.5,board_size=13)")
    assert game.values == {"board_size": 13, "komi": Decimal("-0.5")}
    assert game.variant == "go_like(board_size=13,komi=-0.5)"
    assert registry.game("go_like(komi=7.5)").variant == "go_like"
    laws.names_and_parameters_read_back(game, lambda most: 0)
    with pytest.raises(Refusal, match=r"'7\.50' is not allowed in go_like"):
        registry.game("go_like(komi=7.50)")


@pytest.mark.usefixtures("fresh")
def test_a_name_that_two_packages_add_is_neither_and_one_that_nobody_can_write_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = {"ants": ("arbiter.games.pods:Pods", "tests.web.plug_in:Row"), "Go 2": ("tests.web.plug_in:Row",)}
    added = [EntryPoint(name, place, registry.GROUP) for name, each in places.items() for place in each]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: added)
    assert registry.faults() == {
        "Go 2": "the rules of Go 2 can't be used here: "
        "the name of a game has letters from a to z, digits, _ and - alone",
        "ants": "the rules of ants can't be used here: the packages arbiter and tests add games of the same name",
    }
    added[:] = [EntryPoint("chess", "tests.web.plug_in:Row", registry.GROUP)]
    forget_packages()
    assert registry.shadowed() == {"chess": "tests"}


MY_GAME = """
from dataclasses import replace
from arbiter.games.pods import Pods

class MyGame(Pods):
    facts = replace(Pods.facts, id="my-game", name="My Game")
"""


@pytest.mark.long
def test_a_package_adds_a_game_as_the_guide_says(tmp_path: Path) -> None:
    modules = {
        "my_package/__init__.py": "",
        "my_package/my_game.py": MY_GAME,
        "my_package/texts/my-game.md": "# my-game\n\nIt is played like Pods.\n",
    }
    install(tmp_path, block("deploy/ADDING.md", "arbiter.games"), modules.items())
    asked = [sys.executable, "-m", "arbiter", "rules", "show", "my-game"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    ran = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "It is played like Pods." in ran.stdout


@pytest.mark.usefixtures("fresh")
def test_a_game_may_be_one_module_in_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "my-game.md").write_text("It is played like Pods.")
    (tmp_path / "lone_game.py").write_text(MY_GAME)
    monkeypatch.syspath_prepend(tmp_path)
    added = [EntryPoint("my-game", "lone_game:MyGame", registry.GROUP)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: added)
    assert registry.rules_text(registry.game("my-game")) == "It is played like Pods."
    before = registry.code("my-game")
    assert (before.package, before.version) == ("lone_game", "unknown")
    (tmp_path / "another.py").write_text("")
    registry.code.cache_clear()
    assert registry.code("my-game") == before
    (tmp_path / "lone_game.py").write_text(MY_GAME + "\n")
    registry.code.cache_clear()
    assert registry.code("my-game").sha256 != before.sha256
    registry.code.cache_clear()


@pytest.mark.parametrize(
    ("said", "canonical"),
    [
        ("pods", "pods"),
        ("pods(size=7)", "pods"),
        ("pods(size=5)", "pods(size=5)"),
        ("pods()", "pods"),
        ("pondlife(handicap=2,eel=true)", "pondlife(eel=true,handicap=2)"),
        ("pondlife(eel=false)", "pondlife"),
        ("hop-it(start=frogs,duty=none)", "hop-it(duty=none,start=frogs)"),
        ("elevation(start=SSDDFF)", "elevation(start=SSDDFF)"),
    ],
)
def test_names_become_canonical(said: str, canonical: str) -> None:
    assert registry.game(said).variant == canonical


def test_the_same_name_gives_the_same_game() -> None:
    assert registry.game("pods(size=4)") is registry.game("pods(size=4)")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("ludo", Reason.GAME_UNKNOWN),
        ("", Reason.GAME_UNKNOWN),
        ("Pods", Reason.GAME_UNKNOWN),
        ("pods ", Reason.GAME_UNKNOWN),
        ("pods\n", Reason.GAME_UNKNOWN),
        ("pods(size=5", Reason.GAME_UNKNOWN),
        ("p" * 1_000_000, Reason.GAME_UNKNOWN),
        ("pods(size=2)", Reason.PARAMETER_INVALID),
        ("pods(size=11)", Reason.PARAMETER_INVALID),
        ("pods(size=05)", Reason.PARAMETER_INVALID),
        ("pods(size=)", Reason.PARAMETER_INVALID),
        ("pods(size)", Reason.PARAMETER_INVALID),
        ("pods(,)", Reason.PARAMETER_INVALID),
        ("pods(size=5,size=5)", Reason.PARAMETER_INVALID),
        ("pods(shape=5)", Reason.PARAMETER_INVALID),
        ("circle-of-life(target=0)", Reason.PARAMETER_INVALID),
        ("circle-of-life(target=61)", Reason.PARAMETER_INVALID),
        ("elevation(tiles=21)", Reason.PARAMETER_INVALID),
        ("elevation(start=FFDDS)", Reason.PARAMETER_INVALID),
        ("elevation(start=FFFDSS)", Reason.PARAMETER_INVALID),
        ("hop-it(duty=all)", Reason.PARAMETER_INVALID),
        ("pondlife(eel=True)", Reason.PARAMETER_INVALID),
        ("pondlife(lines=4)", Reason.PARAMETER_INVALID),
        ("pondlife(handicap=10)", Reason.PARAMETER_INVALID),
        ("pondlife(without=WF)", Reason.PARAMETER_INVALID),
        ("pondlife(without=E)", Reason.PARAMETER_INVALID),
    ],
)
def test_bad_names_are_refused(said: str, reason: Reason) -> None:
    with refusing(reason) as caught:
        registry.game(said)
    assert len(caught.value.message) < 500
    assert "allowed" in caught.value.facts
