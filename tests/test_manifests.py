"""The manifests in deploy/ for containers: valid for Kubernetes and Compose, and consistent with server and image."""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest
import yaml

from arbiter.bootstrap.running_server import DRAIN_GRACE_S
from arbiter.bootstrap.tracing import LAST_S
from arbiter.bus.nats_addresses import servers_of
from arbiter.config import load
from arbiter.rpc.health import LIVENESS
from arbiter.rpc.play_stream import FAREWELL_S
from arbiter.service.gate.addresses import host_and_port
from tests.clients.toolchains import require
from tests.documents import block

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
SCHEMAS = Path(__file__).parent / "deploy_schemas"
KINDS: dict[str, Any] = json.loads((SCHEMAS / "kubernetes-1.34.json").read_text())
COMPOSE_SCHEMA: dict[str, Any] = json.loads((SCHEMAS / "compose-spec.json").read_text())
KUSTOMIZE = "sigs.k8s.io/kustomize/kustomize/v5@v5.5.0"  #: as in kubectl 1.32
USER = 7400  #: of the image
DRAIN_S = DRAIN_GRACE_S + FAREWELL_S + LAST_S  #: the longest delays of a stop


@cache
def documents() -> list[dict[str, Any]]:
    """Return all documents that the kustomization applies, except the configuration."""
    return [
        document
        for name in kustomization()["resources"]
        for document in yaml.safe_load_all((KUBERNETES / name).read_text())
    ]


@cache
def kustomization() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    return found


def of_kind(kind: str, name: str = "arbiter") -> dict[str, Any]:
    return next(each for each in documents() if (each["kind"], each["metadata"]["name"]) == (kind, name))


