"""The log holds what went wrong, and no secrets."""

from __future__ import annotations

import json

import structlog

from arbiter.cli.logs import configure


def test_an_exception_is_logged_without_the_values_of_variables(capsys, monkeypatch):
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
