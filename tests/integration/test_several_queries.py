"""Several queries on one worker, at a real broker: what they share runs once, and they come, change and go."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from operators.frames.frame import Frame, Region
from operators.testing import make_region
from operators.wire.schema import Event, Result, from_json
from pipelines.assembly.parts import Setting
from pipelines.environment import catalogue
from pipelines.observe.record.layout import Recording
from pipelines.observe.record.reading import episodes, frames, read_manifest, recordings
from pipelines.observe.record.recorder import Keeper, keeping
from pipelines.worker.common import Common
from pipelines.worker.following import Following
from pipelines.worker.open_queries import OpenQueries
from pipelines.worker.query_files import QueryFiles
from pipelines.worker.worker import WorkerConfig, run_worker
from tests.integration.worker_parts import Wire, frame_message

pytestmark = pytest.mark.kafka

DETECT = {"name": "detect", "task": "detect", "model": "motion"}
TRACK = {"name": "track", "task": "track", "input": "detect", "confirm_s": 0}
TYPE = {"name": "type", "task": "recognise", "input": "detect", "model": "vehicle-type", "answer": "look"}
FACES = {"name": "faces", "task": "detect", "model": "motion", "max_objects": 7}

CALLS = Counter[tuple[str, int]]()


@pytest.fixture(autouse=True)
def one_object_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    async def process(self: Any, frame: Frame, regions: object, call: object) -> list[Region]:
        CALLS[self._node, frame.seq] += 1
        return [make_region(0.1 + 0.002 * frame.seq, node=self._node, label="moving")]

    CALLS.clear()
    monkeypatch.setattr("operators.detect.motion.MotionDetector.process", process)


@pytest.fixture
def prefix(topic_prefix: str) -> str:
    return topic_prefix


def write(folder: Path, name: str, prefix: str, *nodes: Mapping[str, object], **more: object) -> Path:
    said = {"version": 1, "name": name, "slo_ms": 60_000, "nodes": list(nodes), "learning": {"budget": 0}}
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(said | {"publish": {"topics": {"prefix": prefix}}} | more))
    return path


class Desk:
    """A worker's queries, in this process."""

    def __init__(self, wire: Wire, folder: Path, keeper: Keeper | None = None) -> None:
        self.config = WorkerConfig(wire.broker, "several", wire.topics.frames, give_up_s=20)
        self.files = QueryFiles([folder], catalogue([]))
        self.common = Common(self.files.known, Setting())
        self.queries = OpenQueries(self.config, self.common, {}, keeper=keeper)
        self.following = Following(self.files, self.queries)


@asynccontextmanager
async def working(wire: Wire, folder: Path, keeper: Keeper | None = None) -> AsyncIterator[Desk]:
    desk, stop, ready = Desk(wire, folder, keeper), asyncio.Event(), asyncio.Event()
    async with desk.common:
        await desk.following.open()
        task = asyncio.create_task(run_worker(desk.config, desk.queries.roster, stop=stop, ready=ready))
        try:
            await asyncio.wait([task, asyncio.create_task(ready.wait())], return_when=asyncio.FIRST_COMPLETED)
            yield desk
        finally:
            stop.set()
            await asyncio.wait_for(task, 60)


async def results(wire: Wire, count: int) -> list[Result]:
    async with asyncio.timeout(180):
        while len(found := await wire.all_of(wire.topics.results)) < count:  # noqa: ASYNC110 - messages are no event
            await asyncio.sleep(0.2)
    return [from_json(each.value, Result) for each in found]


def seqs(found: Sequence[Result], query: str) -> list[int]:
    return [each.seq for each in found if each.query == query]


def objects(found: Sequence[Result], query: str) -> list[object]:
    told = [each for each in found if each.query == query]
    return [
        [(each.label, each.track_id, [said.label for said in each.attributes]) for each in result.objects]
        for result in sorted(told, key=lambda result: result.seq)
    ]


