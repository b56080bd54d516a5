from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.kafka.async_clients import _described
from pipelines.kafka.rights import lacking_rights, needs


def topic(name: str, *allowed: str, error: int = 0) -> dict[str, Any]:
    return {"name": name, "error_code": error, "authorized_operations": list(allowed)}


WANTED = needs(read=["frames", "results"], write=["results"]).topics


def test_what_is_to_be_read_and_written_comes_together() -> None:
    assert {"frames": {"READ"}, "results": {"READ", "WRITE"}} == WANTED


@pytest.mark.parametrize(
    ("described", "lacking"),
    [
        ([topic("frames", "READ", "DESCRIBE"), topic("results", "READ", "WRITE")], []),
        ([topic("frames", "DESCRIBE"), topic("results", "READ")], ["read topic frames", "write topic results"]),
        (
            [topic("frames", error=29), topic("results", error=29)],
            ["read topic frames", "read and write topic results"],
        ),
        ([topic("frames", "READ", error=3), topic("results", "READ", "WRITE", error=3)], []),
        ([topic("frames"), topic("results")], []),  # a broker that does not tell
    ],
)
def test_lacking_rights_are_named(described: list[dict[str, Any]], lacking: list[str]) -> None:
    assert lacking_rights(described, WANTED) == lacking


async def test_a_topic_that_has_no_leader_yet_says_nothing_of_rights() -> None:
    class Asked:
        async def _send_request(self, request: object) -> SimpleNamespace:
            return SimpleNamespace(to_object=lambda: {"topics": [{"topic": "new", "error_code": 5}]})

    wanted = needs(write=["new"]).topics
    described = [topic async for topic in _described(Asked(), wanted)]  # type: ignore[arg-type]
    assert lacking_rights(described, wanted) == []
