"""Snapshots: what survives, and which versions are read."""

from __future__ import annotations

import msgspec
import pytest

from cache_adapt.audit.state import AuditState
from operators.audits.snapshot import VERSION, NodeSnapshot, from_json
from specialization.tally import SpecializationTally


def test_what_was_known_is_read_again() -> None:
    made = NodeSnapshot(
        oracle="big",
        audits={"variant": AuditState(by_oracle=3)},
        exits=msgspec.Raw(b'{"version":1}'),
        tally=SpecializationTally(heads=7),
    )
    found = from_json(made.to_json(), "here", "big")
    assert found is not None
    assert found.version == VERSION
    assert found.audits["variant"].by_oracle == 3
    assert isinstance(found.exits, msgspec.Raw)
    assert bytes(found.exits) == b'{"version":1}'
    assert found.tally is not None
    assert found.tally.heads == 7


def test_kinds_of_shortcuts_that_are_not_known_here_do_no_harm() -> None:
    data = b'{"version":5,"oracle":"big","audits":{"guessed":{}},"shortcuts":{"guessed":[1]}}'
    found = from_json(data, "here", "big")
    assert found is not None
    assert (set(found.audits), found.exits) == ({"guessed"}, msgspec.UNSET)


@pytest.mark.parametrize(
    ("data", "version"),
    [
        (b'{"audits":{"variant":{"phase":"trusted","by_shortcut":7}},"cascade":{"weg":{}}}', 1),
        (b'{"version":2,"audits":{"variant":{"recent":{"elder":{"weight":7.5}}}}}', 2),
        (b'{"version":3,"audits":{"variant":{}},"self_agreement":{},"shortcuts":{"cached":[1]}}', 3),
        (b'{"version":4,"audits":{"variant":{}}}', 4),
        (b'{"version":6,"audits":7}', 6),
    ],
)
def test_another_version_is_refused_with_a_line(data: bytes, version: int, caplog: pytest.LogCaptureFixture) -> None:
    assert from_json(data, "stream cam, node type", "big") is None
    line = f"stream cam, node type: the snapshot has version {version}, this worker reads {VERSION}"
    assert caplog.messages == [f"{line}; the stream begins anew"]


@pytest.mark.parametrize("data", [b"", b"7", b'{"version":5,"oracle":"big","audits":{"variant":{"rest":-1}}}'])
def test_damaged_data_is_refused_with_a_line(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    assert from_json(data, "stream cam, node type", "big") is None
    (line,) = caplog.messages
    assert line.startswith("stream cam, node type: the snapshot is damaged, the stream begins anew: ")
