"""The table of builders."""

from __future__ import annotations

from typing import Any

from operators.track.operator import Track
from pipelines.assembly.environment import Environment
from pipelines.assembly.node import BUILDERS, node
from pipelines.query.nodes import NODE_TYPES, TrackNode


def test_every_kind_of_node_has_a_builder() -> None:
    assert set(BUILDERS) == set(NODE_TYPES)


def test_a_node_is_built_by_the_function_of_its_task() -> None:
    unused: Any = None  # a tracker needs no engine
    assert isinstance(node(TrackNode(name="track", task="track", input="detect"), Environment(unused)), Track)
