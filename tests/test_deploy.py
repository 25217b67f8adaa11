"""What stands in deploy/ is what the server takes."""

from __future__ import annotations

from pathlib import Path

from arbiter.config import load

DEPLOY = Path(__file__).parents[1] / "deploy"


def test_the_configuration_to_start_from_is_one() -> None:
    settings = load(DEPLOY / "arbiter.toml")
    assert settings.registration == "invitation"
    assert settings.limits.open_matches == 2_000
