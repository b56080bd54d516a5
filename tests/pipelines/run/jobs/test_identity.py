"""Results say by which query, and of which recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.capture.spec import CaptureSpec
from pipelines.run.jobs import chunks
from pipelines.run.jobs.chunks import recordings
from pipelines.run.jobs.identity import Identity, identity_of, query_digest, recording_digest
from serving.errors import BadInput, SourceError

QUERY = {"version": 1, "name": "test", "nodes": [{"name": "detect", "model": "motion"}], "streams": [{"uri": "a.mp4"}]}


def spec(**options: object) -> CaptureSpec:
    return CaptureSpec(stream="gate", uri=SourceUri("a.mp4"), **options)  # type: ignore[arg-type]


def test_a_query_is_known_by_what_decides_its_results() -> None:
    known = query_digest(QUERY, {"m": "1"}, spec())
    assert known == query_digest({**QUERY, "streams": [{"uri": "b.mp4"}]}, {"m": "1"}, spec())
    assert known != query_digest({**QUERY, "slo_ms": 5}, {"m": "1"}, spec())
    assert known != query_digest(QUERY, {"m": "2"}, spec())
    others = [spec(sampling=Sampling("fps", 5)), spec(motion_gate=True), spec(max_width=640)]
    assert len({known, *(query_digest(QUERY, {"m": "1"}, each) for each in others)}) == 4


def test_a_file_is_known_by_its_content_wherever_it_lies(tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    one, other = tmp_path / "a.mp4", tmp_path / "b.mp4"
    one.write_bytes(content)
    other.write_bytes(content)
    known = recording_digest(SourceUri(str(one)))
    assert known == recording_digest(SourceUri(str(other)))
    for changed in (content[:-1], content + b"x", b"x" + content[1:], content[:-1] + b"x"):
        other.write_bytes(changed)
        assert recording_digest(SourceUri(str(other))) != known


def test_a_folder_of_pictures_is_known_by_their_names_and_sizes(tmp_path: Path) -> None:
    (tmp_path / "1.jpg").write_bytes(b"one")
    known = recording_digest(SourceUri(str(tmp_path)))
    (tmp_path / "notes.txt").touch()
    assert recording_digest(SourceUri(str(tmp_path))) == known
    (tmp_path / "2.jpg").write_bytes(b"two")
    assert recording_digest(SourceUri(str(tmp_path))) != known


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        recording_digest(SourceUri(str(tmp_path / "none.mp4")))
    assert recording_digest(SourceUri("synthetic:street?seed=1")) != recording_digest(SourceUri("synthetic:street"))


def test_a_run_says_whose_it_is_and_one_of_something_else_is_nobodys() -> None:
    mine = Identity("0123", "abcd")
    assert identity_of(mine.run) == mine
    assert identity_of("5aad6bc738fa") == Identity("5aad6bc738fa", "")


def test_patterns_name_recordings_each_once_and_in_order(tmp_path: Path) -> None:
    for name in ("cam10.mp4", "cam9.mp4", "b/cam1.mp4", "notes.txt", "[x].mp4"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def named(*patterns: str) -> list[str]:
        found = recordings([str(tmp_path / each) for each in patterns])
        return [Path(each).relative_to(tmp_path).as_posix() for each in found]

    assert named("cam*.mp4") == ["cam9.mp4", "cam10.mp4"]
    assert named("cam10.mp4", "**/cam*.mp4") == ["cam10.mp4", "cam9.mp4", "b/cam1.mp4"]
    assert named("[x].mp4") == ["[x].mp4"]
    assert named("none.mp4") == ["none.mp4"]
    with pytest.raises(BadInput, match="no file is called so"):
        named("*.avi")
    with pytest.raises(BadInput, match="a camera has no end"):
        recordings(["rtsp://camera/1"])


def test_links_that_lead_round_in_a_circle_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    for name in ("cam2.mp4", "cam10.mp4"):
        (tmp_path / "a" / name).touch()
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "alias.mp4").symlink_to("cam2.mp4")
    found = recordings([str(tmp_path / "**" / "*.mp4")])
    assert found == [str(tmp_path / "a" / name) for name in ("alias.mp4", "cam10.mp4")]
    (tmp_path / "a" / "again").symlink_to(tmp_path / "a")
    monkeypatch.setattr(chunks, "MOST_RECORDINGS", 500)
    with pytest.raises(BadInput, match=r"more than 500 recordings.*round in a circle"):
        recordings([str(tmp_path / "**" / "*.mp4")])
