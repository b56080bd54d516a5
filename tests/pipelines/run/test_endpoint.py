"""``sluice run`` with a vision model behind an endpoint, as a person meets it: a real web server, a real process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.pipelines.queries import write
from tests.pipelines.run.test_run_query import lines
from tests.real.vision import Asked, Said, Vision, vision
from tests.real.vision_reference import lines as query_lines
from tests.real.vision_reference import reference

SECRET = "sk-hunter-2-and-more"
QUERY = """\
version: 1
name: vlm
slo_ms: 5000
streams:
  - {id: street, uri: "synthetic:street?seed=54&duration_s=4&fps=10"}
nodes:
  - {name: boxes, task: detect, model: motion}
  - {name: track, task: track, input: boxes}
  - name: type
    task: recognise
    input: track
    model:
      endpoint: URL
      name: tiny-vl
      ask: "Is this one of {labels}?"
      labels: [car, person]
      key: ${VLM_KEY}
      budget: {per_day: 1 EUR, price: {per_million_given: 0.2 EUR, per_million_answered: 0.6 EUR}}
"""


def by_shape(asked: Asked) -> Said:
    height, width, _ = asked.picture.shape
    return Said('{"label": "%s"}' % ("car" if width > height else "person"))


def sluice(folder: Path, server: Vision, *arguments: str, text: str = QUERY) -> subprocess.CompletedProcess[str]:
    write(folder / "q.yaml", text.replace("URL", server.url))
    environment = {**os.environ, "VLM_KEY": SECRET, "SLUICE_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "pipelines.cli", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def run(folder: Path, server: Vision, text: str = QUERY) -> tuple[list[dict], subprocess.CompletedProcess[str]]:
    said = sluice(folder, server, "run", "q.yaml", "--out", "r.jsonl", "--report", "rep.json", text=text)
    assert said.returncode == 0, said.stderr
    return lines(folder / "r.jsonl"), said


def answers(results: list[dict]) -> list[dict]:
    return [each for result in results for found in result["objects"] for each in found["attributes"]]


def test_objects_are_named_by_the_endpoint_and_each_is_asked_about_a_few_times(tmp_path: Path) -> None:
    with vision(by_shape) as server:
        results, said = run(tmp_path, server)
    assert [(each["seq"], each["outcome"]) for each in results] == [(seq, "analysed") for seq in range(40)]
    given = answers(results)
    assert {each["label"] for each in given} <= {"car", "person", "unknown"}
    assert {"car", "person"} <= {each["label"] for each in given}
    assert {each["model"]["name"] for each in given} == {"tiny-vl"}
    looked = sum(each.get("looked") == "oracle" for each in given)
    assert 0 < looked == len(server.asked) < len(given) / 4
    (text, _) = server.asked[0].body["messages"][1]["content"]
    assert text["text"] == "Is this one of car, person?"
    assert {each.headers["Authorization"] for each in server.asked} == {f"Bearer {SECRET}"}
    assert f"{looked} calls, {looked} looks answered" in said.stderr
    (budget,) = json.loads((tmp_path / "rep.json").read_text())["budgets"]
    assert budget["holder"].startswith("endpoint tiny-vl-")
    assert budget["spent"] == {"tiny-vl": pytest.approx(looked * (0.2 * 400 + 0.6 * 5) / 1e6)}
    assert "spent today" in said.stderr + said.stdout
    shown = said.stdout + said.stderr + (tmp_path / "r.jsonl").read_text() + (tmp_path / "rep.json").read_text()
    assert SECRET not in shown


def test_a_server_that_goes_away_costs_answers_and_no_frame(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Said:
        return by_shape(asked) if len(server.asked) <= 3 else Said(status=400, body=b"out of memory")

    with vision(answer) as server:
        results, said = run(tmp_path, server)
    assert {each["outcome"] for each in results} == {"analysed"}
    assert len(results) == 40
    labels = [each["label"] for each in answers(results)]
    assert "unknown" in labels
    assert {"car", "person"} & set(labels)
    assert said.stderr.count("out of memory") == 1


def test_a_small_model_here_answers_where_the_budget_is_spent(tmp_path: Path) -> None:
    before, _, spec = QUERY.partition("    model:\n      ")
    lines_of = re.sub(r"budget: .*", "budget: {per_day: 2 calls}", spec).splitlines()
    text = before + "    model:\n      - " + "\n  ".join(lines_of) + "\n"
    with vision(by_shape) as server:
        results, said = run(tmp_path, server, text + "      - vehicle-type\n")
    assert len(server.asked) == 2
    given = answers(results)
    assert {each["model"]["name"] for each in given} >= {"tiny-vl", "vehicle-type"}
    assert {each.get("looked") for each in given} >= {"oracle", "variant"}
    assert "2 calls a day of endpoint tiny-vl-" in said.stderr


def test_a_process_that_begins_anew_knows_what_the_day_has_spent(tmp_path: Path) -> None:
    within_one_day()
    text = re.sub(r"budget: .*", "budget: {per_day: 3 calls}", QUERY)
    with vision(by_shape) as server:
        for _ in range(2):
            run(tmp_path, server, text)
        assert len(server.asked) == 3


def within_one_day() -> None:
    """Wait where the day is about to end."""
    now = datetime.now(UTC)
    left_s = (now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1) - now).total_seconds()
    if left_s < 180:
        time.sleep(left_s + 1)


def test_check_asks_once_and_says_what_is_wrong(tmp_path: Path) -> None:
    with vision(by_shape) as server:
        assert sluice(tmp_path, server, "check", "q.yaml").returncode == 0
        assert len(server.asked) == 1
        server.models = Said(status=401, body=SECRET.encode())
        refused = sluice(tmp_path, server, "check", "q.yaml")
    assert refused.returncode == 2
    assert "give the right key" in refused.stderr
    assert SECRET not in refused.stderr + refused.stdout


def test_a_missing_key_ends_the_run_in_one_line(tmp_path: Path) -> None:
    with vision(by_shape) as server:
        said = sluice(tmp_path, server, "run", "q.yaml", text=QUERY.replace("VLM_KEY", "NO_SUCH_KEY"))
    assert said.returncode == 2
    assert len(said.stderr.strip().splitlines()) == 1
    assert "NO_SUCH_KEY" in said.stderr
    assert server.asked == []


def test_a_network_behind_an_endpoint_is_believed_as_far_as_it_is_sure(tmp_path: Path) -> None:
    with reference("vehicle-type", delay_s=0.01) as (server, card):
        before, _, _ = QUERY.partition("    model:\n")
        before = before.replace("duration_s=4", "duration_s=6&density=3")
        text = before + "    min_confidence: 0.4\n" + textwrap.indent(query_lines(server, card), "    ")
        results, _ = run(tmp_path, server, text)
    given = answers(results)
    named = [each for each in given if each["label"] != "unknown"]
    assert named
    assert {each["label"] for each in named} <= {*card.classes}
    assert all(each["confidence"] >= 0.4 for each in named)
    assert len({each["confidence"] for each in named}) > 1, "certainty comes from the tokens' probabilities"
