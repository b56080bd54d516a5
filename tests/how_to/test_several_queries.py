"""The how-to about several queries on one worker, followed with a real broker."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.doc_pages import ROOT
from tests.how_to.reader import BROKER, Reader
from tests.integration.kafka_side import read_all
from tests.real.kafka import KafkaBroker
from tests.real.process import until

pytestmark = pytest.mark.kafka

QUERY = """\
version: 1
name: {name}
slo_ms: 60000
streams: [{{id: street, uri: {clip}}}]
nodes:
  - {{name: detect, task: detect, model: motion}}
"""


def test_a_folder_of_queries_and_two_files_are_worked_for(tmp_path: Path, own_kafka_broker: KafkaBroker) -> None:
    at = own_kafka_broker.bootstrap
    with Reader("several-queries", tmp_path, SLUICE_BROKER=f"kafka://{at}") as reader:
        (reader.folder / "queries").mkdir()
        for name in ("gate", "yard"):
            text = QUERY.format(name=name, clip=ROOT / "examples" / "street.mp4")
            for folder in (reader.folder, reader.folder / "queries"):
                (folder / f"{name}.yaml").write_text(text)
        reader.run("sluice topics create gate.yaml")

        def answered() -> Counter[str]:
            return Counter(json.loads(record.value)["query"] for record in read_all(at, "sluice.results.v1"))

        lines = reader.commands({BROKER: f"kafka://{at}"})
        first, second = reader.start(lines[0]), lines[1]
        reader.run("sluice capture gate.yaml --limit 20")
        until(lambda: answered() == {"gate": 20, "yard": 20}, "results of both", first)
        assert first.terminate() == 0, first.errors
        by_name = reader.start(second)
        reader.run("sluice capture gate.yaml --limit 20")
        until(lambda: answered() == {"gate": 40, "yard": 40}, "results of both", by_name)
        assert by_name.terminate() == 0, by_name.errors