def check(document: dict[str, Any]) -> None:
    """Check a document against the schema of its kind. Raises ValidationError."""
    kind = KINDS["kinds"][f"{document['apiVersion']}/{document['kind']}"]
    schema = {"$schema": KINDS["$schema"], "$ref": kind, "$defs": KINDS["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(document)


@cache
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


@pytest.mark.parametrize("document", documents(), ids=lambda each: f"{each['kind']} {each['metadata']['name']}")
def test_a_manifest_is_valid_for_kubernetes(document: dict[str, Any]) -> None:
    check(document)


def test_a_wrong_field_is_found() -> None:
    for path, name, value in (
        (("spec", "template", "spec", "containers", 0), "redinessProbe", {}),
        (("spec", "template", "spec"), "terminationGracePeriodSeconds", "45s"),
        (("spec",), "replica", 3),
    ):
        wrong: Any = copy.deepcopy(of_kind("StatefulSet"))
        inner = wrong
        for step in path:
            inner = inner[step]
        inner[name] = value
        with pytest.raises(jsonschema.ValidationError):
            check(wrong)


def test_the_kustomization_names_every_file() -> None:
    named = kustomization()
    files = [*named["resources"], *(file for made in named["configMapGenerator"] for file in made["files"])]
    assert sorted([*files, "README.md", "kustomization.yaml"]) == sorted(
        file.name for file in KUBERNETES.iterdir() if file.is_file()
    )


def rendered() -> list[dict[str, Any]]:
    """Return what `kubectl apply --kustomize` would apply."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        require("go", why="kustomize, which is in kubectl too, builds the manifests")
    command = [kubectl, "kustomize"] if kubectl is not None else ["go", "run", KUSTOMIZE, "build"]
    made = subprocess.run([*command, KUBERNETES], check=True, capture_output=True, text=True)
    return list(yaml.safe_load_all(made.stdout))


@pytest.mark.long
@pytest.mark.timeout(600)  # without kubectl, kustomize is compiled
def test_what_kustomize_makes_is_valid_and_goes_together() -> None:
    made = rendered()
    for document in made:
        check(document)
        metadata = document["metadata"]
        assert document["kind"] == "Namespace" or metadata["namespace"] == kustomization()["namespace"]
        assert metadata["labels"]["app.kubernetes.io/name"] == "arbiter"
    kinds = Counter(document["kind"] for document in made)
    assert kinds == Counter(document["kind"] for document in documents()) + Counter(["ConfigMap"])
    by_name = {(document["kind"], document["metadata"]["name"]): document for document in made}
    (configuration,) = (document for document in made if document["kind"] == "ConfigMap")
    assert configuration["data"] == {"arbiter.toml": (KUBERNETES / "arbiter.toml").read_text()}
    sets = {name: by_name["StatefulSet", name]["spec"] for name in ("arbiter", "arbiter-bus")}
    sets["arbiter-page"] = by_name["Deployment", "arbiter-page"]["spec"]
    pods = {name: each["template"] for name, each in sets.items()}
    (image,) = kustomization()["images"]
    for name in ("arbiter", "arbiter-page"):
        volumes = [each["configMap"]["name"] for each in pods[name]["spec"]["volumes"] if "configMap" in each]
        assert volumes == [configuration["metadata"]["name"]], "a changed file makes new pods"
        for container in (*pods[name]["spec"]["containers"], *pods[name]["spec"]["initContainers"]):
            assert container["image"] == f"{image['newName']}:{image['newTag']}"
    services = {name: (name,) for name in pods} | {"arbiter": ("arbiter", "arbiter-servers")}
    for pod_name, names in services.items():
        labels = pods[pod_name]["metadata"]["labels"]
        selectors = [sets[pod_name]["selector"]["matchLabels"]]
        selectors += [by_name["Service", name]["spec"]["selector"] for name in names]
        selectors += [by_name["NetworkPolicy", pod_name]["spec"]["podSelector"]["matchLabels"]]
        assert all(selector.items() <= labels.items() for selector in selectors)
        for other in pods.keys() - {pod_name}:
            others = pods[other]["metadata"]["labels"]
            assert not any(selector.items() <= others.items() for selector in selectors), "each selects its own pods"


def pod() -> dict[str, Any]:
    found: dict[str, Any] = of_kind("StatefulSet")["spec"]["template"]
    return found


def server() -> dict[str, Any]:
    (found,) = pod()["spec"]["containers"]
    return dict(found)


def test_the_pod_runs_the_image_as_it_was_built() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    (image,) = kustomization()["images"]
    assert server()["image"] == image["name"]
    assert image["newTag"] == re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]  # type: ignore[index]
    security = pod()["spec"]["securityContext"]
    assert security["runAsUser"] == security["fsGroup"] == USER
    assert f"--uid {USER}" in dockerfile
    mounts = {each["mountPath"]: each["name"] for each in server()["volumeMounts"]}
    assert "/etc/arbiter/arbiter.toml" in dockerfile.splitlines()[-1]
    volumes = {each["name"]: each for each in pod()["spec"]["volumes"]}
    assert volumes[mounts["/etc/arbiter"]]["configMap"]["name"] == kustomization()["configMapGenerator"][0]["name"]
    claims = of_kind("StatefulSet")["spec"]["volumeClaimTemplates"]
    assert mounts["/var/lib/arbiter"] == claims[0]["metadata"]["name"]


def test_the_configuration_is_consistent_with_the_pod() -> None:
    settings = load(KUBERNETES / "arbiter.toml", store="postgresql://arbiter@db/arbiter")
    ports = {each["name"]: each["containerPort"] for each in server()["ports"]}
    assert host_and_port(settings.listen, "", "") == ("0.0.0.0", ports["grpc"])
    assert host_and_port(settings.metrics, "", "") == ("0.0.0.0", ports["metrics"])
    assert settings.insecure  # Kubernetes can't ask for the health of a server with TLS
    assert settings.key_ring.parent == Path("/var/lib/arbiter")
    assert pod()["metadata"]["annotations"]["prometheus.io/port"] == str(ports["metrics"])
    assert server()["env"][0]["name"] == "ARBITER_STORE"
    workers = settings.rules_workers + 1
    most = int(server()["resources"]["limits"]["memory"].removesuffix("Gi")) << 30
    assert most > workers * settings.limits.rules_memory_bytes + (1 << 30)


def test_readiness_uses_the_health_service_and_a_drain_has_enough_time() -> None:
    found, port = server(), next(each["containerPort"] for each in server()["ports"] if each["name"] == "grpc")
    assert found["readinessProbe"]["grpc"] == {"port": port}
    for probe in ("startupProbe", "livenessProbe"):  # they kill: not a server that drains, or is cut off from its store
        assert found[probe]["grpc"] == {"port": port, "service": LIVENESS}
    grace = pod()["spec"]["terminationGracePeriodSeconds"]
    assert grace > 3 * DRAIN_S
    stop_s = load(KUBERNETES / "arbiter.toml", store="postgresql://arbiter@db/arbiter").limits.stop_ms / 1_000
    stops = [each["stop_grace_period"] for each in arbiters().values()]
    assert min(grace, *(float(each.removesuffix("s")) for each in stops)) > stop_s > 2 * DRAIN_S
    alive = found["livenessProbe"]
    assert alive["periodSeconds"] * alive["failureThreshold"] > grace, "at the end of a drain nobody answers"


def test_a_server_that_is_cut_off_from_its_store_keeps_its_name_and_delays_no_other() -> None:
    """It is not ready: each server is to be found by its name all the same, and to start whatever the others do."""
    assert of_kind("Service", "arbiter-servers")["spec"]["publishNotReadyAddresses"] is True
    assert "publishNotReadyAddresses" not in of_kind("Service")["spec"], "the service leads to servers that are ready"
    assert of_kind("StatefulSet")["spec"]["podManagementPolicy"] == "Parallel"


def test_three_servers_share_the_store_and_live_matches_add_more() -> None:
    replicas = of_kind("StatefulSet")["spec"]["replicas"]
    assert replicas == 3
    assert of_kind("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    scaler = of_kind("HorizontalPodAutoscaler")["spec"]
    assert scaler["minReplicas"] == replicas
    assert scaler["scaleTargetRef"]["kind"] == "StatefulSet"
    wanted = {each[each["type"].lower()]["metric"]["name"]: each["type"] for each in scaler["metrics"]}
    assert wanted == {"arbiter_live_matches": "External", "arbiter_connected_players": "Pods"}
    rules = yaml.safe_load((DEPLOY / "observability" / "prometheus-adapter.yaml").read_text())["rules"]
    kinds = (("External", "external"), ("Pods", "custom"))
    assert {each["name"]["as"]: kind for kind, key in kinds for each in rules[key]} == wanted


def give_keys(folder: Path, pod_name: str) -> subprocess.Popen[bytes]:
    """Run the script of the init container, with the folders of the pod below a folder."""
    (container,) = pod()["spec"]["initContainers"]
    (script,) = container["args"]
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/var/lib/arbiter", "/keys"}
    for path in ("/var/lib/arbiter", "/keys"):
        script = script.replace(f"={path}", f"={folder}{path}")
        (folder / path[1:]).mkdir(parents=True, exist_ok=True)
    return subprocess.Popen([*container["command"], script], env={"PATH": "/usr/bin:/bin", "POD": pod_name})


def test_the_first_server_makes_the_keys_and_the_others_wait_for_the_secret(tmp_path: Path) -> None:
    own, secret = tmp_path / "var/lib/arbiter/arbiter.keys", tmp_path / "keys/arbiter.keys"
    assert give_keys(tmp_path, "arbiter-0").wait(60) == 0
    assert not own.exists()
    waiting = give_keys(tmp_path, "arbiter-1")
    assert waiting.poll() is None
    secret.write_text("the keys")
    assert waiting.wait(60) == 0
    assert (own.read_text(), own.stat().st_mode & 0o777) == ("the keys", 0o600)
    secret.write_text("a key was added")
    assert give_keys(tmp_path, "arbiter-1").wait(60) == 0
    assert own.read_text() == "a key was added"
    for older in ("the keys", ""):
        secret.write_text(older)
        assert give_keys(tmp_path, "arbiter-1").wait(60) == 0
        assert own.read_text() == "a key was added", "no key is lost"
    secret.unlink()
    assert give_keys(tmp_path, "arbiter-1").wait(60) == 0
    assert own.read_text() == "a key was added"


KUBECTL = """#!/bin/sh -e
if [ "$3" = exec ]; then
  export POD="$5"
  shift 6
  exec "$@"
fi
case "$*" in
  *"create secret generic arbiter-keys --from-file=arbiter.keys --dry-run=client"*) cat arbiter.keys ;;
  "replace --filename -") cat > secret ;;
  *) echo "not a call of the page: $*"; exit 1 ;;
