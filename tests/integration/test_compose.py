"""``docker-compose.yml`` and ``Dockerfile``, read and run without a container engine; docs/deploy.md names the rest."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.kafka.topics import FramesTopic
from pipelines.observe.forward.sinks_file import load_sinks
from tests.commands import accepted
from tests.real.broker import VERSION, KafkaBroker
from tests.real.compose import Composition, Service, entry_point, services
from tests.real.kafka import require_jars
from tests.real.ports import free_port
from tests.real.process import until
from tests.real.rtsp import MakeServer

ROOT = Path(__file__).resolve().parents[2]
FILE, DOCKERFILE = ROOT / "docker-compose.yml", ROOT / "Dockerfile"
ALL = services(FILE, profiles=["gpu", "forward", "serve", "backend", "schedule", "archive"])
OURS = {name: service for name, service in ALL.items() if service.spec["image"].startswith("sluice-video:")}


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    """The file's broker: the real one, configured by the environment that the file gives it."""
    require_jars()
    ports = {"19092": "{port}", "9092": str(free_port()), "29093": "{controller}"}
    properties = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): _on_loopback(value, ports)
        for name, value in ALL["broker"].environment.items()
        if name.startswith("KAFKA_") and name not in ("KAFKA_HEAP_OPTS", "KAFKA_LOG_DIRS")
    }
    with KafkaBroker(properties=properties) as broker:
        yield broker


def _on_loopback(value: str, ports: dict[str, str]) -> str:
    value = re.sub(r"(?<=://)(\w*)(?=:\d)|\bbroker(?=:\d)", "127.0.0.1", value)
    return re.sub(r"(?<=127\.0\.0\.1:)\d+", lambda port: ports[port[0]], value)


@pytest.mark.kafka
@pytest.mark.rtsp
def test_the_services_run_together_until_watch_prints_and_end_in_order(
    broker: KafkaBroker, rtsp_server: MakeServer, tmp_path: Path
) -> None:
    clip = ROOT / ALL["camera"].mounts["/media/street.mp4"]
    addresses = {
        "broker:19092": broker.bootstrap,
        "camera:8554/street": rtsp_server(clip).uri.removeprefix("rtsp://"),
        "0.0.0.0:8470": f"0.0.0.0:{(port := free_port())}",
        "0.0.0.0:8001": f"0.0.0.0:{free_port()}",
        "0.0.0.0:8471": f"0.0.0.0:{(wanted := free_port())}",
    }
    stand_ins = ["broker", "camera"]
    given = {"SLUICE_SERVE_SECRET": "sixteen characters"}
    with Composition(FILE, tmp_path, addresses, stand_ins, ["serve", "schedule"], given) as composition:
        composition.up()
        until(lambda: composition.output("watch").count("street") >= 20, "twenty results on watch's screen")
        for name in ("capture", "worker", "adapt", "serve", "backend", "schedule", "watch"):
            until(lambda name=name: composition.healthy(name), f"health of {name}")  # type: ignore[misc]
        assert "failed" not in composition.output("watch")
        until(lambda: '"stream":"street"' in first_line_of_the_page(port), "the street on the page")
        until(lambda: backends_wanted(wanted) == 0, "the plan: nobody asks the backend")
        ended = "topics", "capture", "worker", "adapt", "serve", "backend", "schedule", "watch"
        statuses = composition.down()
        outputs = {name: composition.output(name) for name in statuses}
        assert statuses == dict.fromkeys(ended, 0), outputs


def backends_wanted(port: int) -> int | None:
    """What an autoscaler reads; None before there is a plan."""
    try:
        with asked(port, "/wanted/backends?kind=cpu") as answer:
            return int(json.load(answer)["value"])
    except OSError:
        return None


def first_line_of_the_page(port: int) -> str:
    """What the wall is told first, by whoever has the secret."""
    with asked(port, "/live") as answer:
        return next(line for line in answer if line.startswith(b"data: ")).decode()


