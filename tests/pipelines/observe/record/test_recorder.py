"""What lies in the folder after something has happened, and what recording never does: wait, grow, or end a run."""

from __future__ import annotations

import json
import logging
import shutil
import threading
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from operators.frames.codec import decode_frame, encode_frame
from operators.wire.adaptation import Disagreement
from operators.wire.schema import Event, from_json
from pipelines.observe.record import recorder as recording_part
from pipelines.observe.record import window
from pipelines.observe.record.folder import BLOCK, Folder
from pipelines.observe.record.layout import Recording
from pipelines.observe.record.reading import episodes, frames, read_manifest, recordings
from pipelines.observe.record.recorder import Keeper, keeping, recorders
from serving.errors import BadInput
from tests.operators.publish.messages import picture, result, thing
from tests.pipelines.observe.forward.notes import count_note, event
from tests.pipelines.observe.record.scenes import disagreement, manifest, play, record, recording


def kept(directory: Path) -> dict[int, list[int]]:
    """The numbers of the frames by episode."""
    found: dict[int, list[int]] = {}
    for episode in episodes(directory):
        found[episode] = [each.result.seq for each in frames(directory, episode) if each.result is not None]
    return found


async def test_a_frame_that_came_as_a_jpeg_is_kept_as_it_came(tmp_path: Path) -> None:
    found = result(0)
    header, jpeg = encode_frame(picture(found, grey=77))
    with recorders(recording(tmp_path / "kept")) as (recorder,):
        await recorder.take(decode_frame(header, jpeg), found)
        recorder.event_found(event(seq=0, media_time_s=0.0))
    assert [each.jpeg for each in frames(tmp_path / "kept", 1)] == [jpeg]


