"""``sluice serve``: which topics it reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines.cli import sluice
from pipelines.commands import options, serve
from pipelines.kafka.topics import TopicsConfig
from tests.pipelines.queries import write

QUERY = "version: 1\nname: q\nslo_ms: 500\nnodes: [{name: detect, task: detect, model: motion}]\n"


@pytest.mark.parametrize(
    ("given", "frames"),
    [
        ((), "sluice.frames.v1"),
        (("--query", "q.yaml"), "site.frames.v1"),
        (("--query", "q.yaml", "--prefix", "other."), "other.frames.v1"),
    ],
)
def test_the_topics_are_those_of_its_query(
    given: tuple[str, ...], frames: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[str]()

    async def told(at: options.Installation, topics: TopicsConfig, *others: object) -> None:
        read.append(topics.name("frames"))

    monkeypatch.setattr(serve, "_serve", told)
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "q.yaml", QUERY + "publish: {topics: {prefix: site.}}\n")
    found = CliRunner().invoke(sluice, ["serve", "--broker", "kafka://127.0.0.1:1", *given], catch_exceptions=False)
    assert (found.exit_code, read) == (0, [frames])
