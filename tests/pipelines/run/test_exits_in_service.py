"""Exits of a real network come into service in a run, prove themselves, answer, and are audited."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper

from cache_adapt.learned import files
from cache_adapt.learned.artefact import ExitArtefact
from learning import budget
from operators.recognise.audits import auditor
from operators.recognise.exits import account, cut_oracle, tuning
from operators.wire.schema import NodePlan
from pipelines.assembly import environment
from pipelines.measure.exit_files import exits_file
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.report.run_report import RunReport
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from tests.models import save_graph, write_card
from tests.operators.recognise.exits.maker import Maker

SIDE, PICTURES = 16, 600
COLOURS = ("blue", "green", "red")


class Service(Maker):
    """Makes exits in this process, at once: no run depends on how long that takes."""

    async def run(self) -> None:
        await asyncio.Event().wait()


def picture(colour: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """One of the colours, in noise."""
    image = rng.integers(0, 90, (SIDE, SIDE, 3), dtype=np.uint8)
    image[..., colour] += rng.integers(60, 160, dtype=np.uint8)
    return image


def save_network(path: Path) -> None:
    """Four convolutions, each of which blurs every channel; the brightest channel on average is the colour."""
    nodes, weights, before = [], dict[str, NDArray[np.float32]](), "images"
    for number, inputs in enumerate((3, 6, 6, 6)):
        kernel = np.zeros((6, inputs, 3, 3), np.float32)
        for output in range(6):
            kernel[output, output % inputs] = 1 / 9
        weights[f"kernel{number}"] = kernel
        nodes.append(helper.make_node("Conv", [before, f"kernel{number}"], [f"conv{number}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"conv{number}"], [before := f"relu{number}"]))
    weights["last"] = 40 * np.tile(np.eye(3, dtype=np.float32), (2, 1))
    nodes += [
        helper.make_node("GlobalAveragePool", [before], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "last"], ["scores"]),
    ]
    save_graph(path, nodes, {"scores": ["N", 3]}, ("N", 3, SIDE, SIDE), weights)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model, and pictures of which most are of two colours."""
    folder = tmp_path_factory.mktemp("exits")
    model = folder / "models" / "colours"
    model.mkdir(parents=True)
    save_network(model / "net.onnx")
    write_card(model, classes=list(COLOURS), input={"width": SIDE, "height": SIDE, "colour": "bgr", "scale": 1 / 255})
    (folder / "stream").mkdir()
    rng = np.random.default_rng(2)
    for number, colour in enumerate(rng.choice(len(COLOURS), PICTURES, p=[0.6, 0.38, 0.02])):
        cv2.imwrite(str(folder / "stream" / f"{number:04}.png"), picture(int(colour), rng))
    return folder


@pytest.fixture(autouse=True)
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    """Nothing waits for the process to have run for a while, and cuts and lookups cost nothing."""
    found = Service(first=60)
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(budget, "FIRST_S", 0.0)
    monkeypatch.setattr(cut_oracle, "LEAST_LOOK_S", 0.0)
    monkeypatch.setattr(cut_oracle, "OPENING_S", 0.0)
    monkeypatch.setattr(account, "PATIENCE", 1e9)
    monkeypatch.setattr(auditor, "BLOCK_S", 1e-3)  # each picture shows another object
    monkeypatch.setattr(tuning, "CUT_S", 0.0)
    monkeypatch.setattr(tuning, "LOOKUP_S", 0.0)
    monkeypatch.setattr(environment, "_here", lambda *_: found)
    return found


def run(place: Path, out: Path, share: str | int = "100%", **more: Any) -> tuple[RunReport, Counter[str], list[str]]:
    """The report, who has answered how often, and what was said."""
    node = {"name": "colour", "task": "recognise", "input": "frame", "model": "colours", "answer": "look", **more}
    query = {
        "version": 1,
        "name": "exits",
        "slo_ms": 60_000,
        "accuracy": 0.8,
        "learning": {"budget": share},
        "streams": [{"id": "album", "uri": str(place / "stream")}],
        "nodes": [node],
    }
    report = run_query(compiled(Query.model_validate(query), Catalogue([place / "models"])), Outputs(str(out)))
    results = [json.loads(line) for line in out.read_text().splitlines()]
    said = [result["objects"][0]["attributes"][0] for result in results]
    return report, Counter(each["provenance"] for each in said), [each["label"] for each in said]


def plan(report: RunReport) -> NodePlan:
    (found,) = report.audits
    return found.plan


@pytest.mark.parametrize("more", [{"specialize": True}, {"caches": True, "specialize": False}])
def test_exits_that_are_made_in_service_prove_themselves_answer_and_are_audited(
    place: Path, tmp_path: Path, maker: Service, more: dict[str, bool]
) -> None:
    kind = "specialised" if more["specialize"] else "cached"
    report, given, said = run(place, tmp_path / "out.jsonl", **more)
    found = plan(report)
    assert (found.kind, found.phase) == (kind, "trusted"), found
    assert given[kind] > 100
    assert given[kind] + given["oracle"] == PICTURES
    assert found.shortcut_share == pytest.approx(given[kind] / PICTURES, abs=0.01)
    assert found.agreement.found is not None
    assert found.agreement.found > 0.95
    assert found.audits >= 24
    _, _, alone = run(place, tmp_path / "alone.jsonl", specialize=False, caches=False)
    assert np.mean([one == other for one, other in zip(said, alone, strict=True)]) > 0.98
    assert {subject.stream for subject in maker.samples} == {"album" if kind == "specialised" else ""}


def test_without_a_word_in_the_query_the_same_exits_are_made(place: Path, tmp_path: Path) -> None:
    report, given, _ = run(place, tmp_path / "out.jsonl")
    assert given["specialised"] > 100
    assert [each.stream for each in report.audits if each.plan.specialization is not None] == ["album"]


def test_exits_in_a_file_prove_themselves_from_the_first_frame_and_no_others_are_made(
    place: Path, tmp_path: Path, maker: Service
) -> None:
    run(place, tmp_path / "made.jsonl", caches=True, specialize=False)
    (made,) = maker.made.values()
    asked = len(maker.wishes)
    where = exits_file(Catalogue([place / "models"]).find("colours"), "exits", "colour")
    where.parent.mkdir(parents=True, exist_ok=True)
    files.write(where, ExitArtefact.from_bytes(made.data))
    report, given, _ = run(place, tmp_path / "out.jsonl", specialize=False)
    assert given["cached"] > 100
    assert plan(report).phase == "trusted"
    assert len(maker.wishes) == asked


@pytest.mark.parametrize("more", [{}, {"specialize": True}, {"caches": True}])
def test_without_a_budget_nothing_is_opened_imported_or_made(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, maker: Service, more: dict[str, bool]
) -> None:
    def never(*_: object) -> str:
        raise AssertionError("a network was cut")

    monkeypatch.setattr(Backend, "add_cuts", never)
    report, given, _ = run(place, tmp_path / "out.jsonl", share=0, **more)
    assert given == {"oracle": PICTURES}
    assert (maker.samples, maker.wishes) == ({}, [])
    assert not any(each.plan.shortcut_share for each in report.audits)
