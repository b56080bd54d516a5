"""Files are followed: what is new is taken, what is gone is withdrawn, and what is wrong changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pipelines.assembly.parts import Setting
from pipelines.environment import catalogue
from pipelines.query.dag import CompiledQuery
from pipelines.settings import BrokerSettings
from pipelines.worker import following as following_files
from pipelines.worker.common import Common
from pipelines.worker.following import Following
from pipelines.worker.open_queries import OpenQueries
from pipelines.worker.query_files import QueryFiles
from pipelines.worker.worker import WorkerConfig
from serving.errors import BadInput
from tests.turns import until

TEXT = "version: 1\nname: {name}\nslo_ms: {slo}\nnodes: [{{name: find, task: detect, model: motion}}]\n"


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of these tests are written by nobody else."""
    monkeypatch.setattr(following_files, "SETTLE_S", 0.0)


class Ledger:
    """Notes what is taken and withdrawn, and refuses a query that is named so."""

    renamed = ()

    def __init__(self) -> None:
        self.files: dict[Path, str] = {}
        self.diary: list[str] = []

    async def take(self, path: Path, wanted: CompiledQuery, said: Mapping[Path, str] = {}) -> None:
        query = wanted.query
        if query.name == "unwanted":
            raise BadInput("nobody wants it")
        if query.name == "broken":
            raise RuntimeError("out of order")
        self.files[path] = query.name
        self.diary.append(f"{query.name} {query.slo_ms:g}")

    async def withdraw(self, name: str) -> None:
        self.files = {path: each for path, each in self.files.items() if each != name}
        self.diary.append(f"no {name}")
        if name == "tough":
            raise RuntimeError("out of order")


def write(folder: Path, **slos: int) -> None:
    for name, slo in slos.items():
        (folder / f"{name}.yaml").write_text(TEXT.format(name=name, slo=slo))


async def followed(folder: Path) -> tuple[Following, Ledger]:
    ledger = Ledger()
    following = Following(QueryFiles([folder], catalogue([])), ledger)  # type: ignore[arg-type]
    await following.open()
    return following, ledger


async def test_files_that_come_change_and_go(tmp_path: Path) -> None:
    write(tmp_path, a=1, b=1)
    following, ledger = await followed(tmp_path)
    await following.look()
    assert ledger.diary == ["a 1", "b 1"]
    write(tmp_path, b=2, c=1)
    await following.look()
    (tmp_path / "a.yaml").unlink()
    await following.look()
    assert ledger.diary == ["a 1", "b 1", "b 2", "c 1"], "a file that is being replaced may be away for a moment"
    await following.look()
    assert ledger.diary[-1] == "no a"
    write(tmp_path, a=1)
    await following.look()
    assert ledger.diary[-1] == "a 1"


async def test_what_is_refused_is_told_once_and_taken_when_it_is_mended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, a=1)
    following, ledger = await followed(tmp_path)
    write(tmp_path, a=0, unwanted=1, broken=1)
    for _ in range(3):
        await following.look()
    said = [each.getMessage() for each in caplog.records]
    assert len(said) == 3
    assert any("query a runs on as it was" in line and "a.yaml:3: slo_ms" in line for line in said)
    assert f"a query was refused, it does not run: {tmp_path / 'unwanted.yaml'}: nobody wants it" in said
    assert f"{tmp_path / 'broken.yaml'}: it was not taken: RuntimeError: out of order" in said
    assert ledger.diary == ["a 1"]
    write(tmp_path, a=5)
    await following.look()
    assert ledger.diary == ["a 1", "a 5"]


class HalfWritten(QueryFiles):
    """Files, one of which is being written while it is looked at."""

    rest: tuple[Path, str] | None = None

    def digests(self, known: Collection[Path] = ()) -> Mapping[Path, bytes]:
        found = super().digests(known)
        if self.rest is not None:
            (path, text), self.rest = self.rest, None
            path.write_text(text)
        return found


async def test_a_file_that_is_being_written_is_taken_when_it_is_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, a=1)
    files, ledger = HalfWritten([tmp_path], catalogue([])), Ledger()
    following = Following(files, ledger)  # type: ignore[arg-type]
    await following.open()
    path, text = tmp_path / "a.yaml", TEXT.format(name="a", slo=200)
    for half in (text.replace("200", "20"), "", text[:20]):
        path.write_text(half)
        files.rest = path, text
        await following.look()
        assert ledger.diary == ["a 1"]
    await following.look()
    assert ledger.diary == ["a 1", "a 200"]
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Following, OpenQueries]]:
    """Follows files with queries that are really opened."""
    known, config = catalogue([]), WorkerConfig(BrokerSettings(("127.0.0.1:1",)), "site", "sluice.frames.v1")
    async with Common(known, Setting()) as common:
        queries = OpenQueries(config, common, {})
        following = Following(QueryFiles([folder], known), queries)
        await following.open()
        yield following, queries