def test_frames_before_and_after_an_event_are_kept_with_their_results(tmp_path: Path) -> None:
    into = tmp_path / "deep" / "evidence"
    with recorders(recording(into)) as (recorder,):
        play(recorder, range(51), thing(7))
        recorder.event_found(event(seq=50, media_time_s=5.0))
        counted = count_note().count
        assert counted is not None
        recorder.event_found(counted)
        play(recorder, range(51, 100), thing(7))
    assert kept(into) == {1: list(range(20, 71))}
    first = next(iter(frames(into, 1)))
    assert first.result is not None
    assert first.result.objects == [thing(7)]
    image = cv2.imdecode(np.frombuffer(first.jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert (image.shape, image.mean()) == ((48, 64, 3), pytest.approx(20, abs=1))
    (cause,) = (into / "000001" / "causes.jsonl").read_bytes().splitlines()
    assert from_json(cause, Event).type == "new"
    assert read_manifest(into).query == "q"
    for path in [into, *into.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0


def test_a_disagreement_is_kept_with_its_picture_and_the_frames_around_it(tmp_path: Path) -> None:
    crop = np.full((8, 8, 3), 200, np.uint8)
    with recorders(recording(tmp_path)) as (recorder,):
        play(recorder, range(11))
        recorder.audit_disagreed(disagreement(), crop)
        crop[:] = 0  # what was given may change afterwards
        recorder.audit_disagreed(disagreement("another"), None)
        play(recorder, range(11, 100))
    assert kept(tmp_path) == {1: list(range(31)), 2: []}
    (line,) = (tmp_path / "000001" / "causes.jsonl").read_bytes().splitlines()
    assert from_json(line, Disagreement) == disagreement()
    shown = cv2.imread(str(tmp_path / "000001" / "disagreement-000.jpg"))
    assert shown.mean() == pytest.approx(200, abs=2)


def test_the_oldest_evidence_goes_first_and_a_recording_goes_on_where_it_ended(tmp_path: Path) -> None:
    for run in range(3):
        with recorders(recording(tmp_path, 400_000)) as (recorder,):
            for episode in range(8):
                begin = 100 * episode
                play(recorder, range(begin, begin + 5), run=f"r{run}")
                recorder.event_found(event(run=f"r{run}", media_time_s=begin / 10 + 0.4))
                play(recorder, range(begin + 5, begin + 50), run=f"r{run}")
        size = sum(-(-file.stat().st_size // 4096) * 4096 for file in tmp_path.glob("*/*"))
        assert size <= 400_000
        numbers = episodes(tmp_path)
        assert numbers == list(range(numbers[0], 8 * (run + 1) + 1))
    assert numbers[0] > 16


def test_evidence_that_somebody_removes_meanwhile_does_not_end_the_recording(tmp_path: Path) -> None:
    of, jpeg, line = recording(tmp_path, most_bytes=6 * BLOCK), b"a picture", b"{}"
    folder = Folder(of)
    folder.add(of, 1, jpeg, line)
    folder.add(of, 2, jpeg, line)
    for number in (1, 2):
        shutil.rmtree(tmp_path / f"00000{number}")
    folder.add(of, 2, jpeg, line)  # the picture of the first line again
    assert sorted(each.name for each in (tmp_path / "000002").iterdir()) == ["00000.jpg", "results.jsonl"]
    for _ in range(4):
        folder.add(of, 3, jpeg, line)
    assert folder.bytes == 5 * BLOCK  # the first two are gone, and make no room twice
    assert [each.name for each in tmp_path.iterdir() if each.is_dir()] == ["000003"]
    shutil.rmtree(tmp_path)
    folder.add(of, 4, jpeg, line)
    assert read_manifest(tmp_path).query == "q"


def test_ordinary_events_give_way_where_recording_costs_much_and_crossings_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(window, "ALLOWANCE_S", -1e9)
    with caplog.at_level(logging.INFO), recorders(recording(tmp_path)) as (recorder,):
        play(recorder, range(5))
        recorder.event_found(event(media_time_s=0.4))
        recorder.event_found(event(media_time_s=0.4, type="cross", line="kerb"))
    (line,) = (tmp_path / "000001" / "causes.jsonl").read_text().splitlines()
    assert json.loads(line)["line"] == "kerb"
    assert "1 tracks' events were passed over" in caplog.text


def test_what_the_disk_is_too_slow_for_is_lost_counted_and_told_and_nobody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recording_part, "MOST_QUEUED", 5 * 64 * 48 * 3)
    go_on, add = threading.Event(), Folder.add

    def slow(self: Folder, *given: Any) -> None:
        go_on.wait(60)
        add(self, *given)

    monkeypatch.setattr(Folder, "add", slow)
    with caplog.at_level(logging.INFO), recorders(recording(tmp_path)) as (recorder,):
        play(recorder, range(4))
        recorder.event_found(event(seq=3, media_time_s=0.3))
        play(recorder, range(4, 20))
        go_on.set()
    lost = recorder.keeper.dropped
    assert lost == 16
    assert len(kept(tmp_path)[1]) == 20 - lost
    assert f"{lost} frames and causes were lost" in caplog.text


def test_a_full_disk_ends_the_recording_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(self: Folder, *given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Folder, "add", full)
    with recorders(recording(tmp_path)) as (recorder,):
        play(recorder, range(4))
        recorder.event_found(event(seq=3, media_time_s=0.3))
        play(recorder, range(4, 20))
    assert caplog.text.count("has ended: No space left on device") == 1
    assert recorder.keeper.written == 0


def test_another_run_and_a_stream_that_is_gone_are_no_part_of_an_episode(tmp_path: Path) -> None:
    with recorders(recording(tmp_path)) as (recorder,):
        recorder.event_found(event())  # of a stream that nobody has seen
        play(recorder, range(3))
        recorder.event_found(event(run="r0"))
        play(recorder, range(3), run="r2")
        recorder.event_found(event(run="r2", seq=2, media_time_s=0.2))
        recorder.stream_dropped("yard")
        recorder.event_found(event(run="r2", type="end"))
        play(recorder, range(3, 6), run="r2")
    assert kept(tmp_path) == {1: [0, 1, 2]}


@pytest.mark.parametrize(
    ("there", "complaint"),
    [("something.txt", "other things lie there"), ("manifest.json", "cannot be read")],
)
def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, there: str, complaint: str) -> None:
    (tmp_path / there).write_text("{}x")
    with pytest.raises(BadInput, match=complaint):
        Folder(recording(tmp_path))
    assert [each.name for each in tmp_path.iterdir()] == [there]


def test_what_another_query_has_recorded_is_left_alone(tmp_path: Path) -> None:
    record(tmp_path)
    with pytest.raises(BadInput, match="frames of query q as it was then"):
        Folder(recording(tmp_path, digest="1" * 64))


def test_a_place_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="choose another folder"):
        Folder(recording(tmp_path / "file" / "evidence"))


def episode(keeper: Keeper, query: str, at: int, digest: str = "0" * 64) -> None:
    """A query sees five frames, and something happens."""
    recorder = keeper.of(manifest(query, digest))
    play(recorder, range(at, at + 5))
    recorder.event_found(event(seq=at + 4, media_time_s=(at + 4) / 10))
    recorder.close()


def test_several_queries_have_a_recording_each_as_they_stand_in_their_files(tmp_path: Path) -> None:
    with keeping(Recording(tmp_path, None, 10_000_000)) as keeper:
        assert keeper is not None
        gate, yard = keeper.of(manifest("gate")), keeper.of(manifest("yard"))
        play(gate, range(5), thing(7))
        play(yard, range(5))
        gate.event_found(event(seq=4, media_time_s=0.4))
        yard.audit_disagreed(disagreement(at_s=0.4), None)
        gate.goes_on(manifest("gate"))  # its file is as it was
        play(gate, range(5, 8))
        gate.goes_on(manifest("gate", "1" * 64))
        play(gate, range(8, 10))
        gate.event_found(event(seq=9, media_time_s=0.9))
    assert [each.name for each in recordings(tmp_path)] == ["gate-00000000", "gate-11111111", "yard-00000000"]
    assert kept(tmp_path / "gate-00000000") == {1: list(range(8))}
    assert kept(tmp_path / "yard-00000000") == {2: list(range(5))}
    assert kept(tmp_path / "gate-11111111") == {3: [8, 9]}, "nothing of what it was before"
    assert read_manifest(tmp_path / "gate-11111111").query_sha256 == "1" * 64
    for path in [tmp_path, *tmp_path.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(
        BadInput, match=r"is no recording: name one of those in it: \S*gate-00000000, \S*gate-11111111, "
    ):
        read_manifest(tmp_path)


def test_several_queries_share_the_room_and_the_oldest_evidence_of_all_goes_first(tmp_path: Path) -> None:
    for digest in ("0" * 64, "1" * 64):
        with keeping(Recording(tmp_path, None, 6 * 7 * BLOCK)) as keeper:
            assert keeper is not None
            for at in range(0, 40, 10):
                for query in ("gate", "yard"):
                    episode(keeper, query, at, digest)
        assert keeper.bytes <= 6 * 7 * BLOCK
    found = {each.name: episodes(each) for each in recordings(tmp_path)}
    assert found == {"gate-11111111": [11, 13, 15], "yard-11111111": [12, 14, 16]}, (
        "of the former queries nothing is left"
    )


@pytest.mark.parametrize("there", ["photo.jpg", "photos/one.jpg", "manifest.json"])
def test_a_folder_with_other_things_gets_no_recordings_of_several_queries(tmp_path: Path, there: str) -> None:
    (tmp_path / there).parent.mkdir(exist_ok=True)
    (tmp_path / there).touch()
    with pytest.raises(BadInput, match="other things lie there"):
        Folder(Recording(tmp_path, None, 1))
    assert (tmp_path / there).exists()


def test_a_recording_that_a_killed_process_had_just_begun_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "gate-00000000").mkdir()
    with keeping(Recording(tmp_path, None, 1_000_000)) as keeper:
        assert keeper is not None
        episode(keeper, "gate", 0)
    assert kept(tmp_path / "gate-00000000") == {1: list(range(5))}


def test_a_query_that_was_withdrawn_is_recorded_no_more_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    with recorders(recording(tmp_path)) as (recorder,):
        play(recorder, range(3))
        recorder.close()
        recorder.audit_disagreed(disagreement(), None)  # of a node that another query shares
        play(recorder, range(3, 6))
        recorder.event_found(event(media_time_s=0.5))
        recorder.goes_on(manifest())
        play(recorder, range(6, 9))
        recorder.event_found(event(media_time_s=0.8))
    assert kept(tmp_path) == {1: [6, 7, 8]}