def asked(port: int, path: str) -> HTTPResponse:
    """An answer to whoever has the secret."""
    question = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"Authorization": "Bearer sixteen characters"}
    )
    answer: HTTPResponse = urllib.request.urlopen(question, timeout=30)
    return answer


@pytest.mark.parametrize("service", OURS.values(), ids=OURS)
def test_our_services_are_confined_and_restarted(service: Service) -> None:
    assert service.spec["restart"] in ("unless-stopped", "on-failure")
    assert service.spec["read_only"] is True
    assert service.spec["cap_drop"] == ["ALL"]
    assert service.environment["SLUICE_BROKER"] == "kafka://broker:19092"
    assert {volume for volume in service.spec["volumes"] if not volume.endswith(":ro")} == {"sluice:/var/lib/sluice"}


@pytest.mark.parametrize("service", OURS.values(), ids=OURS)
def test_our_commands_take_what_the_services_give_them(service: Service) -> None:
    accepted(service.command)
    if service.healthcheck:
        assert service.healthcheck[0] == "sluice"
        accepted(service.healthcheck[1:])


@pytest.mark.parametrize("service", OURS.values(), ids=OURS)
def test_what_is_fetched_and_measured_outlives_a_container(service: Service) -> None:
    (place,) = service.volumes.values()
    assert {service.environment[name].startswith(place) for name in ("SLUICE_CACHE", "XDG_DATA_HOME")} == {True}
    made = [rest for word, rest in _instructions() if word == "RUN" and f" {place}" in rest]
    assert len(made) == 1
    assert "-o sluice" in made[0]  # a volume belongs to whom the image's directory belongs


@pytest.mark.parametrize("service", ALL.values(), ids=ALL)
def test_every_service_is_pinned_unprivileged_and_closed_to_the_network(service: Service) -> None:
    assert re.search(r":v?\d+\.\d+\.\d+", service.spec["image"])
    assert not {"privileged", "network_mode", "pid", "devices"} & set(service.spec)
    assert "no-new-privileges:true" in service.spec["security_opt"]
    assert all(str(port).startswith("127.0.0.1:") for port in service.spec.get("ports", []))
    for condition in service.depends_on.values():
        assert condition in ("service_started", "service_healthy", "service_completed_successfully")
    for source in service.mounts.values():
        assert source == "./archive" or (ROOT / source).is_file(), f"{source} is mounted and is not there"


@pytest.mark.parametrize("service", ALL.values(), ids=ALL)
def test_every_service_that_stays_has_a_healthcheck(service: Service) -> None:
    awaited = {name for other in ALL.values() for name, how in other.depends_on.items() if how == "service_healthy"}
    ends = {name for other in ALL.values() for name, how in other.depends_on.items() if "completed" in how}
    assert (service.healthcheck is None) == (service.name in ends)
    assert service.name not in awaited or service.healthcheck


def test_heartbeats_are_asked_where_they_are_written() -> None:
    for service in OURS.values():
        if service.healthcheck:
            assert service.healthcheck == ["sluice", "health", service.command[service.command.index("--alive") + 1]]


def test_the_broker_is_the_version_of_the_tests_and_takes_our_frames() -> None:
    assert ALL["broker"].spec["image"] == f"apache/kafka:{VERSION}"
    assert int(ALL["broker"].environment["KAFKA_MESSAGE_MAX_BYTES"]) >= FramesTopic().max_message_bytes


def test_the_gpu_has_a_worker_of_its_own_only_on_demand() -> None:
    assert "worker-gpu" not in services(FILE)
    worker, gpu = ALL["worker"], ALL["worker-gpu"]
    assert gpu.command == worker.command
    assert gpu.spec["image"] != worker.spec["image"]
    assert gpu.spec["build"]["target"] == "gpu"
    (device,) = gpu.spec["deploy"]["resources"]["reservations"]["devices"]
    assert device["capabilities"] == ["gpu"]