async def test_a_file_that_gets_another_name_keeps_its_query(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, q=1)
    first, second = tmp_path / "q.yaml", tmp_path / "a.yaml"
    async with opened(tmp_path) as (following, queries):
        for now, then in ((second, first), (first, second)):
            then.rename(now)
            for _ in range(3):
                await following.look()
                assert [each.query for each in queries.roster.duties] == ["q"]
            assert dict(queries.files) == {now: "q"}
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


async def test_files_that_swap_their_names_at_once_keep_their_queries(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, a=1, b=2, c=3)
    async with opened(tmp_path) as (following, queries):
        before = {each.query: each.derive for each in queries.roster.duties}
        for name, now in (("a", "b"), ("b", "c"), ("c", "a")):
            (tmp_path / f"{name}.yaml").write_text(TEXT.format(name=now, slo=1))
        await following.look()
        assert queries.files == {tmp_path / f"{name}.yaml": now for name, now in (("a", "b"), ("b", "c"), ("c", "a"))}
        assert {each.query: each.derive for each in queries.roster.duties} == before, "their events should go on"
        (tmp_path / "a.yaml").write_text(TEXT.format(name="c", slo=1))
        (tmp_path / "b.yaml").write_text("nothing")
        for _ in range(2):
            await following.look()
        assert sorted(each.query for each in queries.roster.duties) == ["a", "b", "c"]
    said = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert len(said) == 2
    assert any("query b runs on as it was" in line and "'c' is the query in" in line for line in said)


async def test_a_file_that_was_refused_for_its_name_runs_when_the_name_is_free(tmp_path: Path) -> None:
    write(tmp_path, q=1, other=1)
    beside = tmp_path / "beside.yaml"
    async with opened(tmp_path) as (following, queries):
        beside.write_text(TEXT.format(name="q", slo=2))
        await following.look()
        assert beside not in queries.files
        (tmp_path / "q.yaml").unlink()
        for _ in range(2):
            await following.look()
            assert sorted(each.query for each in queries.roster.duties) == ["other", "q"], "no frame is without it"
        assert queries.files[beside] == "q"
        write(tmp_path, q=3)
        await following.look()
        beside.write_text(TEXT.format(name="beside", slo=2))
        for _ in range(2):
            await following.look()
        assert queries.files == {tmp_path / "other.yaml": "other", tmp_path / "q.yaml": "q", beside: "beside"}


async def test_a_folder_that_cannot_be_read_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    write(folder, a=1)
    following, ledger = await followed(folder)
    folder.rename(tmp_path / "away")
    for _ in range(3):
        await following.look()
    assert ledger.diary == ["a 1"]
    assert len(caplog.records) == 1
    (tmp_path / "away").rename(folder)
    write(folder, a=2)
    await following.look()
    assert ledger.diary == ["a 1", "a 2"]


async def test_the_last_query_may_go(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, a=1)
    following, ledger = await followed(tmp_path)
    (tmp_path / "a.yaml").unlink()
    for _ in range(2):
        await following.look()
    assert ledger.files == {}
    assert "frames pass unanswered until there is one" in caplog.records[-1].getMessage()


async def test_files_are_looked_at_when_asked(tmp_path: Path) -> None:
    write(tmp_path, a=1)
    following, ledger = await followed(tmp_path)
    asked = asyncio.Event()
    task = asyncio.create_task(following.run(asked, every_s=1000))
    write(tmp_path, b=1)
    asked.set()
    await until(lambda: ledger.diary == ["a 1", "b 1"])
    task.cancel()


async def test_a_query_that_does_not_end_well_leaves_the_others_followed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, tough=1, a=1)
    following, ledger = await followed(tmp_path)
    (tmp_path / "tough.yaml").unlink()
    for _ in range(3):
        await following.look()
    write(tmp_path, b=1)
    await following.look()
    assert ledger.diary == ["a 1", "tough 1", "no tough", "b 1"]
    assert "query tough did not end well: RuntimeError: out of order" in caplog.text


async def test_a_worker_starts_with_the_files_of_a_folder_that_are_right(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, unwanted=1)
    with pytest.raises(BadInput, match="nobody wants it"):
        await followed(tmp_path)
    write(tmp_path, a=1, bad=0)
    following, ledger = await followed(tmp_path)
    for _ in range(2):
        await following.look()
    assert ledger.diary == ["a 1"]
    assert sorted(each.getMessage().count("it does not run") for each in caplog.records) == [1, 1]