async def test_queries_on_one_stream_share_what_is_the_same_and_answer_as_they_do_alone(
    wire: Wire, prefix: str, tmp_path: Path
) -> None:
    frames = 20
    await wire.send([frame_message("cam", seq) for seq in range(frames)])
    write(tmp_path, "counts", prefix, DETECT, TRACK)
    write(tmp_path, "types", prefix, FACES, DETECT, TYPE, TRACK)
    async with working(wire, tmp_path):
        together = await results(wire, 2 * frames)
    calls = dict(CALLS)
    assert seqs(together, "counts") == seqs(together, "types") == list(range(frames))
    assert set(calls.values()) == {1}, "each detector saw each frame once"

    alone = []
    for name in ("counts", "types"):
        folder = tmp_path / f"only-{name}"
        folder.mkdir()
        (folder / f"{name}.yaml").write_text(
            (tmp_path / f"{name}.yaml").read_text().replace(f"name: {name}", f"name: {name}-alone")
        )
        async with separate(wire, folder, name):
            alone = await results(wire, (3 if name == "counts" else 4) * frames)
    for name in ("counts", "types"):
        assert objects(together, name) == objects(alone, f"{name}-alone")
    assert objects(together, "types")[3][0][2] == []  # type: ignore[index]


@asynccontextmanager
async def separate(wire: Wire, folder: Path, group: str) -> AsyncIterator[None]:
    """A worker of its own, which begins with the oldest frame."""
    desk, stop = Desk(wire, folder), asyncio.Event()
    config = WorkerConfig(wire.broker, f"alone-{group}", wire.topics.frames, give_up_s=20)
    async with desk.common:
        await desk.following.open()
        task = asyncio.create_task(run_worker(config, desk.queries.roster, stop=stop))
        try:
            yield
        finally:
            stop.set()
            await asyncio.wait_for(task, 60)


