"""``sluice run`` on a clip or camera in place of a query, and on what is neither."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pipelines.cli import sluice
from serving.errors import BadInput, QueryError, SluiceError, SourceError
from tests.models import yolox_nano
from tests.pipelines.queries import write
from tests.pipelines.run.test_run_query import write_clip
from tests.real.http_files import serve_files


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No models but those that ship."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("SLUICE_MODELS", raising=False)
    monkeypatch.chdir(tmp_path)


def run(*arguments: object) -> Result:
    found = CliRunner().invoke(sluice, ["run", *map(str, arguments)])
    if isinstance(found.exception, SluiceError):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found


def told(said: Result) -> str:
    """The line that says what is done."""
    (line,) = [each for each in said.stderr.splitlines() if each.startswith("default query: ")]
    return line


def results(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_clip_without_a_detector_is_looked_at_for_what_moves(tmp_path: Path) -> None:
    write_clip(tmp_path / "my clip.mp4")
    line = told(run("my clip.mp4", "--out", "out.jsonl"))
    pull = "for people and vehicles: sluice models pull yolox-nano"
    assert line.startswith(
        f"default query: whatever moves, found by motion ({pull}); to write it to a file: sluice init "
    )
    found = results(tmp_path / "out.jsonl")
    assert {each["stream"] for each in found} == {"my-clip"}
    assert any(each["objects"] for each in found)

    words = shlex.split(line.partition("to write it to a file: ")[2])
    assert CliRunner().invoke(sluice, words[1:], catch_exceptions=False).exit_code == 0
    run("query.yaml", "--out", "again.jsonl")
    assert [each["objects"] for each in results(tmp_path / "again.jsonl")] == [each["objects"] for each in found]


@pytest.mark.data
def test_with_a_detector_people_and_vehicles_are_looked_for(tmp_path: Path, data_dir: Path) -> None:
    yolox_nano(tmp_path / "models", data_dir)
    clip = data_dir / "videos" / "person-bicycle-car-detection.mp4"
    said = run(clip, "--models", tmp_path / "models", "--limit", 20, "--out", "out.jsonl", "--record", "kept")
    assert "person, bicycle, car, motorcycle, bus, truck, found by yolox-nano; to write" in told(said)
    plans = [each["plan"]["nodes"]["detect"] for each in results(tmp_path / "out.jsonl")]  # type: ignore[index]
    assert {each["variant"] for each in plans} == {"yolox-nano"}
    assert all("skipped" in each for each in plans)
    assert (tmp_path / "kept" / "manifest.json").stat().st_size < 10_000


def test_addresses_and_folders_are_sources_too(tmp_path: Path) -> None:
    write_clip(tmp_path / "clip.mp4")
    with serve_files({"/clip.mp4": (tmp_path / "clip.mp4").read_bytes()}) as server:
        address = f"{server.url.replace('://', '://admin:hunter22@')}/clip.mp4"
        said = run(address, "--limit", 3, "--out", "out.jsonl")
    assert "hunter22" not in said.output
    assert "--source 'http://***@" in told(said)
    assert len(results(tmp_path / "out.jsonl")) == 3
    assert "synthetic:street?duration_s=1" in told(run("synthetic:street?duration_s=1", "--limit", 2))


@pytest.mark.parametrize("name", ["null", "true", "1", "0x1f", "é"])
def test_names_that_yaml_would_take_for_something_else_are_names(name: str, tmp_path: Path) -> None:
    write_clip(tmp_path / f"{name}.mp4", frames=3)
    assert told(run(f"{name}.mp4"))


NEITHER = {
    "none.mp4": "none.mp4 is neither a query (docs/query.md) nor a clip: no such file",
    "notes.txt": "notes.txt is neither a query (docs/query.md) nor a clip: it is a text without nodes",
    "mapping.txt": "mapping.txt is neither a query (docs/query.md) nor a clip: it is a text without nodes",
    "noise.bin": "noise.bin is neither a query (docs/query.md) nor a clip: not a video, or damaged",
    "empty": "empty is neither a query (docs/query.md) nor a clip: the file is empty",
    "folder": "folder is neither a query (docs/query.md) nor a clip: no images in this directory",
    "synthetic:street?sed=1": "unknown street option 'sed'",
    "htp://camera/1": "neither a query nor a clip or camera: source htp://…: unknown kind",
    "v4l2:x": "neither a query nor a clip or camera: source 'v4l2:x': not understood",
    "a\0b": "neither a query",
}


@pytest.mark.parametrize("what", NEITHER)
def test_what_is_neither_gets_one_line(what: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("remember the milk\n" * 50)
    (tmp_path / "mapping.txt").write_text("milk: 2\neggs: 6\n" * 1)
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises((BadInput, SourceError)) as caught:
        run(what)
    assert NEITHER[what] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_query_by_another_name_is_a_query_and_a_wrong_one_says_what_is_wrong(tmp_path: Path) -> None:
    text = """\
        version: 1
        name: street
        slo_ms: 5000
        streams: [{uri: "synthetic:street?duration_s=1"}]
        nodes: [{name: detect, task: detect, model: motion}]
    """
    assert "default query" not in run(write(tmp_path / "query", text), "--limit", 2).output
    with pytest.raises(QueryError, match=r"q\.yaml: cannot be read"):
        run("q.yaml")
    with pytest.raises(QueryError, match=re.escape("nane: unknown key")):
        run(write(tmp_path / "typo", text.replace("name: street", "nane: street")))


def test_a_clip_and_a_source_are_one_too_many(tmp_path: Path) -> None:
    write_clip(tmp_path / "clip.mp4")
    with pytest.raises(BadInput, match=r"clip\.mp4 is no query: give it alone, or a query with --source"):
        run("clip.mp4", "--source", "clip.mp4")


MOTION = "version: 1\nname: q\nslo_ms: 500\nnodes: [{name: detect, task: detect, model: motion}]\n"


@pytest.mark.parametrize("option", ["--out", "--events", "--annotate", "--report"])
@pytest.mark.parametrize("over", ["clip.mp4", "query.yaml", "link.mp4"])
def test_nothing_is_written_over_what_is_read(option: str, over: str, tmp_path: Path) -> None:
    write_clip(tmp_path / "clip.mp4")
    (tmp_path / "link.mp4").hardlink_to(tmp_path / "clip.mp4")
    query = write(tmp_path / "query.yaml", MOTION + "streams: [{uri: clip.mp4}]\n")
    before = (tmp_path / over).read_bytes()
    with pytest.raises(BadInput, match=rf"{option} \S*{over}: would be written over the \w+"):
        run(query, option, over)
    assert (tmp_path / over).read_bytes() == before


def test_no_video_of_several_streams_is_written_over_one_of_them(tmp_path: Path) -> None:
    write_clip(tmp_path / "car-b.mp4")
    before = (tmp_path / "car-b.mp4").read_bytes()
    streams = "streams: [{id: a, uri: car-b.mp4}, {id: b, uri: car-b.mp4}]\n"
    query = write(tmp_path / "query.yaml", MOTION + streams)
    with pytest.raises(BadInput, match=r"--annotate car-b\.mp4: would be written over the source of stream b"):
        run(query, "--annotate", "car.mp4")
    assert (tmp_path / "car-b.mp4").read_bytes() == before


def test_a_job_is_not_written_over_its_recording(tmp_path: Path) -> None:
    write_clip(tmp_path / "clip.mp4")
    said = [
        "submit",
        str(write(tmp_path / "query.yaml", MOTION)),
        "--source",
        "clip.mp4",
        "--out",
        "./clip.mp4",
        "--anew",
    ]
    found = CliRunner().invoke(sluice, said)
    assert (
        str(found.exception) == "--out clip.mp4: would be written over the source of stream clip: choose another place"
    )
    assert (tmp_path / "clip.mp4").stat().st_size > 0


@pytest.mark.parametrize("option", ["--out", "--events"])
def test_lines_for_programs_are_alone_on_stdout(option: str, tmp_path: Path) -> None:
    write_clip(tmp_path / "clip.mp4")
    said = run("clip.mp4", option, "-")
    assert [json.loads(line)["stream"] for line in said.stdout.splitlines()]
    assert " analysed " in said.stderr


def test_it_is_said_where_events_cannot_come(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_clip(tmp_path / "clip.mp4", frames=3)
    run(write(tmp_path / "query.yaml", MOTION), "--source", "clip.mp4", "--events", "events.jsonl")
    said = "--events: nothing is tracked, so there are none: add a node with task: track"
    assert [each.message for each in caplog.records if "--events" in each.message] == [said]
    caplog.clear()
    run("clip.mp4", "--events", "events.jsonl")
    assert "--events" not in caplog.text


def test_what_is_written_has_a_place_of_its_own(tmp_path: Path) -> None:
    write_clip(tmp_path / "clip.mp4")
    with pytest.raises(BadInput, match=r"--events ./all.jsonl: would be written over what --out writes"):
        run("clip.mp4", "--out", "all.jsonl", "--events", "./all.jsonl")
    run("clip.mp4", "--limit", 1, "--out", "/dev/null", "--events", "/dev/null")
