"""Commands about games, rules and drawings, which need no server."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from arbiter.drawing.text_drawing import draw
from arbiter.games import registry, rule_sheet
from tests.cli.command import Arbiter
from tests.plugins.installed import installed


@pytest.mark.long
def test_games_are_lines_with_tabs(arbiter: Arbiter) -> None:
    lines = arbiter("games").out.splitlines()
    assert lines[0].split("\t") == ["game", "name", "designer", "parameters"]
    assert [line.split("\t")[0] for line in lines[1:]] == list(registry.classes())


@pytest.mark.long
def test_a_game_that_can_not_be_loaded_is_named_with_the_reason(arbiter: Arbiter, tmp_path: Path) -> None:
    with installed(tmp_path, ("dying", "raising", "heap")):
        ran = arbiter("games")
        table = arbiter("games", "--csv")
    assert [line.split("\t")[0] for line in ran.out.splitlines()[1:]][-1] != "dying"
    assert "\nheap\tHeap\t" in ran.out
    assert "the rules of dying can't be used here: their process ended during the call\n" in ran.out
    assert "the rules of raising can't be used here: RuntimeError: this package is broken\n" in ran.out
    assert "can't be used" not in table.out


@pytest.mark.parametrize("name", registry.classes())
def test_a_game_shows_its_parameters_ends_and_rulings(arbiter: Arbiter, name: str) -> None:
    facts = registry.game(name).facts
    out = arbiter("games", name).out
    for parameter in facts.parameters:
        assert f"  {parameter.name}=" in out
        assert parameter.allowed in out
    for reason in facts.reasons:
        assert f"  {reason.name}: {reason.text}{'  [ours]' if reason.basis == 'ours' else ''}\n" in out
    for ruling in facts.rulings:
        assert f"  {ruling.topic}: " in out


@pytest.mark.parametrize("command", ["games", "show", "rules", "play"])
def test_an_unknown_game_is_one_line(arbiter: Arbiter, command: str) -> None:
    ran = arbiter(command, "pod")
    assert ran.code == 1
    assert ran.complaint.startswith("there is no game 'pod': the games are circle-of-life, ")


def test_a_wrong_parameter_is_one_line(arbiter: Arbiter) -> None:
    assert "a number from 3 to 10" in arbiter("show", "pods(size=50)").complaint


def test_show_draws_the_initial_position(arbiter: Arbiter) -> None:
    game = registry.game("hop-it")
    assert arbiter("show", "hop-it").out == draw(game, game.initial())


def test_show_plays_moves_and_marks_the_last(arbiter: Arbiter) -> None:
    ran = arbiter("show", "circle-of-life", "--moves", "e5", "a1")
    assert "[s1]" in ran.out
    assert "[S1]" not in ran.out
    assert arbiter("show", "circle-of-life", "-m", "e5", "-m", "a1") == ran


def test_show_takes_a_position(arbiter: Arbiter) -> None:
    text = "...../....../......./......../....S..../......../......./....../s.... 1 0 0"
    game = registry.game("circle-of-life")
    assert arbiter("show", "circle-of-life", text).out == draw(game, game.parse(text))


def test_show_refuses_an_illegal_move(arbiter: Arbiter) -> None:
    ran = arbiter("show", "circle-of-life", "--moves", "e5", "e5")
    assert ran.code == 1
    assert ran.complaint.startswith("move 2 of the line: 'e5' is not legal here")


def test_show_writes_svg(arbiter: Arbiter, tmp_path: Path) -> None:
    file = tmp_path / "board.svg"
    assert arbiter("show", "pods", "--output", str(file)).out == ""
    assert ElementTree.fromstring(file.read_text()).tag == "{http://www.w3.org/2000/svg}svg"
    assert arbiter("show", "pods", "--svg").out == file.read_text()


def test_show_draws_letters_on_request(arbiter: Arbiter) -> None:
    shapes, letters = (
        ElementTree.fromstring(arbiter("show", "pondlife", "--svg", *how).out) for how in ((), ("--letters",))
    )
    written = [
        [text.text for text in root.iter() if "letter" in text.attrib.get("class", "")] for root in (shapes, letters)
    ]
    assert written[0] == []
    assert sorted(set(written[1]), key=str) == ["N", "T", "n", "t"]


@pytest.mark.parametrize(
    "arguments", [("--output", "board.png"), ("-o", "board.txt", "--svg"), ("-o", "board.PDF", "--svg")]
)
def test_show_writes_no_text_drawing_into_a_file_of_another_type(
    arbiter: Arbiter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = arbiter("show", "pods", *arguments)
    assert (ran.code, "drawings are SVG (.svg) or text (.txt)" in ran.complaint) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_show_names_a_path_that_it_can_not_write(arbiter: Arbiter, tmp_path: Path) -> None:
    ran = arbiter("show", "pods", "--output", str(tmp_path / "none" / "board.svg"))
    assert (ran.code, ran.complaint.startswith("can't write ")) == (1, True)


@pytest.mark.long
@pytest.mark.parametrize("name", registry.classes())
def test_the_rules_are_shown_with_moves_and_positions(
    arbiter: Arbiter, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_sheet, "examples", cache(rule_sheet.examples))  # the command finds them, which takes long
    game = registry.game(name)
    out = arbiter("rules", "show", name).out
    assert out.startswith(registry.rules_text(game).rstrip())
    assert f"    {game.text(game.initial())}\n" in out
    shown = rule_sheet.examples(game)
    assert shown
    for example in shown:
        assert f"- `{example.move}` {example.words}\n" in out


@pytest.mark.long
def test_examples_of_moves_have_every_kind() -> None:
    words = [example.words for example in rule_sheet.examples(registry.game("pondlife"))]
    assert [each.split(", then ")[1:] for each in words[:3]] == [[], ["pays an egg"], ["hatches a frog on e1"]]
    words = [example.words for example in rule_sheet.examples(registry.game("hop-it"))]
    assert any(each.startswith("hops from ") for each in words)
    assert any("takes pieces of" in each for each in words)
    assert any("makes another piece of one" in each for each in words)


@pytest.mark.long
def test_the_console_answers_each_line_before_it_reads_the_next() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "arbiter", "rules", "pods(size=3)"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        for asked, answer in (
            (b"new", b".../..../...../..../... 1 0"),
            (b"perft 1", b"18"),
            (b"\xff", b"error: ARGUMENT_INVALID "),
            (b"play a1", b".../..../...../..../P.. 2 1"),
            (b"outcome", b"none"),
        ):
            process.stdin.write(asked + b"\n")
            process.stdin.flush()
            assert process.stdout.readline().startswith(answer)
        process.stdin.close()
        assert process.wait() == 0
