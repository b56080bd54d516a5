"""Zones and lines in query files, and in filters."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.environment import catalogue
from pipelines.query.check import examine, open_query
from pipelines.query.draft import load_query
from pipelines.query.filter_parser import parse_selection
from pipelines.query.zones import ZoneSpec, name_problems
from tests.pipelines.queries import write

QUERY = """\
    version: 1
    name: cars
    slo_ms: 250
    streams:
      - {id: yard, uri: clip.mp4}
      - {id: gate-1, uri: other.mp4}
    nodes:
      - {name: detect, task: detect, model: motion}
      - {name: track, task: track, input: "detect[zone == apron]"}
    zones:
      - {name: apron, streams: yard, polygon: [[0, 0.5], [1, 0.5], [1, 1], [0, 1]], labels: [moving], point: centre}
      - {name: door, streams: ["gate-*"], polygon: [[0, 0], [0.5, 0], [0.5, 0.5]]}
    lines:
      - {name: kerb, points: [[0.1, 0.5], [0.5, 0.4], [0.9, 0.5]]}
      - {name: door, streams: yard, points: [[0, 0], [1, 1]]}
"""


def problems_of(path: Path) -> list[str]:
    return [str(problem) for problem in examine(path).problems]


def test_zones_and_lines_say_what_they_are_for(tmp_path: Path) -> None:
    path = write(tmp_path / "q.yaml", QUERY)
    assert problems_of(path) == []
    layout = load_query(path).layout
    apron, door = layout.zones
    assert (apron.points, apron.labels, apron.anchor) == (((0, 0.5), (1, 0.5), (1, 1), (0, 1)), {"moving"}, "centre")
    assert (door.streams, door.labels, door.anchor) == (("gate-*",), None, "bottom")
    assert [line.name for line in layout.of("yard").lines] == ["kerb", "door"]
    assert layout.lines[0].points == ((0.1, 0.5), (0.5, 0.4), (0.9, 0.5))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[0.5, 0.5]]}", "[0, 0.5], [0.5, 0.5]]}", "zones[1].polygon: sides 2 and 4 cross"),
        ("[0.5, 0.5]]}", "[1, 0]]}", "zones[1].polygon: its corners lie on one line: no object can be inside"),
        ("[0.5, 0.5]]}", "[0.5, 0]]}", "zones[1].polygon: the corner [0.5, 0.0] comes twice running: leave one out"),
        (
            "[0.5, 0.5]]}",
            "0.5]}",
            "zones[1].polygon: corner 3 should be [x, y], shares of the frame's width and height",
        ),
        ("[0.5, 0.5]]}", "[0.5, 1.01]]}", "zones[1].polygon: corner 3 should be [x, y], shares of the frame's"),
        (", [0.5, 0.5]]}", "]}", "zones[1].polygon: has 2 corners: give 3 to 50"),
        ("[[0, 0], [1, 1]]", "[[0, 0], [0, 0]]", "lines[1].points: two points running are [0.0, 0.0]: a line has"),
        ("[[0, 0], [1, 1]]", "[[0, 0]]", "lines[1].points: has 1 point: give 2 to 20"),
        ("[[0, 0], [1, 1]]", "[[0, 0], [1, 0], [0.5, 0]]", "lines[1].points: parts 1 and 2 meet"),
        ("[[0, 0], [1, 1]]", "[[0, 0], [1, 0], [1, 1], [0.5, 0]]", "lines[1].points: parts 1 and 3 meet"),
        ("[[0, 0], [1, 1]]", "[[-0.1, 0], [1, 1]]", "lines[1].points: point 1 should be [x, y], shares of the"),
        ("[[0, 0], [1, 1]]", "diagonal", "lines[1].points: should be a list of points: [[0.1, 0.6], [0.9, 0.6]]"),
        ("streams: yard, points", "streams: yrd, points", "lines[1].streams: no stream is called 'yrd'; did you mean"),
        ('"gate-*"', '"gates-*"', "zones[1].streams: no stream is called 'gates-*'"),
        ("name: kerb", "name: apron", "lines[0].name: 'apron' is the name of zones[0] too"),
        ("door, streams: yard", "door, streams: '*-1'", "lines[1].name: 'door' is the name of zones[1] too"),
        ("name: kerb", "name: Kerb", "lines[0].name: 'Kerb' should be 1 to 50"),
        ("point: centre", "point: middle", "zones[0].point: is 'middle'; allowed: bottom, centre"),
        ("zone == apron", "zone in (apron, arpon)", "nodes[1].input: there is no zone 'arpon'; did you mean 'apron'?"),
        ("task: track, input", "task: recognise, model: m, input", "lines: nothing is tracked, so nothing can cross"),
    ],
)
def test_what_is_wrong_is_one_clear_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in QUERY
    lines = problems_of(write(tmp_path / "q.yaml", QUERY.replace(old, new)))
    assert len([line for line in lines if said in line]) == 1, lines
    assert len(lines) == 1, lines


def test_there_are_so_many_and_no_more(tmp_path: Path) -> None:
    zones = "\n".join(f"      - {{name: z{n}, polygon: [[0, 0], [1, 0], [1, 1]]}}" for n in range(49))
    (line,) = problems_of(write(tmp_path / "q.yaml", QUERY.replace("    lines:", f"{zones}\n    lines:")))
    assert "zones: " in line
    assert "at most 50 items" in line


@pytest.mark.parametrize("zone", ["apron", "door"])
def test_without_streams_zones_are_for_whatever_comes(tmp_path: Path, zone: str) -> None:
    start, end = QUERY.index("    streams:\n"), QUERY.index("    nodes:")
    path = write(tmp_path / "q.yaml", (QUERY[:start] + QUERY[end:]).replace("== apron", f"== {zone}"))
    assert problems_of(path) == []


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("zone == apron", True),
        ("zone == door", True),
        ("zone == kerb", False),
        ("zone != apron", False),
        ("zone != kerb", True),
        ("zone in (kerb, door)", True),
        ("zone in (kerb)", False),
        ("zone not in (kerb)", True),
        ("zone not in (kerb, door)", False),
        ("not zone == kerb and label == car", True),
    ],
)
def test_a_zone_equals_every_zone_that_the_object_is_in(text: str, passes: bool) -> None:
    where = parse_selection(f"detect[{text}]", []).where
    assert where is not None
    assert where.matches({"label": "car", "zone": ("apron", "door")}) is passes


def test_an_object_in_no_zone_is_not_in_any() -> None:
    wheres = [parse_selection(f"detect[{text}]", []).where for text in ("zone == a", "zone != a", "zone in (a)")]
    assert [where and where.matches({"zone": ()}) for where in wheres] == [False, True, False]


def test_zones_that_lie_on_none_of_the_sources_given_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "q.yaml", QUERY)
    open_query(path, catalogue([]), sources=["yard.mp4"])
    assert [record.getMessage() for record in caplog.records] == [
        "zones[1].streams: no stream is called 'gate-*'; allowed: yard: it lies on none of the sources that were given"
    ]
    caplog.clear()
    open_query(path, catalogue([]))
    assert caplog.records == []


@given(st.text("ab*", min_size=1, max_size=5), st.text("ab*", min_size=1, max_size=5))
def test_names_clash_where_some_id_fits_both_patterns(one: str, other: str) -> None:
    zones = [
        (("zones", place), ZoneSpec(name="door", streams=(streams,), polygon=((0, 0), (1, 0), (1, 1))))
        for place, streams in enumerate((one, other))
    ]
    ids = ("".join(letters) for size in range(9) for letters in product("ab", repeat=size))
    fits = any(fnmatchcase(each, one) and fnmatchcase(each, other) for each in ids)
    assert [str(problem) for problem in name_problems(zones)] == (
        ["zones[1].name: 'door' is the name of zones[0] too"] if fits else []
    )