async def test_queries_come_change_and_go_while_the_others_run_and_no_frame_is_lost(
    wire: Wire, prefix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    write(tmp_path, "stays", prefix, DETECT, TRACK)
    sent = 0

    async def more(count: int = 10) -> None:
        nonlocal sent
        await wire.send([frame_message("cam", seq) for seq in range(sent, sent + count)])
        sent += count

    async with working(wire, tmp_path) as desk:
        await more()
        await results(wire, 10)

        comes = write(tmp_path, "comes", prefix, DETECT, TRACK, TYPE)
        await desk.following.look()
        await more()
        await results(wire, 30)

        (tmp_path / "bad.yaml").write_text("version: 1\nname: Bad Name\n")
        comes.write_text(comes.read_text().replace("vehicle-type", "vehicle-tipe"))
        await desk.following.look()
        refused = [each.getMessage() for each in caplog.records if "refused" in each.getMessage()]
        await more()
        await results(wire, 50)

        write(tmp_path, "comes", prefix, DETECT, TRACK, TYPE, FACES)
        await desk.following.look()
        await more()
        await results(wire, 70)

        comes.unlink()
        await desk.following.look()
        await desk.following.look()
        await more()
        found = await results(wire, 80)
        await asyncio.sleep(0.5)
        assert len(await results(wire, 80)) == 80

    assert seqs(found, "stays") == list(range(50))
    assert seqs(found, "comes") == list(range(10, 40))
    assert {each.outcome for each in found} == {"analysed"}
    assert len(refused) == 2
    assert all("\n" not in line for line in refused)
    assert any("refused, query comes runs on as it was" in line and "vehicle-tipe" in line for line in refused)
    assert any("refused, it does not run" in line and "bad.yaml" in line for line in refused)
    assert set(CALLS.values()) == {1}
    tracks = {each.track_id for result in found for each in result.objects}
    assert len(tracks - {None}) == 1, "unchanged nodes keep their state, and so does the query that shares them"
    events = [from_json(each.value, Event) for each in await wire.all_of(wire.topics.events)]
    begun = Counter(each.query for each in events if each.type == "new")
    assert begun == {"stays": 1, "comes": 1}, "events go on over a change that leaves them as they were"


async def test_queries_of_other_topics_and_of_a_name_that_is_taken_are_refused(
    wire: Wire, prefix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, "first", prefix, DETECT)
    async with working(wire, tmp_path) as desk:
        write(tmp_path, "other", "elsewhere.", DETECT)
        second = write(tmp_path, "second", prefix, DETECT)
        second.write_text(second.read_text().replace("name: second", "name: first"))
        await desk.following.look()
    said = " ".join(each.getMessage() for each in caplog.records)
    assert f"it reads elsewhere.frames.v1, and this worker reads {wire.topics.frames}" in said
    assert "'first' is the query in" in said


async def test_each_query_goes_on_where_it_was_after_a_restart(wire: Wire, prefix: str, tmp_path: Path) -> None:
    write(tmp_path, "first", prefix, DETECT, TRACK)
    write(tmp_path, "second", prefix, DETECT, FACES)
    await wire.send([frame_message("cam", seq) for seq in range(12)])
    async with working(wire, tmp_path):
        await results(wire, 4)
    (tmp_path / "third.yaml").write_text((tmp_path / "first.yaml").read_text().replace("name: first", "name: third"))
    await wire.send([frame_message("cam", seq) for seq in range(12, 20)])
    async with working(wire, tmp_path):
        found, count = await results(wire, 48), 48
        while {len(seqs(found, name)) for name in ("first", "second")} != {20} or seqs(found, "third")[-1] != 19:
            found, count = await results(wire, count + 1), count + 1
    for name in ("first", "second"):
        assert seqs(found, name) == list(range(20))
    assert seqs(found, "third")[-8:] == list(range(12, 20))


async def test_tracks_of_a_query_that_is_withdrawn_end(wire: Wire, prefix: str, tmp_path: Path) -> None:
    write(tmp_path, "stays", prefix, DETECT, TRACK)
    goes = write(tmp_path, "goes", prefix, DETECT, TRACK)
    await wire.send([frame_message("cam", seq) for seq in range(10)])
    async with working(wire, tmp_path) as desk:
        await results(wire, 20)
        goes.unlink()
        for _ in range(2):
            await desk.following.look()
        told = [from_json(each.value, Event) for each in await wire.all_of(wire.topics.events)]
    (track,) = {each.track_id for each in told}
    assert [(each.type, each.track_id) for each in told if each.query == "goes"] == [("new", track), ("end", track)]
    assert [each.type for each in told if each.query == "stays"] == ["new"]


async def test_each_query_is_recorded_as_it_stands_in_its_file(wire: Wire, prefix: str, tmp_path: Path) -> None:
    folder, evidence = tmp_path / "queries", tmp_path / "evidence"
    folder.mkdir()
    told = {"publish": {"topics": {"prefix": prefix}, "events": {"update_every_s": 0.1}}}
    write(folder, "stays", prefix, DETECT, TRACK, **told)
    write(folder, "changes", prefix, DETECT, TRACK, **told)
    with keeping(Recording(evidence, None, 10_000_000)) as keeper:
        async with working(wire, folder, keeper) as desk:
            await wire.send([frame_message("cam", seq) for seq in range(10)])
            await results(wire, 20)
            write(folder, "changes", prefix, DETECT, TRACK, slo_ms=50_000, **told)
            await desk.following.look()
            await wire.send([frame_message("cam", seq) for seq in range(10, 20)])
            await results(wire, 40)

    def recorded(name: str) -> list[list[int]]:
        """The frames of the recordings of a query, the oldest recording first."""
        found = []
        for place in recordings(evidence):
            kept = [each.result for number in episodes(place) for each in frames(place, number)]
            if read_manifest(place).query == name:
                assert {each.query for each in kept if each is not None} == {name}
                found.append([each.seq for each in kept if each is not None])
        return sorted(found)

    assert recorded("stays") == [list(range(20))]
    before, after = recorded("changes")
    assert before == list(range(10))
    assert set(after) <= set(range(10, 20))
    assert after[-1] == 19