def test_events_go_elsewhere_only_on_demand_and_where_the_file_says() -> None:
    assert "forward" not in services(FILE)
    (mounted,) = ALL["forward"].mounts.items()
    assert mounted[0] == ALL["forward"].command[1]
    assert load_sinks(ROOT / mounted[1]).sinks


def test_the_page_is_served_only_on_demand_with_a_secret_and_the_zones_of_the_query() -> None:
    assert "serve" not in services(FILE)
    serve = ALL["serve"]
    assert serve.environment["SLUICE_SERVE_SECRET"] == "${SLUICE_SERVE_SECRET:-}"
    assert serve.spec["ports"] == ["127.0.0.1:8470:8470"]
    assert serve.command[serve.command.index("--query") + 1] == ALL["worker"].command[1]


def test_workers_get_their_heads_from_the_service_that_trains_on_the_same_query() -> None:
    assert "--adapt" in ALL["worker"].command
    assert ALL["adapt"].command[:2] == ["adapt", ALL["worker"].command[1]]
    query = yaml.safe_load((ROOT / OURS["adapt"].mounts["/etc/sluice/query.yaml"]).read_text())
    assert any(node.get("specialize") for node in query["nodes"])


def test_the_query_names_the_cameras_service() -> None:
    query = yaml.safe_load((ROOT / OURS["worker"].mounts["/etc/sluice/query.yaml"]).read_text())
    assert [stream["uri"] for stream in query["streams"]] == ["rtsp://camera:8554/street"]
    assert "MTX_PATHS_STREET_RUNONINIT" in ALL["camera"].environment


def test_image_names_carry_the_projects_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert {service.spec["image"].split(":")[1].removesuffix("-gpu") for service in OURS.values()} == {version}


def _instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", DOCKERFILE.read_text())
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_images_bases_are_pinned_and_its_user_is_not_root() -> None:
    stages: dict[str, str] = {}
    users: dict[str, str] = {}
    stage = ""
    for word, rest in _instructions():
        if word == "FROM":
            base, _, stage = rest.partition(" AS ")
            assert base in stages or re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", base)
            stages[stage], users[stage] = base, users.get(base, "root")
        elif word == "USER":
            users[stage] = rest
    targets = {service.spec["build"]["target"] for service in OURS.values()}
    assert {users[target] for target in targets} == {"sluice"}
    assert stage == "cpu"  # what `docker build .` makes


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [
        source
        for word, rest in _instructions()
        if word == "COPY" and "--from" not in rest
        for source in shlex.split(rest)[:-1]
    ]
    assert copied
    for source in copied:
        assert (ROOT / source).exists(), f"COPY {source}: is not there"
        assert source in allowed, f"COPY {source}: .dockerignore hides it"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {name.rstrip("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert packages <= set(copied)
    assert {project["project"]["readme"], *project["project"]["license-files"]} <= set(copied)


def test_the_image_has_the_extras_that_its_services_need() -> None:
    (extras,) = [rest.partition("=")[2].strip('"') for word, rest in _instructions() if word == "ARG"]
    (install,) = [rest for word, rest in _instructions() if word == "RUN" and "requirements.txt" in rest]
    listed = install.partition(">")[0].replace("python", sys.executable, 1)
    lines = subprocess.run(
        ["bash", "-c", listed], cwd=ROOT, env={"EXTRAS": extras}, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [project["optional-dependencies"][extra] for extra in ("kafka", "serve", "mqtt", "remote", "parquet")]
    assert lines == [*project["dependencies"], *(line for some in needed for line in some)]


def test_entry_point_and_healthcheck_are_the_command() -> None:
    assert entry_point(DOCKERFILE) == ["sluice"]
    checks: list[Any] = [json.loads(rest.split("CMD ")[1]) for word, rest in _instructions() if word == "HEALTHCHECK"]
    assert checks == [OURS["worker"].healthcheck]
