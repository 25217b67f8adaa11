"""Logs hold errors, and no secrets."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from contextlib import suppress

import pytest
import structlog

from arbiter.cli.logs import configure
from tests.test_plain_text import HOSTILE


def test_an_exception_is_logged_without_the_values_of_variables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(token: str) -> None:
        raise ValueError(f"a token of {len(token)} letters")

    configured = structlog.get_config()
    configure("error")
    try:
        fail("geheim")
    except ValueError:
        structlog.get_logger("arbiter").exception("failed")
    finally:
        structlog.configure(**configured)
    said = capsys.readouterr().err
    assert json.loads(said)["exception"][0]["exc_value"] == "a token of 6 letters"
    assert "geheim" not in said


def test_a_closed_pipe_of_the_log_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.pipe()
    with os.fdopen(theirs, "w", buffering=1) as broken, monkeypatch.context() as patch:
        os.close(ours)
        patch.setattr(sys, "stderr", broken)
        configure("error")
        log = structlog.get_logger("arbiter")
        log.error("nobody_reads_this")
        with suppress(OSError):
            broken.close()
        log.error("nor_this")
        logging.getLogger("grpc").error("nor this")


def test_a_log_on_a_terminal_shows_no_text_that_is_not_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    configured = structlog.get_config()
    configure("error")
    try:
        structlog.get_logger("arbiter").error("failed", why=HOSTILE)
        logging.getLogger("library").error("failed: %s", HOSTILE)
        try:
            raise ValueError(HOSTILE)
        except ValueError:
            structlog.get_logger("arbiter").exception("failed")
    finally:
        structlog.configure(**configured)
    said = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().err)
    assert said.count("reversed") == 3
    assert all(line.isprintable() for line in said.split("\n"))
