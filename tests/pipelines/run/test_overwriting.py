"""What a run reads is not written over."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.query.dag import CompiledQuery, compiled
from pipelines.query.draft import load_query
from pipelines.run.overwriting import keep_apart
from serving.catalogue.lookup import Catalogue
from serving.errors import BadInput
from tests.pipelines.queries import write

QUERY = """\
    version: 1
    name: faces
    slo_ms: 250
    streams: [{id: door, uri: "rtsp://camera.local/1"}]
    nodes:
      - {name: find, task: detect, model: motion}
      - {name: who, task: recognise, input: find, model: faces, gallery: people}
"""


@pytest.fixture
def wanted(tmp_path: Path) -> CompiledQuery:
    (tmp_path / "people" / "anna").mkdir(parents=True)
    (tmp_path / "people" / "anna" / "1.jpg").write_bytes(b"picture")
    (tmp_path / "sinks.yaml").write_text("sinks: []\n")
    (tmp_path / "link").symlink_to(tmp_path / "people")
    return compiled(load_query(write(tmp_path / "query.yaml", QUERY)), Catalogue([]))


@pytest.mark.parametrize("target", ["sinks.yaml", "link/../sinks.yaml"])
@pytest.mark.parametrize("option", ["--out", "--events", "--report", "--annotate"])
def test_the_file_of_sinks_is_kept(option: str, target: str, wanted: CompiledQuery, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=rf"^{option} \S*sinks\.yaml: would be written over the file of sinks: choose"):
        keep_apart(tmp_path / "query.yaml", wanted, {option: tmp_path / target}, tmp_path / "sinks.yaml")


@pytest.mark.parametrize("target", ["people", "people/anna/1.jpg", "people/anna/new.jsonl", "link/new.jsonl"])
@pytest.mark.parametrize("option", ["--out", "--annotate"])
def test_nothing_is_written_into_a_gallery(option: str, target: str, wanted: CompiledQuery, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=rf"^{option} \S*{target}: would be written into the gallery of node who: "):
        keep_apart(tmp_path / "query.yaml", wanted, {option: tmp_path / target}, tmp_path / "sinks.yaml")


def test_a_place_beside_them_is_fine(wanted: CompiledQuery, tmp_path: Path) -> None:
    written = {"--out": tmp_path / "people.jsonl", "--annotate": tmp_path / "pictures", "--report": None}
    keep_apart(tmp_path / "query.yaml", wanted, written, tmp_path / "sinks.yaml")


def test_stdout_is_for_lines_alone(wanted: CompiledQuery, tmp_path: Path) -> None:
    keep_apart(tmp_path / "query.yaml", wanted, {"--out": "-", "--events": "-"})
    with pytest.raises(BadInput, match=r"^--report -: only results and events of `sluice run` go to stdout: name a"):
        keep_apart(tmp_path / "query.yaml", wanted, {"--out": "-", "--report": Path("-")})
