"""Snapshots: what survives, and which versions are read."""

from __future__ import annotations

import msgspec
import pytest

from cache_adapt.audit.state import AuditState
from operators.recognise.shortcuts.snapshot import VERSION, Snapshot, from_json
from specialization.timeline_state import TimelineState

FIRST_VERSION = (
    b'{"audits":{"reused":{"phase":"trusted","by_shortcut":7}},"cascade":{"weg":{"epoch":3}},"timeline":null}'
)


def test_what_was_known_is_read_again() -> None:
    made = Snapshot(
        audits={"reused": AuditState(by_oracle=3)},
        shortcuts={"cached": msgspec.Raw(b'{"places":[1]}')},
        timeline=TimelineState(now_s=7),
    )
    found = from_json(made.to_json(), "here")
    assert found is not None
    assert found.version == VERSION
    assert found.audits["reused"].by_oracle == 3
    assert bytes(found.shortcuts["cached"]) == b'{"places":[1]}'
    assert found.timeline is not None
    assert found.timeline.now_s == 7


def test_snapshots_of_the_first_version_are_read() -> None:
    found = from_json(FIRST_VERSION, "here")
    assert found is not None
    assert (found.audits["reused"].phase, found.audits["reused"].by_shortcut) == ("trusted", 7)
    assert msgspec.json.decode(bytes(found.shortcuts["specialised"])) == {"weg": {"epoch": 3}}


def test_a_node_without_heads_had_none_in_the_first_version() -> None:
    found = from_json(b'{"audits":{},"cascade":null,"timeline":null}', "here")
    assert found is not None
    assert found.shortcuts == {}


def test_kinds_of_shortcuts_that_are_not_known_here_do_no_harm() -> None:
    found = from_json(b'{"version":2,"audits":{"guessed":{}},"shortcuts":{"guessed":[1]}}', "here")
    assert found is not None
    assert set(found.audits) == {"guessed"}


@pytest.mark.parametrize("version", [VERSION + 1, 1000])
def test_a_later_version_is_refused_with_a_line(version: int, caplog: pytest.LogCaptureFixture) -> None:
    assert from_json(b'{"version":%d}' % version, "stream cam, node type") is None
    line = f"stream cam, node type: the snapshot has version {version}, this worker reads up to {VERSION}"
    assert caplog.messages == [f"{line}; the stream begins anew"]
