from __future__ import annotations

from typing import Any

import pytest

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
