"""The deployment files: valid by their schemas, with settings that exist, and without secrets."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]  # has none
import pytest
import yaml  # type: ignore[import-untyped]  # comes along without types
from jsonschema_rs import validator_for

from waypost.adapters.cassandra import address as history_address
from waypost.adapters.redis.findings import _eviction
from waypost.http.edge.web_app import ASSETS, OWN_ROUTES, WHOLE_PATHS, is_of_the_page
from waypost.http.edge.webhook_endpoint import PATH as WEBHOOKS
from waypost.runtime.process.role_app import OF_THE_GATEWAY, OPEN_TO_ALL
from waypost.runtime.settings.definitions import PREFIX, SECRET, Settings
from waypost.runtime.settings.roles import ProcessRole, parse

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = "1.37"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
KNOWN = {f"{PREFIX}{name.upper()}" for name in Settings.__struct_fields__} | {
    "WAYPOST_REDIS_URL",
    "WAYPOST_HISTORY_URL",
}
ABOUT_THE_FILES = {"WAYPOST_IMAGE"}
"""Not a setting: the image that compose uses."""
EXPOSED = 3.0
"""Of 10, by `systemd-analyze security`: lower is better."""


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return loaded


def manifests() -> list[dict[str, Any]]:
    found = []
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        found += [each for each in yaml.safe_load_all(path.read_text()) if each["kind"] != "Kustomization"]
    return found


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in manifests() if each["kind"] == kind}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_setting_in_a_file_exists(path: Path) -> None:
    named = set(re.findall(r"\bWAYPOST_[A-Z_]+\b", path.read_text())) - ABOUT_THE_FILES
    assert named <= KNOWN


def test_the_compose_file_is_one() -> None:
    schema = files("check_jsonschema").joinpath("builtin_schemas", "vendor", "compose-spec.json").read_text()
    validator_for(json.loads(schema)).validate(compose())


def test_each_service_of_the_compose_file_tells_its_health_and_waits_for_the_others() -> None:
    services = compose()["services"]
    stores, ours = {"postgres", "redis", "cassandra"}, {"api", "gateway", "worker"}
    assert services.keys() == {*stores, *ours, "migrate", "proxy"}
    assert all("healthcheck" in services[name] for name in stores)
    assert services["migrate"]["depends_on"].keys() == stores
    assert all("migrate" in services[name]["depends_on"] for name in ours)
    mounted = {str(volume).partition(":")[0] for each in services.values() for volume in each.get("volumes", [])}
    assert mounted - {"./Caddyfile"} == compose()["volumes"].keys()


def test_the_compose_file_has_a_node_for_every_copy() -> None:
    services = compose()["services"]
    address = history_address.parse(services["migrate"]["environment"]["WAYPOST_HISTORY_URL"])
    nodes = [name for name, each in services.items() if each.get("image", "").startswith("cassandra:")]
    assert set(address.hosts) <= set(nodes)
    assert max(address.copies.values()) <= len(nodes), "`waypost migrate` refuses it"


def test_the_doctor_agrees_with_the_redis_of_the_compose_file() -> None:
    options = dict(pairwise(compose()["services"]["redis"]["command"]))
    limit = int(options["--maxmemory"].removesuffix("mb")) * 2**20
    good, what, remedy = _eviction(options["--maxmemory-policy"], limit)
    assert good, f"{what}: {remedy}"


@pytest.mark.parametrize("manifest", manifests(), ids=lambda each: f"{each['kind']} {each['metadata']['name']}")
def test_a_manifest_is_what_kubernetes_takes(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def test_every_manifest_is_in_the_kustomization() -> None:
    told = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text())
    assert {*told["resources"], "kustomization.yaml"} == {p.name for p in (DEPLOY / "kubernetes").glob("*.yaml")}


def test_each_role_is_deployed_probed_and_kept_through_disruptions() -> None:
    deployments, budgets = of_kind("Deployment"), of_kind("PodDisruptionBudget")
    assert deployments.keys() == budgets.keys() == {f"waypost-{role}" for role in ProcessRole}
    for name, deployment in deployments.items():
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert deployment["spec"]["selector"]["matchLabels"] == labels
        assert budgets[name]["spec"]["selector"]["matchLabels"] == labels
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        probed = {container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
        assert probed == {"/healthz", "/readyz"} <= OPEN_TO_ALL
        assert f"waypost-{groups(container['args'])}" == name


def groups(arguments: list[str]) -> str:
    """The roles of a `serve`."""
    assert arguments[0] == "serve"
    texts = [text for option, text in pairwise(arguments) if option == "--roles"]
    return " ".join(group.written for group in parse(texts, None))


def test_each_role_is_a_service_of_the_compose_file() -> None:
    services = compose()["services"]
    assert {name: groups(services[name]["command"]) for name in ProcessRole} == {name: name for name in ProcessRole}


def test_the_unit_has_every_role() -> None:
    (command,) = re.findall(
        r"^ExecStart=\S+/waypost (serve .*)$", (DEPLOY / "systemd/waypost.service").read_text(), re.MULTILINE
    )
    assert groups(shlex.split(command)) == "api,gateway worker"


def ingress_paths() -> list[dict[str, Any]]:
    (rule,) = of_kind("Ingress")["waypost"]["spec"]["rules"]
    found: list[dict[str, Any]] = rule["http"]["paths"]
    return found


def sent_to(path: str) -> str | None:
    """The service that a plain Ingress chooses: the exact path, or else the longest prefix of whole elements."""
    exact = [each for each in ingress_paths() if each["pathType"] == "Exact" and each["path"] == path]
    below = [each for each in ingress_paths() if each["pathType"] == "Prefix" and is_below(path, each["path"])]
    picked = max(exact or below, key=lambda each: len(each["path"]), default=None)
    return picked["backend"]["service"]["name"] if picked else None


def is_below(path: str, prefix: str) -> bool:
    return f"{path}/".startswith(f"{prefix.rstrip('/')}/")


def test_what_is_live_goes_to_the_gateways() -> None:
    (live,) = re.findall(r"^\t@live path (.*)$", (DEPLOY / "Caddyfile").read_text(), re.MULTILINE)
    assert set(live.split()) == OF_THE_GATEWAY
    to = {each["path"]: each["backend"]["service"]["name"] for each in ingress_paths()}
    assert {path for path, service in to.items() if service == "waypost-gateway"} == OF_THE_GATEWAY
    assert {sent_to(path) for path in OF_THE_GATEWAY} == {"waypost-gateway"}
    assert set(to.values()) <= of_kind("Service").keys()


def test_the_ingress_sends_the_page_and_the_api_to_the_api() -> None:
    page = [*WHOLE_PATHS, f"{ASSETS}/index-1.js", *OWN_ROUTES, *(f"{route}/1/2" for route in OWN_ROUTES)]
    assert all(is_of_the_page({"path": path, "method": "GET"}) for path in page)
    for path in [*page, "/api/v1/outbound/messages", WEBHOOKS]:
        assert sent_to(path) == "waypost-api", path


def test_the_world_reads_no_figures() -> None:
    """They name every org. Only the proxy has a public port, and neither it nor the Ingress forwards them."""
    for path in ("/metrics", "/metrics/", "//metrics", "/metrics//"):
        assert sent_to(path) is None, path
    caddy = (DEPLOY / "Caddyfile").read_text()
    assert "\t@figures path /metrics /metrics/*\n\trespond @figures 404\n" in caddy
    assert [name for name, each in compose()["services"].items() if "ports" in each] == ["proxy"]
    kinds = {each["spec"].get("type", "ClusterIP") for each in of_kind("Service").values()}
    assert kinds == {"ClusterIP"}, "only the Ingress is open to the world"


def test_no_secret_is_in_a_file() -> None:
    assert not of_kind("Secret")
    told = [each.get("environment", {}) for each in compose()["services"].values()]
    told += [each["data"] for each in of_kind("ConfigMap").values()]
    for name, value in [pair for each in told for pair in each.items()]:
        if name.removeprefix(PREFIX).lower() in SECRET or "PASSWORD" in name:
            assert "${" in value or ("://" in value and "@" not in value), f"{name}: only an address without a password"
    for unit in UNITS:
        assert not re.findall(r"^Environment=", unit.read_text(), re.MULTILINE)


def test_the_image_takes_what_its_build_needs_and_nothing_else() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    copied = {
        name for line in lines if line.startswith("COPY ") and "--from" not in line for name in line.split()[1:-1]
    }
    let_in = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"}
    assert copied == let_in
    assert all((ROOT / name).exists() for name in copied)
    assert sum(line.startswith("FROM ") for line in lines) == 2
    assert "USER 10001:10001" in lines


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_a_unit_is_one_and_gives_little_away(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not on PATH")
    for each in UNITS:  # with a program that is there
        text = each.read_text().replace("/opt/waypost/bin/waypost", str(Path(sys.executable).with_name("waypost")))
        (tmp_path / each.name).write_text(text)
    analyze(tmp_path / unit.name, "verify", "--man=no")
    if unit.name == "waypost.service":
        analyze(tmp_path / unit.name, "security", "--offline=yes", f"--threshold={EXPOSED * 10:.0f}", "--no-pager")


def analyze(unit: Path, *command: str) -> None:
    done = subprocess.run(["systemd-analyze", *command, str(unit)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
