"""Web hooks by the commands of the page, on a server that is killed while a receiver has not answered."""

from __future__ import annotations

import base64
import hashlib
import hmac
import shlex
import signal
import threading
from pathlib import Path

import pytest

from tests.cli.command import WAIT_S, Arbiter, Server
from tests.cli.conftest import arbiter as arbiter
from tests.documents import block, commands
from tests.web_hook_receiver import Delivery, receiver

pytestmark = pytest.mark.long

CUP = 'name = "Cup"\nformat = "round_robin"\ngames = ["pods"]\ntime = "1m"\npaired = false\n'
PLAYERS = ("walter", "wanda", "wendy")
SETTINGS = '[web_hooks]\ntimeout_ms = 3000\npause_ms = 1\nnetworks = ["127.0.0.1"]\n'


def test_deliveries_go_on_after_kill_9_at_least_once_and_in_order(
    tmp_path: Path, arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived, gone = threading.Event(), threading.Event()

    def hold(_: Delivery) -> int:
        """Accept the first delivery; keep the second one waiting until its server is gone."""
        if not to.came:
            return 200
        arrived.set()
        gone.wait()
        return 0

    cup, settings = tmp_path / "cup.toml", tmp_path / "arbiter.toml"
    cup.write_text(CUP)
    settings.write_text(SETTINGS)
    with receiver() as to:
        to.answer = hold
        first = Server(tmp_path, "--config", str(settings))
        monkeypatch.setenv("ARBITER_CREDENTIALS", str(tmp_path / "credentials.json"))
        monkeypatch.setenv("ARBITER_SERVER", first.address)
        for name in PLAYERS:
            arbiter("token", "create", name, "--save")
        where = arbiter("tournament", "create", str(cup)).out.strip()
        lines = [shlex.split(line) for line in commands(block("deploy/WEBHOOKS.md", "web-hook create"))]
        words = {"TOURNAMENT": "last", "https://example.org/hook": to.url}
        create, listed, retry, delete = ([words.get(word, word) for word in line[1:]] for line in lines)
        secret = arbiter(*create).out.strip()
        arbiter("tournament", "enter", where, *PLAYERS)
        arbiter("tournament", "start", where)
        assert arrived.wait(WAIT_S)
        first.stop(signal.SIGKILL)
        to.answer = lambda _: 200
        gone.set()

        port = int(first.address.rpartition(":")[2])
        second = Server(tmp_path, "--config", str(settings), port=port)
        try:
            arbiter("tournament", "cancel", where, "--note", "rain")
            to.wait(lambda to: to.accepted[-1].type == "tournament.ended")
            ran = arbiter(*listed)
            rows = [row.split("\t") for row in ran.out.splitlines()]
            assert rows, ran.err
            assert rows[0] == ["web hook", "address", "revision", "state", "last error"]
            assert rows[1][1] == to.url
            hook = rows[1][0]
            assert arbiter(*[hook if word == "WEBHOOK" else word for word in retry]).code == 0
            assert arbiter(*[hook if word == "WEBHOOK" else word for word in delete]).code == 0
            assert len(arbiter(*listed).out.splitlines()) == 1
        finally:
            assert second.stop() == 0
    once = {each.id: each for each in to.accepted}
    assert [each.type for each in once.values()] == ["tournament.paired"] * 3 + ["tournament.ended"]
    assert [each.data["record"]["round"] for each in once.values() if "round" in each.data["record"]] == [1, 2, 3]
    last = to.accepted[-1]
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{last.id}.{last.headers['webhook-timestamp']}.".encode() + last.body
    made = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert last.headers["webhook-signature"] == f"v1,{made}"
