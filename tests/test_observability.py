"""The files in deploy/observability, with a real Prometheus that reads a real server."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from arbiter.runtime.loopback import free_port
from tests.observability.test_metrics import measured, play
from tests.processes import WAIT_S

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parents[1] / "deploy" / "observability"
LINES = FOLDER.parent / "LOG.md"
SERVER = Path(__file__).parents[1] / "arbiter"


def alerts() -> list[str]:
    return re.findall(r"- alert: (\w+)", (FOLDER / "alerts.yaml").read_text())


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / "grafana-dashboard.json").read_text())["panels"]
    return found


def scaling() -> dict[str, str]:
    """Return the queries by which the adapter answers the autoscaler of Kubernetes, here for all servers of a job."""
    rules = yaml.safe_load((FOLDER / "prometheus-adapter.yaml").read_text())["rules"]
    found = {}
    for rule in (*rules["external"], *rules["custom"]):
        name, query = rule["name"]["as"], rule["metricsQuery"]
        for word, here in (("Series", name), ("LabelMatchers", 'job="arbiter"'), ("GroupBy", "job")):
            query = query.replace(f"<<.{word}>>", here)
        found[name] = query
    return found


def test_each_alert_fires_when_it_should(tmp_path: Path) -> None:
    rules, cases = (yaml.safe_load((FOLDER / f"{name}.yaml").read_text()) for name in ("alerts", "alerts-test"))
    for rule in rules["groups"][0]["rules"]:
        del rule["annotations"]["action"]  # the cases do not say again what to do
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump(rules))
    (tmp_path / "cases.yaml").write_text(yaml.safe_dump(cases))
    subprocess.run(["promtool", "test", "rules", "cases.yaml"], cwd=tmp_path, check=True, capture_output=True)
    assert {each["alertname"] for case in cases["tests"] for each in case["alert_rule_test"]} == set(alerts())


def test_each_alert_says_what_has_happened_and_what_to_do_and_names_lines_of_the_log_that_the_page_explains() -> None:
    groups = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    said = [rule["annotations"] for group in groups for rule in group["rules"]]
    assert {tuple(annotations) for annotations in said} == {("summary", "action")}
    named = {word for annotations in said for word in re.findall(r"`([a-z]+_\w+)`", annotations["action"])}
    assert named
    assert named <= explained()


def explained() -> set[str]:
    """Return the events of the log whose meaning is written down."""
    return set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (.+?) \|", LINES.read_text(), re.MULTILINE))))


def test_every_line_of_a_servers_log_that_warns_is_explained() -> None:
    rooms = ("bootstrap", "bus", "rpc", "runtime", "service", "store", "web", "workers")
    texts = [path.read_text() for room in rooms for path in (SERVER / room).rglob("*.py")]
    call = re.compile(r"\.(?:warning|error|exception|critical)\(\s*\"(\w+)\"")
    events = {event for text in texts for event in call.findall(text)}
    assert len(events) > 40
    assert events <= explained(), sorted(events - explained())


def ask(address: str, path: str, **query: str) -> Any:
    """Return the data of an answer of Prometheus' API; None while it does not answer yet."""
    try:
        with urllib.request.urlopen(f"http://{address}/{path}?{urllib.parse.urlencode(query)}", timeout=240) as answer:
            return json.load(answer)["data"]
    except urllib.error.URLError as error:
        if isinstance(error, urllib.error.HTTPError) and error.code != 503:
            raise AssertionError(f"{query}: {error.read().decode()}") from None
        return None


@contextmanager
def prometheus(folder: Path, file: Path, changed: Mapping[str, str]) -> Iterator[str]:
    """Run a Prometheus with a configuration, in which some texts are changed; return its address."""
    configuration = file.read_text()
    for ours, here in {"- alerts.yaml": f"- {FOLDER / 'alerts.yaml'}", **changed}.items():
        assert ours in configuration
        configuration = configuration.replace(ours, here)
    (folder / "prometheus.yaml").write_text(configuration)
    address = f"127.0.0.1:{free_port()}"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yaml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={address}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        yield address
    finally:
        process.terminate()
        process.wait(30)


async def test_a_prometheus_reads_the_metrics_and_accepts_alerts_and_dashboard(tmp_path: Path) -> None:
    async with measured(tmp_path) as stubs:
        await play(stubs, await stubs.match(game="pods(size=4)", time_control="1m"), 3)
        await asyncio.to_thread(_check, tmp_path, urllib.parse.urlsplit(stubs.served.running.metrics).netloc)


def _check(folder: Path, target: str) -> None:
    with prometheus(folder, FOLDER / "prometheus.yaml", {"15s": "1s", "127.0.0.1:9464": target}) as address:
        wait(lambda: value(address, 'arbiter_moves_total{game="pods"}') == 3)
        assert value(address, "arbiter_live_matches") == 1
        scaled = {name: ask(address, "api/v1/query", query=query)["result"] for name, query in scaling().items()}
        assert {name: float(found["value"][1]) for name, [found] in scaled.items()} == {
            "arbiter_live_matches": 1,
            "arbiter_connected_players": 0,
        }
        for panel in panels():
            for shown in panel["targets"]:
                ask(
                    address,
                    "api/v1/query",
                    query=shown["expr"].replace("$instance", ".*").replace("$__rate_interval", "1m"),
                )
        wait(lambda: health(address) == dict.fromkeys(alerts(), "ok"))


def wait(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds: Prometheus reads a server once a second, and sends no notification."""
    last = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.1)


async def test_the_dashboard_shows_every_metric_and_each_has_a_line_of_help(tmp_path: Path) -> None:
    async with measured(tmp_path) as stubs:
        families = await asyncio.to_thread(_described, stubs.served.running.metrics)
    asked = {
        re.sub(r"_(total|bucket|sum|count)$", "", name)
        for panel in panels()
        for target in panel["targets"]
        for name in re.findall(r"\barbiter_\w+", target["expr"])
    }
    assert asked | {"arbiter_build_info"} == set(families)
    assert all(families.values())


def _described(address: str) -> dict[str, str]:
    """Return the metrics at an address, each with its line of help."""
    with urllib.request.urlopen(address, timeout=240) as answer:
        found = text_string_to_metric_families(answer.read().decode())
    return {family.name: family.documentation for family in found if family.name.startswith("arbiter_")}


def value(address: str, query: str) -> float:
    found = (ask(address, "api/v1/query", query=query) or {"result": []})["result"]
    return float(found[0]["value"][1]) if found else 0.0


def health(address: str) -> dict[str, str]:
    (group,) = (ask(address, "api/v1/rules") or {"groups": [{"rules": []}]})["groups"]
    return {rule["name"]: rule["health"] for rule in group["rules"]}
