"""The configuration and the numbers in deploy/ are those of the server."""

from __future__ import annotations

import re
from pathlib import Path

from arbiter.config import Limits, load

DEPLOY = Path(__file__).parents[1] / "deploy"


def test_the_configuration_to_start_from_is_valid() -> None:
    settings = load(DEPLOY / "arbiter.toml")
    assert settings.registration == "invitation"
    assert settings.limits.open_matches == 2_000


def test_systemd_and_docker_wait_as_long_as_a_stop_may_take() -> None:
    unit, page = (DEPLOY / "arbiter.service").read_text(), (DEPLOY / "OPERATING.md").read_text()
    [systemd], [docker] = (
        re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.M),
        re.findall(r"--stop-timeout (\d+)", page),
    )
    assert min(int(systemd), int(docker)) * 1_000 > Limits().stop_ms
