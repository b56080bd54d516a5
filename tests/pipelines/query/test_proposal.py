"""The query that `sluice init` proposes: who finds what is wanted, and that no secret gets into it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.capture.sources.uri import SourceUri
from pipelines.query.check import examine
from pipelines.query.draft import load_query
from pipelines.query.proposal import Finder, ModelWords, SecretFiles, everyday, finder, query_name, query_text
from pipelines.query.query_file import Fps
from serving.errors import BadInput
from tests.pipelines.queries import write

COCO = ["person", "car", "bicycle"]
NOTHING = ModelWords({}, {}, {})
SHIPPED = ModelWords({}, {"vehicle-type": ["car", "truck"]}, {"yolox-nano": COCO})
PULLED = ModelWords({"yolox-nano": COCO}, {"vehicle-type": ["car", "truck"]}, {})


@pytest.mark.parametrize(
    ("wanted", "words", "recogniser", "expected"),
    [
        ([], NOTHING, None, Finder("motion")),
        (["moving"], PULLED, None, Finder("motion")),
        ([], SHIPPED, "vehicle-type", Finder("motion", (), "vehicle-type")),
        (["car"], SHIPPED, None, Finder("motion", (), "vehicle-type")),
        (["car"], PULLED, None, Finder("yolox-nano", ("car",))),
        (
            ["car", "person", "car"],
            PULLED,
            "vehicle-type",
            Finder("yolox-nano", ("car", "person"), "vehicle-type", ("car",)),
        ),
        (["car"], PULLED, "vehicle-type", Finder("yolox-nano", ("car",), "vehicle-type")),
        (["person"], PULLED, "vehicle-type", Finder("yolox-nano", ("person",), "vehicle-type")),
    ],
)
def test_who_finds_it(wanted: list[str], words: ModelWords, recogniser: str | None, expected: Finder) -> None:
    assert finder(wanted, words, recogniser) == expected


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (["person"], "no model here finds person: `sluice models pull yolox-nano` fetches one that does"),
        (["persn"], "--find 'persn': no model finds it; did you mean 'person'?"),
        (["truck", "person"], "no single model finds truck, person: make a query for each"),
    ],
)
def test_what_nobody_finds_is_said_with_a_remedy(wanted: list[str], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        finder(wanted, SHIPPED)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_the_query_is_right_and_tells_streams_of_one_name_apart(tmp_path: Path) -> None:
    uris = [SourceUri(each) for each in ("rtsp://u:hunter22@cam/1", "rtsp://u:hunter22@cam/1?x=2", "/a/'b\": {c}.mp4")]
    secrets = SecretFiles("yard")
    text = query_text("yard", uris, Finder("motion", (), "vehicle-type"), secrets)
    path = write(tmp_path / "yard.yaml", text)
    assert "hunter22" not in text
    assert secrets.names == {"hunter22": "yard.secret"}
    (tmp_path / "yard.secret").write_text("hunter22\n")
    assert [str(problem) for problem in examine(path).problems] == []
    query = load_query(path)
    assert [stream.id for stream in query.streams] == ["cam-1", "cam-1-2", "b-c"]
    assert str(query.streams[2].uri) == "/a/'b\": {c}.mp4"
    assert [stream.uri.reveal() for stream in query.streams] == [uri.reveal() for uri in uris]


def test_every_picture_of_a_folder_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    sources = [SourceUri(str(tmp_path / "photos")), SourceUri("clip.mp4")]
    query = load_query(
        write(tmp_path / "q.yaml", query_text("q", sources, Finder("motion"), SecretFiles("q"))),
    )
    assert [stream.sample for stream in query.streams] == ["all", Fps(fps=5)]


def test_a_network_runs_when_it_is_needed(tmp_path: Path) -> None:
    asked = [Finder("yolox-nano", ("car",)), Finder("motion")]
    queries = [
        load_query(write(tmp_path / "yard.yaml", query_text("yard", [SourceUri("v4l2:0")], found, SecretFiles("yard"))))
        for found in asked
    ]
    assert [getattr(query.nodes[0], "when", None) for query in queries] == ["needed", "always"]


@given(st.text(max_size=80))
def test_every_file_name_gives_a_name_for_its_query(stem: str) -> None:
    assert re.fullmatch(r"[a-z0-9-]{1,50}", query_name(stem))


def test_people_and_vehicles_are_looked_for_by_a_detector_that_is_here() -> None:
    known = ModelWords({"faces": ["face"], "small": ["car", "person", "dog"]}, {}, {})
    assert everyday(known) == Finder("small", ("person", "car"))
    assert everyday(SHIPPED) == Finder("motion")


def test_a_recogniser_is_asked_about_what_it_has_words_for(tmp_path: Path) -> None:
    found = finder(["car", "person"], PULLED, "vehicle-type")
    text = query_text("yard", [SourceUri("synthetic:street")], found, SecretFiles("yard"))
    assert 'input: "track[label in (car)]", model: vehicle-type' in text
    assert [str(each) for each in examine(write(tmp_path / "q.yaml", text)).problems] == []
    everything = query_text(
        "yard", [SourceUri("synthetic:street")], Finder("motion", (), "vehicle-type"), SecretFiles("y")
    )
    assert "input: track, model: vehicle-type" in everything
