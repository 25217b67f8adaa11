"""`arbiter rules serve`: an arbiter for the program that starts it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import arbiter_client as arb
import pytest

from tests.processes import WAIT_S

pytestmark = pytest.mark.long
SEATS: Final = ("seat-1", "seat-2")


class Rules:
    """The process, and what it said about itself."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "arbiter", "rules", "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"TMPDIR": str(folder), **environment},
        )
        assert self.process.stdout is not None
        [(self.server, self.tokens)] = json.loads(self.process.stdout.readline()).items()

    def client(self, player: str) -> arb.BlockingClient:
        return arb.BlockingClient(self.server, token=self.tokens[player], tls=arb.NO_TLS, patience_s=WAIT_S)

    def end(self) -> tuple[int, str]:
        """Close its input; return its exit code and what it said on standard error."""
        _, wrong = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, wrong.decode()


@pytest.fixture
def rules(tmp_path: Path) -> Iterator[Rules]:
    running = Rules(tmp_path)
    yield running
    running.process.kill()
    running.process.communicate()


def test_it_has_matches_of_two_players_until_its_input_ends(rules: Rules, tmp_path: Path) -> None:
    assert rules.process.stdin is not None
    rules.process.stdin.write(b"what is not asked here is not read \xff\n")
    rules.process.stdin.flush()
    with rules.client("admin") as organiser:
        with pytest.raises(arb.ArbiterError) as refused:
            organiser.create_match("ludo", SEATS)
        assert refused.value.reason == arb.Reason.GAME_UNKNOWN
        made = organiser.create_match("pods", SEATS, time_control="none")
    for seat in SEATS:
        with rules.client(seat) as player:
            assert player.myself().player.name == seat
            assert made.match_id in [match.match_id for match in player.list_matches()]
    assert list(tmp_path.iterdir())
    assert rules.end() == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_settings_of_servers_in_the_environment_are_not_for_it(tmp_path: Path) -> None:
    rules = Rules(
        tmp_path, ARBITER_TLS_CERTIFICATE="/no/certificate", ARBITER_TLS_KEY="/no/key", ARBITER_LIMITS="no section"
    )
    with rules.client("admin") as organiser:
        assert organiser.create_match("pods", SEATS, time_control="none").match_id
    assert rules.end() == (0, "")


class Curious(arb.Bot):
    """Wants long lists of moves, and asks the server as fast as it can."""

    extras = arb.Extras(legal_moves_up_to=10_000)

    def __init__(self) -> None:
        self.listed = list[int]()

    async def choose(self, turn: arb.Turn) -> arb.Choice:
        self.listed.append(len(turn.legal_moves))
        await asyncio.gather(*(self.client.play_moves(turn.line) for _ in range(200)))
        return arb.Resign()


async def test_its_bots_get_every_list_and_may_ask_as_much_as_they_like(rules: Rules) -> None:
    with rules.client("admin") as organiser:
        match = organiser.create_match("amazons", SEATS, time_control="1m").match_id
        bots = Curious(), Curious()
        runs = [(bot, rules.tokens[seat]) for bot, seat in zip(bots, SEATS, strict=True)]
        await asyncio.gather(
            *(
                arb.play(bot, rules.server, token=token, tls=arb.NO_TLS, matches=1, on_error="raise")
                for bot, token in runs
            )
        )
        ended = organiser.get_match(match).result
    assert ended is not None
    assert ended.reason == "resignation"
    assert bots[0].listed == [2_176]
