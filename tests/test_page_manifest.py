"""The manifest of the page's own pods: it goes together with the servers and the image."""

from __future__ import annotations

import json
import re

from arbiter.config import load
from arbiter.service.gate.addresses import host_and_port
from tests.test_manifests import DEPLOY, KUBERNETES, of_kind, page_pod, pod


def test_the_page_has_pods_of_its_own_with_the_servers_settings_and_no_players() -> None:
    (page,) = page_pod()["spec"]["containers"]
    (start,) = re.findall(r'^CMD \["serve", (.+)\]$', (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    usual = ["serve", *json.loads(f"[{start}]")]
    assert page["args"][: len(usual)] == usual
    given = dict(zip(page["args"][len(usual) :: 2], page["args"][len(usual) + 1 :: 2], strict=True))
    names = {"--listen": "listen", "--web": "web"}
    settings = load(
        KUBERNETES / "arbiter.toml",
        store="postgresql://arbiter@db/arbiter",
        **{names[option]: value for option, value in given.items()},
    )
    ports = {each["name"]: each["containerPort"] for each in page["ports"]}
    assert settings.has_page_alone
    assert settings.reads_are_public
    assert load(KUBERNETES / "arbiter.toml", store="postgresql://arbiter@db/arbiter").reads_are_public
    assert host_and_port(settings.web, "", "") == ("0.0.0.0", ports["web"])
    assert host_and_port(settings.metrics, "", "") == ("0.0.0.0", ports["metrics"])
    assert page["readinessProbe"]["httpGet"]["path"] == "/keys.json"
    (service,) = of_kind("Service", "arbiter-page")["spec"]["ports"]
    assert service["targetPort"] in ports
    policy = of_kind("NetworkPolicy", "arbiter-page")["spec"]
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == set(ports)
    assert all(rule["from"] for rule in policy["ingress"]), "no rule lets everybody in"
    assert policy["egress"] == of_kind("NetworkPolicy")["spec"]["egress"]
    mounts = {each["mountPath"]: each["name"] for each in page["volumeMounts"]}
    volumes = {each["name"]: each for each in page_pod()["spec"]["volumes"]}
    assert not volumes[mounts["/var/lib/arbiter"]]["emptyDir"].get("medium")
    (keys,) = page_pod()["spec"]["initContainers"]
    assert keys["command"][-1] == str(settings.key_ring)
    assert "optional" not in volumes["keys"]["secret"], "without the servers' keys it does not start"
    security = page_pod()["spec"]["securityContext"]
    assert security == {key: value for key, value in pod()["spec"]["securityContext"].items() if key in security}
