"""What bots write is kept with the match that it belongs to, capped, and for its author alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from arbiter.cli.tournament_run.notebook import LONGEST_LINE, BotLog


@pytest.fixture
def notebook(tmp_path: Path) -> BotLog:
    return BotLog(tmp_path / "bots" / "ann")


def kept(notebook: BotLog, match_id: str) -> str:
    file = notebook.file(match_id)
    return file.read_text() if file.exists() else ""


def test_for_a_bot_with_one_game_at_a_time_every_line_has_its_match(notebook: BotLog) -> None:
    notebook.wrote(b"ready\nha", 5)
    notebook.wrote(b"lf\n", 9)
    notebook.wrote(b"first\n", 10)
    notebook.wrote(b"won\n", 25)
    notebook.wrote(b"second\n", 30)
    # The record is heard of after the lines were read.
    notebook.begun("m1", 10)
    notebook.ended("m1", 20)
    notebook.begun("m2", 30)
    notebook.keep(40)
    assert kept(notebook, "start") == "ready\nhalf\n"
    assert kept(notebook, "m1") == "first\nwon\n", "after its end a match has the lines until the next one begins"
    assert kept(notebook, "m2") == "second\n"


def test_lines_wait_until_the_record_can_have_been_heard_of(notebook: BotLog) -> None:
    notebook.wrote(b"a\n", 10)
    notebook.wrote(b"b\n", 20)
    notebook.keep(15)
    assert kept(notebook, "start") == "a\n"
    notebook.begun("m1", 18)
    notebook.keep(20)
    assert kept(notebook, "m1") == "b\n"


def test_how_a_bot_ended_stands_with_the_match_that_was_under_way(notebook: BotLog) -> None:
    notebook.begun("m1", 10)
    notebook.ended("m1", 20)
    notebook.wrote(b"oh", 31)
    notebook.died("the bot ended by itself (signal SIGKILL)", 31)
    notebook.begun("m2", 30)  # the record is heard of later
    notebook.keep(40)
    assert kept(notebook, "m1") == ""
    assert kept(notebook, "m2") == "oh\n[arbiter] the bot ended by itself (signal SIGKILL)\n"


def test_of_several_matches_a_line_has_those_that_it_names_or_else_all(notebook: BotLog) -> None:
    notebook.begun("m1", 10)
    notebook.begun("m2", 10)
    notebook.wrote(b"m2: better\nboth\n", 15)
    notebook.ended("m1", 20)
    notebook.wrote(b"m1 is over\n", 25)
    notebook.keep(30)
    assert kept(notebook, "m1") == "both\n"
    assert kept(notebook, "m2") == "m2: better\nboth\nm1 is over\n"


def test_a_match_that_ended_long_ago_is_forgotten_but_for_the_last(notebook: BotLog) -> None:
    for number in range(5):
        notebook.begun(f"m{number}", 10 * number)
        notebook.ended(f"m{number}", 10 * number + 5)
        notebook.keep(10 * number + 8)
    notebook.wrote(b"late\n", 60)
    notebook.keep(70)
    assert kept(notebook, "m4") == "late\n"
    assert notebook.matches_of(b"", 12) == ["start"]


def test_what_is_kept_of_a_match_is_capped_but_for_the_last_words_of_a_crash(tmp_path: Path) -> None:
    notebook = BotLog(tmp_path, cap_bytes=1_000)
    notebook.begun("m1", 1)
    for number in range(200):
        notebook.wrote(f"line {number}\n".encode(), 2)
    notebook.keep(3)
    assert "line 90\n" in kept(notebook, "m1")
    assert "line 199\n" not in kept(notebook, "m1")
    notebook.wrote(b"Traceback", 4)
    notebook.died("the bot ended by itself (exit code 1)", 5)
    notebook.keep(5)
    assert kept(notebook, "m1").endswith("line 199\nTraceback\n[arbiter] the bot ended by itself (exit code 1)\n")
    for _ in range(1_000):
        notebook.died("the bot ended by itself (exit code 1)", 6)
        notebook.keep(6)
    assert notebook.file("m1").stat().st_size < 2_200, "also if it dies for ever"


def test_a_bot_that_writes_without_end_takes_no_more_memory_than_a_few_times_the_cap(tmp_path: Path) -> None:
    notebook = BotLog(tmp_path, cap_bytes=100)
    for number in range(1_000):
        notebook.wrote(b"line %03d\n" % number, 1)
    notebook.keep(2)
    assert kept(notebook, "start").startswith("line 956\n"), "what was written last"


def test_a_line_without_end_is_cut(notebook: BotLog) -> None:
    notebook.wrote(b"x" * (2 * LONGEST_LINE + 3), 1)
    notebook.wrote(b"\n", 2)
    notebook.wrote(b"rest", 3)
    notebook.close(3)
    assert [len(line) for line in kept(notebook, "start").splitlines()] == [LONGEST_LINE, LONGEST_LINE, 3, 4]


def test_only_the_owner_can_read_it(notebook: BotLog, tmp_path: Path) -> None:
    notebook.wrote(b"secret\n", 1)
    notebook.keep(2)
    assert stat.S_IMODE(notebook.file("start").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "bots" / "ann").stat().st_mode) == 0o700
