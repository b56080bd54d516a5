"""What the benchmark of exits shows: streets drawn once, parts of them as they are, and a query that is accepted."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from benchmarks.exits_video_parts.cases import FPS, MOTION, NODE, SEEDS, Case, streets
from pipelines.query.draft import load_query

OPTIONS = {"seed": "31", "fps": f"{FPS:g}", "duration_s": "4", "width": "160", "height": "96"}


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case("street", tmp_path / "street.mp4", 20, MOTION, OPTIONS)


def pictures(path: str) -> list[NDArray[np.uint8]]:
    with av.open(path) as container:
        return [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]


def test_a_street_is_drawn_when_it_is_asked_for_and_only_once(case: Case) -> None:
    assert not case.video.exists()
    drawn = Path(case.source())
    assert len(pictures(case.source())) == case.frames
    before = drawn.stat().st_mtime_ns
    case.source()
    assert drawn.stat().st_mtime_ns == before
    assert [*drawn.parent.iterdir()] == [drawn]


def test_a_part_has_the_pictures_of_its_seconds(case: Case) -> None:
    whole, part = pictures(case.source()), case.part(1, 3)
    assert part.frames == 10
    assert part.name == "street, 1 to 3 s"
    np.testing.assert_array_equal(pictures(part.source()), whole[5:15])
    with av.open(part.source()) as container:
        times = [frame.time for frame in container.decode(video=0)]
    assert times == pytest.approx([number / FPS for number in range(10)])


def test_its_query_is_accepted(case: Case, tmp_path: Path) -> None:
    asked = tmp_path / "query.yaml"
    asked.write_text(yaml.safe_dump(case.query("vehicle-type", {"answer": "look"}, {"accuracy": 0.9})))
    query = load_query(asked)
    assert query.accuracy == 0.9
    assert query.nodes[-1].name == NODE


def test_each_street_has_a_seed_and_a_file_of_its_own() -> None:
    found = streets()
    assert [each.street["seed"] for each in found if each.street] == [str(seed) for seed in SEEDS]
    assert len({each.video for each in found}) == len(SEEDS)
