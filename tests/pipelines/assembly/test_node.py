"""The table of builders."""

from __future__ import annotations

from typing import Any

from operators.detect.motion import MotionSettings
from operators.testing import CALL, make_frame, make_region
from operators.track.operator import Track
from pipelines.assembly.detect import motion_settings
from pipelines.assembly.environment import Environment
from pipelines.assembly.node import BUILDERS, node
from pipelines.query.dag import compile_dag
from pipelines.query.nodes import NODE_TYPES, DetectNode, TrackNode
from pipelines.query.query_file import Query


def test_every_kind_of_node_has_a_builder() -> None:
    assert set(BUILDERS) == set(NODE_TYPES)


def test_a_node_is_built_by_the_function_of_its_task() -> None:
    unused: Any = None  # a tracker needs no engine
    assert isinstance(node(TrackNode(name="track", task="track", input="detect"), Environment(unused)), Track)


async def test_no_two_trackers_of_a_query_give_one_id() -> None:
    detectors = [{"name": f"d{n}", "task": "detect", "model": "motion"} for n in range(3)]
    trackers = [{"name": f"t{n}", "task": "track", "input": f"d{n}", "confirm_s": 0} for n in range(3)]
    wanted = Query.model_validate({"version": 1, "name": "q", "slo_ms": 100, "nodes": [*detectors, *trackers]})
    unused: Any = None
    environment = Environment(unused, nodes={each.name: each for each in compile_dag(wanted).nodes})
    given = []
    for spec in (each for each in wanted.nodes if isinstance(each, TrackNode)):
        operator = node(spec, environment)
        for seq in range(4):
            regions = [make_region(x=0.1 * place, w=0.05) for place in range(1 + seq)]
            await operator.process(make_frame(seq=seq, media_time_s=float(seq)), regions, CALL)
        given += [each.track_id for each in regions]
    assert None not in given
    assert len(set(given)) == len(given) == 12


def test_motion_leaves_out_what_is_less_sure_than_its_node_wants() -> None:
    spec = {"name": "m", "task": "detect", "model": "motion"}
    assert motion_settings(DetectNode.model_validate(spec)) == MotionSettings(max_objects=50)
    assert motion_settings(DetectNode.model_validate(spec | {"min_confidence": 0.6})).min_fill == 0.6
