from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines.commands.backend.schedule import command
from pipelines.schedule.machines import read_machines
from pipelines.schedule.paper_fleet import simulated
from serving.errors import BadInput

FLEET = """\
sessions:
  - {model: cars, slo_ms: 200, rate: 300}
  - {model: people, slo_ms: 150, rate: 60, priority: 1}
profiles:
  cars: {gpu: {times_ms: {1: 8, 8: 24, 16: 40}, memory_mb: 300}}
  people: {gpu: {times_ms: {1: 10, 8: 30}, memory_mb: 200}}
machines:
  gpu: {price_per_hour: 1.2, resources: {gpu_memory_gib: 16}}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "fleet.yaml"
    path.write_text(text)
    return path


def test_a_fleet_on_paper_is_planned_as_text_and_json(tmp_path: Path) -> None:
    path = written(tmp_path, FLEET)
    said = CliRunner().invoke(command, ["--simulate", str(path)])
    assert said.exit_code == 0, said.output
    assert "wanted: 2 gpu, 2.40 an hour" in said.output
    assert "cars within 200 ms: 300.0/s in batches of 16" in said.output
    found = json.loads(CliRunner().invoke(command, ["--simulate", str(path), "--json"]).output)
    assert found["wanted"] == {"gpu": 2}
    assert found["price_per_hour"] == 2.4
    assert found["shed"] == []
    rates = [session["items_per_s"] for each in found["backends"] for session in each["sessions"]]
    assert sum(rates) == pytest.approx(360)


def test_with_too_few_backends_the_lower_priority_is_not_served(tmp_path: Path) -> None:
    plan = simulated(written(tmp_path, FLEET + "backends: {gpu: 1}\n"), lambda model: None)
    assert plan.plan.wanted == {"gpu": 2}
    assert {each.model for each in plan.plan.shed} == {"cars"}
    assert "not served: cars" in str(plan)


def test_profiles_that_are_left_out_are_those_of_this_machine(tmp_path: Path) -> None:
    text = FLEET.replace("  people: {gpu: {times_ms: {1: 10, 8: 30}, memory_mb: 200}}\n", "")
    plan = simulated(written(tmp_path, text), {"people": ({1: 0.01, 8: 0.03}, {})}.get)
    assert not plan.plan.shed
    missing = simulated(written(tmp_path, text), lambda model: None)
    assert [(each.model, each.cause) for each in missing.plan.shed] == [("people", "profile")]
    assert str(missing).endswith("or measure them here: sluice models profile people")


ALIKE = """\
sessions:
  - {model: game-a, slo_ms: 50, rate: 80}
  - {model: game-b, slo_ms: 50, rate: 80}
profiles:
  game-a: {gpu: {times_ms: {1: 10, 8: 17}, memory_mb: 600}}
  game-b: {gpu: {times_ms: {1: 10, 8: 17}, memory_mb: 600}}
machines:
  gpu: {price_per_hour: 1, resources: {gpu_memory_gib: 1}}
"""


def test_models_that_begin_alike_are_one_session(tmp_path: Path) -> None:
    apart = simulated(written(tmp_path, ALIKE), lambda model: None)
    assert apart.plan.wanted == {"gpu": 2}  # memory for one of them
    common = ALIKE + "prefixes: {game-a: {body: .9, stem: .5}, game-b: {stem: .5, body: .9}}\n"
    together = simulated(written(tmp_path, common), lambda model: None)
    assert together.plan.wanted == {"gpu": 1}
    assert "game-a + game-b within 50 ms: 160.0/s" in str(together)
    assert together.as_json()["backends"][0]["sessions"][0]["models"] == {"game-a": 80, "game-b": 80}


def test_networks_of_this_machine_are_looked_at(tmp_path: Path) -> None:
    head, machines = ALIKE.split("profiles:")[0], "machines:" + ALIKE.split("machines:")[1]
    plans = [
        simulated(written(tmp_path, head + machines), lambda model, found=found: ({1: 0.01, 8: 0.017}, found))
        for found in ({}, {"body": 0.9})
    ]
    names = [{share.model for each in plan.plan.backends for share in each.sessions} for plan in plans]
    assert names == [{"game-a", "game-b"}, {"game-a + game-b"}]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("sessions: []\n", "fleet.yaml:1: sessions"),
        (FLEET.replace("rate: 300", "rate: -1"), "fleet.yaml:2: sessions[0].rate"),
        (FLEET.replace("1: 8,", "0: 8,"), "profiles.cars.gpu.times_ms"),
        (FLEET.replace("1: 8,", "1: 1.0e-322,"), "profiles.cars.gpu.times_ms"),
        (FLEET.replace("slo_ms: 200", "slo_ms: 0.0004"), "fleet.yaml:2: sessions[0].slo_ms"),
        (FLEET.replace("slo_ms: 200", "slo: 200"), "slo"),
        (FLEET.replace("gpu: {price", "GPU: {price"), "machines"),
        (FLEET + "backends: {tpu: 1}\n", "fleet.yaml:9: backends.tpu: no kind of machine; known: gpu"),
        (FLEET.replace("people: {gpu", "people: {tpu"), "profiles.people.tpu: no kind of machine"),
        (FLEET + "prefixes: {trams: {a: 0.5}}\n", "fleet.yaml:9: prefixes.trams: no session asks for it"),
        (FLEET + "prefixes: {cars: {a: 1.5}}\n", "fleet.yaml:9: prefixes.cars.a"),
        ("- 1\n", "fleet.yaml"),
        ("a: [", "is not valid YAML"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, wrong: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        simulated(written(tmp_path, wrong), lambda model: None)
    assert says in str(caught.value)


def test_machines_have_prices_and_memory(tmp_path: Path) -> None:
    path = tmp_path / "machines.yaml"
    path.write_text(
        "machines:\n  a: {price_per_hour: 3.6, resources: {memory_gib: 2, gpu_memory_gib: 1}, at_most: 3}\n"
    )
    (found,) = read_machines(path)
    assert (found.name, found.price, found.memory_bytes, found.most) == ("a", 0.001, 1 << 30, 3)
    path.write_text("machines: {}\n")
    with pytest.raises(BadInput, match=r"machines\.yaml:1: machines"):
        read_machines(path)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--json"], "--json belongs to --simulate"),
        (["--broker", "kafka://b:1", "--listen", "0.0.0.0:80"], "other machines could read everything"),
        ([], "no broker given"),
    ],
)
def test_options_that_cannot_be(given: list[str], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLUICE_BROKER", raising=False)
    said = CliRunner().invoke(command, given)
    assert isinstance(said.exception, BadInput)
    assert says in str(said.exception)
