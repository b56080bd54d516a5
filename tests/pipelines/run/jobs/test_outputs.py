"""Durable results, in both forms: what is there is remembered, what was cut off is not, and nobody else writes."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from operators.wire.schema import to_json
from pipelines.run.jobs import parquet_output
from pipelines.run.jobs.json_output import open_output
from pipelines.run.jobs.output import LEAST_LEAD, Position
from serving.common.files import PlaceClosed
from serving.errors import BadInput
from tests.pipelines.run.jobs.results import found, result

FORMS = ["r.jsonl", "r.parquet"]


async def write(place: Path, *results, anew: bool = False) -> None:  # type: ignore[no-untyped-def]
    with closing(open_output(place, anew)) as output:
        for each in results:
            await output.write(each)
        for stream in {each.stream for each in results}:
            await output.settle(stream)


def seqs(place: Path, stream: str = "gate") -> list[int]:
    if place.is_dir():
        pq = pytest.importorskip("pyarrow.parquet")
        rows = [row for file in sorted(place.glob("part-*")) for row in pq.read_table(file).to_pylist()]
    else:
        rows = [json.loads(line) for line in place.read_text().splitlines()]
    return [row["seq"] for row in rows if row["stream"] == stream]


@pytest.mark.parametrize("form", FORMS)
async def test_what_was_written_is_known_when_it_is_opened_again(tmp_path: Path, form: str) -> None:
    place = tmp_path / form
    await write(place, *(result(seq, found(seq), stream=name, fps=1) for seq in range(40) for name in ("a", "b")))
    await write(place, *(result(seq, found(seq), stream="a", fps=1) for seq in range(40, 43)))
    with closing(open_output(place, anew=False)) as output:
        assert output.positions == {"a": Position("q-r", 42, 42.0), "b": Position("q-r", 39, 39.0)}
        assert [each.seq for each in output.tail("a")] == list(range(22, 43))
        assert [each.seq for each in output.tail("b")] == list(range(19, 40))
        assert output.tail("b")[-1].objects[0].track_id == 39
        assert output.tail("c") == []
    assert seqs(place, "a") == list(range(43))


@pytest.mark.parametrize("form", FORMS)
async def test_a_lead_in_has_some_frames_however_far_apart(tmp_path: Path, form: str) -> None:
    place = tmp_path / form
    await write(place, *(result(seq, fps=0.01) for seq in range(30)))
    with closing(open_output(place, anew=False)) as output:
        assert [each.seq for each in output.tail("gate")] == list(range(30))[-LEAST_LEAD:]


@pytest.mark.parametrize("form", FORMS)
async def test_anew_loses_what_is_there(tmp_path: Path, form: str) -> None:
    place = tmp_path / form
    await write(place, result(0), result(1))
    await write(place, result(0, run="other"), anew=True)
    with closing(open_output(place, anew=False)) as output:
        assert output.positions == {"gate": Position("other", 0, 0.0)}


@pytest.mark.parametrize("form", FORMS)
async def test_two_processes_do_not_write_to_one_place(tmp_path: Path, form: str) -> None:
    with closing(open_output(tmp_path / form, anew=False)), pytest.raises(BadInput, match="another process writes"):
        open_output(tmp_path / form, anew=False)
    open_output(tmp_path / form, anew=False).close()


@pytest.mark.parametrize("form", FORMS)
def test_a_file_system_without_locks_is_told(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))))
    with pytest.raises(PlaceClosed, match=r"cannot write results .*: No locks available"):
        open_output(tmp_path / form, anew=False)


@pytest.mark.parametrize("form", FORMS)
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, form: str) -> None:
    with pytest.raises(BadInput, match="cannot write results"):
        open_output(tmp_path / "none" / form, anew=False)


async def test_a_line_that_a_kill_cut_off_is_taken_away(tmp_path: Path) -> None:
    place = tmp_path / "r.jsonl"
    await write(place, result(0), result(1))
    for cut in (1, 40, len(to_json(result(1)))):
        place.write_bytes(place.read_bytes()[:-cut])
        await write(place, result(1))
        assert seqs(place) == [0, 1]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([b"{}"], "line 1 is no result"),
        ([b"\xff\xfe"], "line 1 is no result"),
        ([to_json(result(0)), to_json(result(2))], "line 2 does not follow"),
        ([to_json(result(0)), to_json(result(1, run="other"))], "line 2 does not follow"),
        ([to_json(result(3))], "line 1 does not follow"),
    ],
)
async def test_a_file_of_something_else_is_refused_and_left_alone(
    tmp_path: Path, lines: list[bytes], said: str
) -> None:
    place = tmp_path / "r.jsonl"
    place.write_bytes(b"\n".join(lines) + b"\n")
    before = place.read_bytes()
    with pytest.raises(BadInput, match=said):
        open_output(place, anew=False)
    assert place.read_bytes() == before
    open_output(place, anew=True).close()


@pytest.mark.parametrize("content", [b'{"mine": 1}', b"\x00\x01", b'{"schema":"sluice.event/1'])
def test_a_file_of_one_line_without_an_end_is_left_alone_unless_it_began_as_a_result(
    tmp_path: Path, content: bytes
) -> None:
    place = tmp_path / "notes.json"
    place.write_bytes(content)
    with pytest.raises(BadInput, match="line 1 is no result"):
        open_output(place, anew=False)
    assert place.read_bytes() == content


def test_stdout_is_no_place_to_go_on_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="give it a file"):
        open_output(Path("-"), anew=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cut", [1, 10, 40])
async def test_the_first_line_may_be_cut_off_anywhere(tmp_path: Path, cut: int) -> None:
    place = tmp_path / "r.jsonl"
    place.write_bytes(to_json(result(0))[:cut])
    await write(place, result(0))
    assert seqs(place) == [0]


async def test_a_part_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_output, "ROWS", 10)
    place = tmp_path / "r.parquet"
    output = open_output(place, anew=False)
    for seq in range(25):
        await output.write(result(seq))
    assert output.positions == {"gate": Position("q-r", 19, 1.9)}
    output.close()  # as a kill would: what waits is lost
    (place / "_part-gate-000000000020.parquet").write_bytes(b"half")
    await write(place, *(result(seq) for seq in range(20, 25)))
    assert seqs(place) == list(range(25))
    assert sorted(each.name for each in place.iterdir()) == [
        "_lock",
        *(f"part-gate-{seq:012d}.parquet" for seq in (0, 10, 20)),
    ]


@pytest.mark.parametrize("form", FORMS)
async def test_a_recording_that_has_ended_is_on_the_disk(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: dict[int, int] = {}

    def fsync(file: int) -> None:
        found = os.fstat(file)
        synced[found.st_ino] = found.st_size

    monkeypatch.setattr(os, "fsync", fsync)
    place = tmp_path / form
    with closing(open_output(place, anew=False)) as output:
        await output.write(result(0))
        await output.settle("gate")
        (written,) = place.glob("part-*") if place.is_dir() else [place]
        assert synced[written.stat().st_ino] == written.stat().st_size > 0
        assert written.parent.stat().st_ino in synced


async def test_parts_that_are_none_or_missing_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_output, "ROWS", 2)
    place = tmp_path / "r.parquet"
    await write(place, *(result(seq) for seq in range(6)))
    middle = place / "part-gate-000000000002.parquet"
    content = middle.read_bytes()
    middle.write_bytes(content[:100])
    with pytest.raises(BadInput, match=r"000000000002\.parquet: cannot be read"):
        open_output(place, anew=False)
    middle.unlink()
    with pytest.raises(BadInput, match="results from 2 on are missing"):
        open_output(place, anew=False)
    (place / "notes.txt").touch()
    with pytest.raises(BadInput, match=r"notes\.txt is no part"):
        open_output(place, anew=False)


async def test_a_row_says_what_a_line_says(tmp_path: Path) -> None:
    ds = pytest.importorskip("pyarrow.dataset")
    await write(tmp_path / "r.parquet", result(0, found(7), found(None, 0.5, "bus")), result(1))
    rows = ds.dataset(tmp_path / "r.parquet", format="parquet").to_table().to_pylist()
    assert [row["seq"] for row in rows] == [0, 1]
    assert [(each["label"], each["track_id"], each["x_min"]) for each in rows[0]["objects"]] == [
        ("car", 7, 0.1),
        ("bus", None, 0.5),
    ]
    assert json.loads(rows[0]["plan"])["slo_ms"] == 100.0
    assert rows[1]["captured_at"] == result(1).frame.captured_at
