"""A contest names its winner, and holds as long as nothing that it depends on has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from serving.catalogue.lookup import SHIPPED, Catalogue, Entry
from serving.errors import BadInput
from serving.variants import contest
from serving.variants.artefacts import Calibration, build, folder, identity
from serving.variants.contest import Contender, Contest, in_words, machine, read, store, winner
from serving.variants.variant import parse

MODEL = "vehicle-colour"
INT8, BF16 = f"{MODEL}@onnxruntime-int8", f"{MODEL}@openvino-bf16"


@pytest.fixture
def entry() -> Entry:
    return Catalogue([SHIPPED]).find(MODEL)


def contender(variant: str = BF16, processor_s: float = 0.5, agreement: float = 1.0, **more: object) -> Contender:
    return Contender(variant=variant, processor_s=processor_s, agreement=agreement, **more)  # type: ignore[arg-type]


def contest_of(*contenders: Contender, identity: str = "") -> Contest:
    return Contest(
        identity=identity,
        fingerprints=machine(),
        processor_s=1.0,
        items=64,
        contenders=contenders,
        measured_at="2026-01-01T00:00:00+00:00",
    )


@pytest.mark.parametrize(
    ("contenders", "won"),
    [
        ((), None),
        ((contender(processor_s=0.5), contender(INT8, 0.4)), INT8),
        ((contender(processor_s=0.5), contender(INT8, 0.4, agreement=0.94)), BF16),
        ((contender(processor_s=0.86),), None),
        ((contender(processor_s=0.85),), BF16),
        ((contender(processor_s=0.5, refused="no such processor"),), None),
        ((contender(processor_s=0.0),), None),
    ],
)
def test_the_cheapest_that_agrees_and_pays_wins(contenders: tuple[Contender, ...], won: str | None) -> None:
    found = winner(contest_of(*contenders), accuracy=0.9)
    assert (found and found.variant) == won


def test_more_accuracy_demands_more_agreement() -> None:
    held = contest_of(contender(agreement=0.96))
    assert winner(held, 0.9) is not None
    assert winner(held, 0.95) is None


def test_the_reason_names_both_costs_and_the_agreement() -> None:
    won = contender(processor_s=0.004, agreement=0.984)
    assert in_words(msgspec.structs.replace(contest_of(won), processor_s=0.01), won) == (
        "it stands in for vehicle-colour: 4.00 ms of a processor for one item in place of 10.00, "
        "and 0.984 of 64 answers are the same"
    )


def kept(entry: Entry, cache: Path) -> Contest:
    held = contest_of(contender(identity=identity(entry, parse(BF16), cache)), identity=entry.card.identity)
    store(held, entry, cache)
    return held


def test_a_contest_is_kept(entry: Entry, tmp_path: Path) -> None:
    assert read(entry, tmp_path) is None
    held = kept(entry, tmp_path)
    assert read(entry, tmp_path) == held


def test_another_machine_or_engine_holds_another_contest(
    entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(entry, tmp_path)
    here = machine()
    elsewhere = {name: msgspec.structs.replace(each, cores=each.cores + 1) for name, each in here.items()}
    monkeypatch.setattr(contest, "machine", lambda: elsewhere)
    assert read(entry, tmp_path) is None


def test_another_network_holds_another_contest(entry: Entry, tmp_path: Path) -> None:
    store(contest_of(identity="0" * 64), entry, tmp_path)
    assert read(entry, tmp_path) is None


def test_a_built_file_that_is_another_now_holds_another_contest(entry: Entry, tmp_path: Path) -> None:
    import numpy as np

    pictures = np.random.default_rng(0).normal(size=(8, *entry.card.input.item_shape)).astype(np.float32)
    build(entry, parse(INT8), tmp_path, Calibration(pictures, "a" * 64))
    mine = contender(INT8, identity=identity(entry, parse(INT8), tmp_path))
    store(contest_of(mine, identity=entry.card.identity), entry, tmp_path)
    assert read(entry, tmp_path) is not None
    build(entry, parse(INT8), tmp_path, Calibration(pictures * 3, "b" * 64))
    assert read(entry, tmp_path) is None
    (folder(tmp_path, entry) / "int8.onnx").unlink()
    assert read(entry, tmp_path) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"schema": "sluice.contest/2"}',
        b"x" * (contest.LARGEST + 1),
        msgspec.json.encode(contest_of(contender("vehicle-type@openvino-bf16"))),
        msgspec.json.encode(contest_of(contender("vehicle-colour@nonsense"))),
        msgspec.json.encode(contest_of(contender())).replace(b'"processor_s":0.5', b'"processor_s":-1'),
    ],
)
def test_what_is_no_contest_of_the_network_is_held_anew(entry: Entry, tmp_path: Path, data: bytes) -> None:
    path = folder(tmp_path, entry) / contest.FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    assert read(entry, tmp_path) is None


def test_where_nothing_can_be_written_it_is_said(entry: Entry, tmp_path: Path) -> None:
    (tmp_path / "variants").write_text("a file where a folder should be")
    with pytest.raises(BadInput, match="cannot be written"):
        store(contest_of(), entry, tmp_path)


def test_reading_contests_opens_no_runtime() -> None:
    code = "import sys, serving.variants.contest; sys.exit('onnxruntime' in sys.modules or 'openvino' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ, check=False).returncode == 0
