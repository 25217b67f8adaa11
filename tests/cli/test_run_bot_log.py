"""What bots write is kept with its match, up to a limit, and only its author may read it."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from arbiter.cli.tournament_run import run_processes
from arbiter.cli.tournament_run.bot_log import HOLD_MS, LONGEST_LINE, BotLog
from arbiter.cli.tournament_run.folder import Folder
from arbiter.cli.tournament_run.run_processes import Processes
from tests.test_plain_text import HOSTILE


@pytest.fixture
def bot_log(tmp_path: Path) -> BotLog:
    return BotLog(tmp_path / "bots" / "ann")


def kept(bot_log: BotLog, match_id: str) -> str:
    file = bot_log.file(match_id)
    return file.read_text() if file.exists() else ""


def test_a_bot_with_one_game_at_a_time_has_every_line_in_its_match(bot_log: BotLog) -> None:
    bot_log.wrote(b"ready\nha", 5)
    bot_log.wrote(b"lf\n", 9)
    bot_log.wrote(b"first\n", 10)
    bot_log.wrote(b"won\n", 25)
    bot_log.wrote(b"second\n", 30)
    # The record arrives after the lines were read.
    bot_log.begun("m1", 10)
    bot_log.ended("m1", 20)
    bot_log.begun("m2", 30)
    bot_log.keep(40)
    assert kept(bot_log, "start") == "ready\nhalf\n"
    assert kept(bot_log, "m1") == "first\nwon\n", (
        "lines after the end of a match belong to it until the next one begins"
    )
    assert kept(bot_log, "m2") == "second\n"


def test_lines_wait_until_the_record_can_have_arrived(bot_log: BotLog) -> None:
    bot_log.wrote(b"a\n", 10)
    bot_log.wrote(b"b\n", 20)
    bot_log.keep(15)
    assert kept(bot_log, "start") == "a\n"
    bot_log.begun("m1", 18)
    bot_log.keep(20)
    assert kept(bot_log, "m1") == "b\n"


def test_what_a_bot_writes_does_nothing_to_the_terminal_of_its_reader(bot_log: BotLog) -> None:
    bot_log.begun("m1", 10)
    bot_log.wrote(f"{HOSTILE}\n\x1b[2Jża\tb\r\n".encode("utf-8", "surrogatepass") + b"\xff\x9b\n", 15)
    bot_log.keep(20)
    text = kept(bot_log, "m1")
    assert all(line.replace("\t", "").isprintable() for line in text.splitlines())
    assert text.endswith("\\x1b[2Jża\tb\n\\xff\\x9b\n")


def test_the_way_a_bot_ended_is_kept_with_its_running_match(bot_log: BotLog) -> None:
    bot_log.begun("m1", 10)
    bot_log.ended("m1", 20)
    bot_log.wrote(b"oh", 31)
    bot_log.died("the bot ended by itself (signal SIGKILL)", 31)
    bot_log.begun("m2", 30)  # the record arrives later
    bot_log.keep(40)
    assert kept(bot_log, "m1") == ""
    assert kept(bot_log, "m2") == "oh\n[arbiter] the bot ended by itself (signal SIGKILL)\n"


def test_with_several_matches_a_line_goes_to_those_that_it_names_or_to_all(bot_log: BotLog) -> None:
    bot_log.begun("m1", 10)
    bot_log.begun("m2", 10)
    bot_log.wrote(b"m2: better\nboth\n", 15)
    bot_log.ended("m1", 20)
    bot_log.wrote(b"m1 is over\n", 25)
    bot_log.keep(30)
    assert kept(bot_log, "m1") == "both\nm1 is over\n"
    assert kept(bot_log, "m2") == "m2: better\nboth\n"


def test_a_match_that_ended_long_ago_is_forgotten_except_the_last(bot_log: BotLog) -> None:
    for number in range(5):
        bot_log.begun(f"m{number}", 10 * number)
        bot_log.ended(f"m{number}", 10 * number + 5)
        bot_log.keep(10 * number + 8)
    bot_log.wrote(b"late\n", 60)
    bot_log.keep(70)
    assert kept(bot_log, "m4") == "late\n"
    assert bot_log.matches_of(b"", 12) == ["start"]


def test_what_a_match_keeps_is_limited_except_for_the_last_lines_before_a_crash(tmp_path: Path) -> None:
    bot_log = BotLog(tmp_path, cap_bytes=1_000)
    bot_log.begun("m1", 1)
    for number in range(200):
        bot_log.wrote(f"line {number}\n".encode(), 2)
    bot_log.keep(3)
    assert "line 90\n" in kept(bot_log, "m1")
    assert "line 199\n" not in kept(bot_log, "m1")
    bot_log.wrote(b"Traceback", 4)
    bot_log.died("the bot ended by itself (exit code 1)", 5)
    bot_log.keep(5)
    assert kept(bot_log, "m1").endswith("line 199\nTraceback\n[arbiter] the bot ended by itself (exit code 1)\n")
    for _ in range(1_000):
        bot_log.died("the bot ended by itself (exit code 1)", 6)
        bot_log.keep(6)
    assert bot_log.file("m1").stat().st_size < 2_200, "also if it crashes again and again"


def test_a_bot_that_writes_without_end_keeps_first_and_last_lines_and_takes_little_memory(tmp_path: Path) -> None:
    bot_log = BotLog(tmp_path, cap_bytes=100)
    for number in range(1_000):
        bot_log.wrote(b"line %03d\n" % number, 1)
    bot_log.close(2)
    first = "".join(f"line {number:03}\n" for number in range(11))
    assert kept(bot_log, "start") == f"{first}[arbiter] 8892 bytes are left out here\nline 999\n"


def test_each_match_of_a_loud_bot_has_its_first_and_last_lines(tmp_path: Path) -> None:
    """It writes 100 KB a move, in matches of half a second: more than may wait until their ends are known."""
    bot_log = BotLog(tmp_path)
    for number in range(10):
        began, match_id = 500 * number, f"m{number}"
        for move in range(10):
            at_ms = began + 50 * move
            bot_log.wrote(f"{match_id} move {move} begins\n".encode() + b"x" * 100_000 + b"\nmove ends\n", at_ms)
        bot_log.begun(match_id, began)
        bot_log.ended(match_id, began + 499)
        bot_log.keep(began - HOLD_MS)
    bot_log.close(5_000)
    for number in range(10):
        text = kept(bot_log, f"m{number}")
        assert text.startswith(f"m{number} move 0 begins\n")
        assert text.endswith("move ends\n")
        assert "bytes are left out here\n" in text
        assert 60_000 < len(text) < 80_000


def test_a_line_that_does_not_end_is_cut(bot_log: BotLog) -> None:
    bot_log.wrote(b"x" * (2 * LONGEST_LINE + 3), 1)
    bot_log.wrote(b"\n", 2)
    bot_log.wrote(b"rest", 3)
    bot_log.close(3)
    assert [len(line) for line in kept(bot_log, "start").splitlines()] == [LONGEST_LINE, LONGEST_LINE, 3, 4]


def test_only_the_owner_can_read_it(bot_log: BotLog, tmp_path: Path) -> None:
    bot_log.wrote(b"secret\n", 1)
    bot_log.keep(2)
    assert stat.S_IMODE(bot_log.file("start").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "bots" / "ann").stat().st_mode) == 0o700


def test_matches_are_in_folders_by_the_day_on_which_they_began(bot_log: BotLog) -> None:
    """A ladder of a year is a hundred thousand files: nobody can look at a folder of all of them."""
    days = (1_700_000_000_000, 1_700_100_000_000)
    for number, at_ms in enumerate(days):
        bot_log.begun(f"m{number}", at_ms)
        bot_log.wrote(b"hello\n", at_ms)
        bot_log.ended(f"m{number}", at_ms + 5)
        bot_log.keep(at_ms + 10)
    folder = bot_log.file("start").parent
    found = sorted(str(file.relative_to(folder)) for file in folder.rglob("*.log"))
    assert found == ["2023-11-14/m0.log", "2023-11-16/m1.log"]
    assert bot_log.file("m0") == folder / "2023-11-14" / "m0.log", "also once it is forgotten"
    assert stat.S_IMODE((folder / "2023-11-14").stat().st_mode) == 0o700


async def test_output_is_removed_after_so_many_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day_ms = 86_400_000
    monkeypatch.setattr(run_processes, "HOLD_MS", 0)
    monkeypatch.setattr(run_processes, "now_ms", lambda: 20 * day_ms)
    folder = Folder(tmp_path, "plan.toml")
    run = Processes(folder, 0, 0, {}, dict.fromkeys(("ann", "ben")), None, print)  # type: ignore[arg-type]
    for days, left in ((0, {0, 15, 17, 18, 20}), (2, {18, 20})):
        for bot_log in run.bot_logs.values():
            for day in (0, 15, 17, 18, 20):
                bot_log.begun(f"m{day}", day * day_ms)
                bot_log.ended(f"m{day}", day * day_ms + 2)
                bot_log.wrote(f"line {day}\n".encode(), day * day_ms + 1)
            bot_log.close(21 * day_ms)
        writing = asyncio.create_task(run.write_bot_logs(days))
        kept_days = {f"1970-01-{1 + day:02}" for day in left}
        while any({each.name for each in folder.notes(name).iterdir()} != kept_days for name in run.bot_logs):  # noqa: ASYNC110
            await asyncio.sleep(0)
        writing.cancel()
    run._engines.close()