esac
"""


def test_the_commands_of_the_page_give_every_pod_and_the_secret_new_keys(tmp_path: Path) -> None:
    """In place of kubectl, a script runs a pod's command with the pod's folder."""
    (tmp_path / "kubectl").write_text(KUBECTL)
    (tmp_path / "kubectl").chmod(0o755)
    (tmp_path / "arbiter.keys").write_text("a key was added")
    folders = [tmp_path / f"arbiter-{number}" for number in range(of_kind("StatefulSet")["spec"]["replicas"])]
    for folder in folders:
        folder.mkdir()
        (folder / "arbiter.keys").write_text("the keys")
    script = block("deploy/kubernetes/README.md", "kubectl replace").replace("/var/lib/arbiter", f"{tmp_path}/$POD")
    path = f"{tmp_path}:/usr/bin:/bin"
    subprocess.run(["bash", "-euc", script], cwd=tmp_path, env={"PATH": path}, check=True, timeout=60)
    for folder in folders:
        (keys,) = folder.iterdir()
        assert (keys.read_text(), keys.stat().st_mode & 0o777) == ("a key was added", 0o600)
    assert (tmp_path / "secret").read_text() == "a key was added"


def test_services_and_policies_select_the_pod_and_its_ports() -> None:
    labels, ports = pod()["metadata"]["labels"], {each["name"] for each in server()["ports"]}
    services = [of_kind("Service"), of_kind("Service", "arbiter-servers")]
    headless = next(each for each in services if each["spec"].get("clusterIP") == "None")
    assert headless["metadata"]["name"] == of_kind("StatefulSet")["spec"]["serviceName"]
    for service in services:
        assert service["spec"]["selector"] == labels
        assert {each["targetPort"] for each in service["spec"]["ports"]} <= ports
    for kind, selector in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        assert of_kind(kind)["spec"][selector]["matchLabels"] == labels
    policy = of_kind("NetworkPolicy")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == ports
    assert all(rule["from"] for rule in policy["ingress"]), "no rule lets everybody in"


def page_pod() -> dict[str, Any]:
    found: dict[str, Any] = of_kind("Deployment", "arbiter-page")["spec"]["template"]
    return found


def test_the_compose_file_is_valid() -> None:
    validator = jsonschema.Draft201909Validator(COMPOSE_SCHEMA)
    validator.validate(compose())
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"services": {"arbiter": {"imagge": "arbiter"}}})


def test_the_compose_file_mounts_existing_files_and_pins_its_images() -> None:
    services, volumes = compose()["services"], compose()["volumes"]
    for name, service in services.items():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in volumes or (DEPLOY / source).is_file(), volume
        assert "build" in service or re.search(r":v?\d", service["image"]), f"{name} has a version"
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), "this machine alone"
    assert len(arbiters()) == 3
    build = services["arbiter-1"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"


def arbiters() -> dict[str, Any]:
    return {name: each for name, each in compose()["services"].items() if name.startswith("arbiter")}


def test_the_servers_of_the_compose_file_have_existing_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    first = arbiters()["arbiter-1"]
    assert all({**each, "ports": first["ports"]} == first for each in arbiters().values()), "they differ in ports alone"
    for name, value in first["environment"].items():
        monkeypatch.setenv(name, value)
    settings = load(None)
    assert settings.store.startswith("postgresql://arbiter@postgres/")
    listen, web, metrics = (
        host_and_port(each, "", "")[1] for each in (settings.listen, settings.web, settings.metrics)
    )
    published = [port.rpartition(":")[2] for each in arbiters().values() for port in each["ports"]]
    (bus,) = (urlsplit(url) for url in servers_of(settings.bus))
    command = compose()["services"][bus.hostname]["command"]
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert options == {"--port": str(bus.port), "--user": bus.username, "--pass": bus.password}
    assert sorted(published) == sorted([*[str(listen)] * 3, str(web)])
    (scraped,) = yaml.safe_load((DEPLOY / "compose" / "prometheus.yaml").read_text())["scrape_configs"]
    assert scraped["job_name"] == "arbiter"  # the name in the alerts
    assert scraped["static_configs"][0]["targets"] == [f"{name}:{metrics}" for name in arbiters()]
    assert settings.key_ring.parent == Path(first["volumes"][0].partition(":")[2])


@pytest.mark.toolchain
def test_prometheus_accepts_its_configuration() -> None:
    file = DEPLOY / "compose" / "prometheus.yaml"
    subprocess.run(["promtool", "check", "config", "--syntax-only", file], check=True, capture_output=True)


def test_grafana_finds_prometheus_and_the_dashboard() -> None:
    services = compose()["services"]
    (source,) = yaml.safe_load((DEPLOY / "compose" / "grafana-source.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    assert source["type"] == "prometheus"
    (provider,) = yaml.safe_load((DEPLOY / "compose" / "grafana-dashboards.yaml").read_text())["providers"]
    mounted = [volume.split(":")[1] for volume in services["grafana"]["volumes"]]
    assert f"{provider['options']['path']}/arbiter.json" in mounted
