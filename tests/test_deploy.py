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


def test_the_budget_names_limits_and_their_defaults() -> None:
    rows = [line.split(" | ") for line in (DEPLOY / "BUDGET.md").read_text().splitlines() if line.startswith("| `")]
    units = {"": 1, "MiB": 1 << 20, "s": 1_000}
    page = {}
    for names, defaults, *_ in rows:
        for name, default in zip(names.strip("| ").split(", "), re.split(r", (?=\d)", defaults), strict=True):
            number, _, unit = default.partition(" ")
            page[name.strip("`")] = int(number.replace(",", "")) * units[unit]
    assert len(page) >= 10
    limits = Limits().model_dump()
    assert page == {name: limits[name] for name in page}
