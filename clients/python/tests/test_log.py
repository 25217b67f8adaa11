"""The log of a bot shows nothing that a terminal would obey."""

from __future__ import annotations

import logging
import sys

import pytest
from arbiter_client import ClientError, log

HOSTILE = "\x1b]0;title\x07\x1b[2J\r\n\x9b31m\u202ereversed\u200f"


def test_texts_of_others_are_escaped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    log.show()
    logging.getLogger("arbiter_client").info("the match against %s begins", HOSTILE)
    written = capsys.readouterr().err
    assert written.endswith("the match against \\x1b]0;title\\x07\\x1b[2J\\r\\n\\x9b31m\\u202ereversed\\u200f begins\n")
    assert written.count("\n") == 1


def test_the_last_words_of_a_program_are_escaped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    log.end_with_a_line()
    sys.excepthook(ClientError, ClientError(f"refused: {HOSTILE}"), None)
    assert all(line.isprintable() for line in capsys.readouterr().err.split("\n"))
