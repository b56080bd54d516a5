"""Secrets that the addresses of a query name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.query.draft import load_query
from pipelines.query.nodes import DetectNode
from pipelines.query.secret_places import MOST_CHARS
from pipelines.run.capture_specs import capture_specs
from serving.common.redaction import redact
from serving.errors import BadInput, QueryError
from tests.pipelines.queries import write

QUERY = """\
    version: 1
    name: cars
    slo_ms: 250
    streams:
      - {id: gate, uri: "URI", sample: {fps: 5}, max_width: 640}
    nodes:
      - {name: detect, task: detect, model: motion}
"""


def query(folder: Path, uri: str) -> Path:
    return write(folder / "q.yaml", QUERY.replace("URI", uri))


def test_a_file_beside_the_query_is_read_when_capture_begins(tmp_path: Path) -> None:
    wanted = load_query(query(tmp_path, "rtsp://bob:${file:gate.secret}@cam/1"))  # a worker needs no secret
    (tmp_path / "gate.secret").write_text("hunter/22\nand more\n")
    (spec,) = capture_specs(wanted)
    assert (spec.stream, spec.max_width, str(spec.uri)) == ("gate", 640, "rtsp://***@cam/1")
    assert spec.uri.reveal() == "rtsp://bob:hunter%2F22@cam/1"
    assert redact("hunter/22 hunter%2F22") == "*** ***"


@pytest.mark.parametrize("content", [None, "", "\n", "a\0b", "é" * (MOST_CHARS + 1), b"\xff"])
def test_what_is_no_secret_is_one_line(tmp_path: Path, content: str | bytes | None) -> None:
    if content is not None:
        (tmp_path / "s").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BadInput) as caught:
        capture_specs(load_query(query(tmp_path, "rtsp://bob:${file:s}@cam/1")))
    assert str(caught.value).startswith(f"{tmp_path / 'q.yaml'}: uri: ")
    assert str(caught.value).endswith(" (stream gate)")
    assert len(str(caught.value).splitlines()) == 1


def test_a_placeholder_that_is_none_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"q\.yaml:5: streams\[0\]\.uri: source .*write \$\{NAME\} or"):
        load_query(query(tmp_path, "rtsp://bob:${x y}@cam/1"))


def test_elsewhere_in_a_query_the_signs_are_text(tmp_path: Path) -> None:
    path = query(tmp_path, "rtsp://cam/1")
    path.write_text(path.read_text().replace("model: motion", 'model: "${MODEL}"'))
    (node,) = load_query(path).nodes
    assert isinstance(node, DetectNode)
    assert node.model == ("${MODEL}",)


def test_sources_that_are_given_have_no_placeholders(tmp_path: Path) -> None:
    wanted = load_query(query(tmp_path, "rtsp://cam/1")).with_sources(["rtsp://bob:${X}@cam/2"])
    assert [spec.uri.reveal() for spec in capture_specs(wanted)] == ["rtsp://bob:${X}@cam/2"]
