"""The manifest of the bus in Kubernetes: the servers reach it, and nobody else can use it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from arbiter.bus.messages import Envelopes
from arbiter.bus.nats_addresses import servers_of
from arbiter.bus.nats_bus import NatsBus
from arbiter.config import load
from tests.bus.nats import Nats
from tests.documents import block
from tests.test_manifests import KUBERNETES, of_kind, page_pod, pod

PASSWORD = "5ec3e7"
SECRET = {"name": "arbiter-bus", "key": "password"}


def container() -> dict[str, Any]:
    (found,) = of_kind("StatefulSet", "arbiter-bus")["spec"]["template"]["spec"]["containers"]
    return dict(found)


def environment(of: dict[str, Any]) -> dict[str, str]:
    """Return the environment of a container as Kubernetes makes it, where the bus has `PASSWORD`."""
    made: dict[str, str] = {}
    for each in of["env"]:
        if "value" in each:
            made[each["name"]] = expanded(each["value"], made)
        elif each["valueFrom"]["secretKeyRef"] == SECRET:
            made[each["name"]] = PASSWORD
    return made


def expanded(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\$\((\w+)\)", lambda found: known[found[1]], text)


def clients() -> list[dict[str, Any]]:
    return [found for each in (pod(), page_pod()) for found in each["spec"]["containers"]]


def arguments() -> dict[str, str]:
    words = [expanded(word, environment(container())) for word in container()["args"]]
    return dict(zip(words[::2], words[1::2], strict=True))


@pytest.mark.long
def test_the_servers_reach_the_bus_and_nobody_else_does() -> None:
    service = of_kind("Service", "arbiter-bus")
    (port,) = service["spec"]["ports"]
    assert not load(KUBERNETES / "arbiter.toml", store="postgresql://arbiter@db/arbiter").bus, "it has no password"
    for client in clients():
        [url] = servers_of(environment(client)["ARBITER_BUS"])
        assert url == f"nats://arbiter:{PASSWORD}@{service['metadata']['name']}:{port['port']}"
    bus = of_kind("StatefulSet", "arbiter-bus")["spec"]
    labels = bus["template"]["metadata"]["labels"]
    assert labels == bus["selector"]["matchLabels"] == service["spec"]["selector"] != pod()["metadata"]["labels"]
    ports = {each["name"]: each["containerPort"] for each in container()["ports"]}
    assert (port["targetPort"], ports["nats"]) == ("nats", port["port"])
    given = arguments()
    assert (given["--port"], given["--http_port"]) == (str(ports["nats"]), str(ports["health"]))
    policy = of_kind("NetworkPolicy", "arbiter-bus")["spec"]
    assert policy["podSelector"]["matchLabels"] == labels
    (rule,) = policy["ingress"]
    ((selector,),) = [[each["podSelector"]["matchExpressions"][0]] for each in rule["from"]]
    assert (selector["operator"], selector["values"]) == (
        "In",
        [each["metadata"]["labels"][selector["key"]] for each in (pod(), page_pod())],
    )
    out = [rule for rule in of_kind("NetworkPolicy")["spec"]["egress"] if rule["ports"][0]["port"] == port["port"]]
    assert [rule["to"] for rule in out] == [[{"podSelector": {"matchLabels": labels}}]]


@pytest.mark.toolchain
async def test_the_bus_lets_in_whoever_has_its_password_alone() -> None:
    given = arguments()
    del given["--port"], given["--http_port"]
    with Nats(*(word for option in given.items() for word in option)) as nats:
        for client in clients():
            url = environment(client)["ARBITER_BUS"].replace("arbiter-bus:4222", nats.address)
            assert await bus(url).round_trip_ms() > 0
        for url in (nats.url, nats.url.replace("//", "//arbiter:arbiter@")):
            with pytest.raises(NatsBus.FAILURES):
                await bus(url).round_trip_ms()


def bus(url: str) -> NatsBus:
    return NatsBus(servers_of(url), Envelopes(b"signature"))


def test_the_page_makes_the_secret_of_the_bus() -> None:
    made = re.findall(
        r"create secret generic (\S+)\s[\\\s]*--from-literal=(\w+)=", block("deploy/kubernetes/README.md", "apply")
    )
    assert (SECRET["name"], SECRET["key"]) in made
