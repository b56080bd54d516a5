"""Nodes in order, their inputs, and queries that cannot be ordered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.frames.frame import Box, Region
from operators.wire.schema import Attribute, Model
from pipelines.query.dag import compile_dag
from pipelines.query.nodes import RecogniseNode
from pipelines.query.query_file import Query
from serving.common.explain import validate
from serving.errors import QueryError
from tests.pipelines.queries import DETECT, TRACK, TYPE, query

KIND = {"name": "kind", "task": "recognise", "input": "track", "model": "street-kind", "attribute": "what"}


def region(label: str = "moving", confidence: float = 0.9, **answers: str) -> Region:
    found = Region(0, "detect", Box(0, 0, 0.5, 0.5), label, confidence)
    model = Model(name="m", version="1", tier="reference")
    found.attributes += [
        Attribute(name=name, label=said, confidence=1, provenance="oracle", model=model)
        for name, said in answers.items()
    ]
    return found


def problems(*nodes: dict[str, Any]) -> list[str]:
    with pytest.raises(QueryError) as caught:
        compile_dag(query(*nodes))
    return str(caught.value).splitlines()


@given(st.permutations([DETECT, TRACK, KIND, TYPE | {"input": "kind[kind == vehicle]"}]))
def test_inputs_come_first_whatever_the_order_of_the_file(nodes: list[dict[str, Any]]) -> None:
    dag = compile_dag(query(*nodes))
    assert [node.name for node in dag.nodes] == ["detect", "track", "kind", "type"]
    assert (dag.query, dag.slo_ms) == ("test", 250)


def test_nodes_of_equal_rank_keep_the_order_of_the_file() -> None:
    colour = TYPE | {"name": "colour", "input": "detect"}
    dag = compile_dag(query(TYPE, colour, TRACK, DETECT))
    assert [node.name for node in dag.nodes] == ["detect", "colour", "track", "type"]


COLOUR = {"name": "colour", "task": "recognise", "input": "detect", "model": "vehicle-colour"}
FACES = {"name": "faces", "task": "detect", "input": "detect", "model": "faces"}


@pytest.mark.parametrize(
    ("nodes", "groups"),
    [
        ([DETECT, TRACK, KIND], "detect; track; kind"),
        ([DETECT, TRACK, KIND, TYPE], "detect; track; kind type"),
        ([DETECT, TRACK, KIND, TYPE | {"input": "kind[kind == vehicle]"}], "detect; track; kind; type"),
        ([DETECT, DETECT | {"name": "other"}, TRACK], "detect other; track"),
        ([DETECT, TRACK, DETECT | {"name": "other"}, KIND], "detect; track other; kind"),
        ([DETECT, COLOUR, TRACK, KIND], "detect; colour track; kind"),  # the recogniser reads no track
        ([DETECT, TRACK, COLOUR, KIND], "detect; track; colour kind"),  # as in the order of the file, tracks come first
        ([DETECT, TRACK, FACES, COLOUR], "detect; track faces; colour"),
    ],
)
def test_nodes_that_follow_each_other_and_do_not_depend_on_each_other_are_a_group(
    nodes: list[dict[str, Any]], groups: str
) -> None:
    assert "; ".join(" ".join(names) for names in compile_dag(query(*nodes)).names) == groups


def test_what_a_node_is_to_the_executor() -> None:
    detect, track, type_ = compile_dag(query(DETECT, TRACK, TYPE | {"model": ["a", "b"]})).nodes
    assert [node.makes_regions for node in (detect, track, type_)] == [True, False, False]
    assert [node.models for node in (detect, track, type_)] == [("motion",), (), ("a", "b")]
    assert detect.select({}) == []


def test_recognisers_that_are_known_to_have_nothing_to_look_at_are_idle() -> None:
    several = {"model": ["a", "b"]}
    face = TYPE | several | {"name": "face", "input": "detect[label == face]"}
    plate = TYPE | {"name": "plate", "input": "detect[label == plate]"}
    dag = compile_dag(query(DETECT | several, face, TRACK, TYPE, plate))
    detect, face_node, *_ = dag.nodes
    assert [node.name for node in dag.nodes] == ["detect", "face", "track", "type", "plate"]
    assert dag.idle_after(detect, {}) == []
    assert dag.idle_after(face_node, {"detect": [region("moving")]}) == ["plate"]
    assert dag.idle_after(face_node, {"detect": [region("plate")]}) == []
    assert dag.idle_after(dag.nodes[3], {"detect": [], "track": []}) == []  # it has no choice to make


def test_a_filter_selects_by_label_confidence_area_and_answers() -> None:
    input_ = "kind[label == moving and confidence > 0.5 and area >= 0.25 and kind in (vehicle)]"
    node = compile_dag(query(DETECT, TRACK, KIND, TYPE | {"input": input_})).nodes[-1]
    car = region(what="vehicle")
    others = [region(what="person"), region(), region(confidence=0.4, what="vehicle"), region("car", what="vehicle")]
    assert node.select({"kind": [*others, car]}) == [car]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (
            [DETECT, TRACK | {"input": "detct"}],
            ["nodes[1].input: there is no node 'detct'; did you mean 'detect'? allowed: detect"],
        ),
        (
            [DETECT, TRACK | {"input": "detect[lable == car]"}],
            [
                "nodes[1].input: unknown field 'lable'; did you mean 'label'? "
                "allowed: label, zone, confidence, area (at character 8)"
            ],
        ),
        (
            [DETECT, TRACK, KIND, TYPE | {"input": "track[kind == vehicle]"}],
            [
                "nodes[3].input: unknown field 'kind'; allowed: label, zone, confidence, area (at character 7); "
                "'kind' has not answered there, use it as the input: kind[…]"
            ],
        ),
        (
            [DETECT, TRACK | {"input": "detect["}, TYPE | {"name": "detect"}],
            [
                "nodes[2].name: 'detect' is the name of nodes[0] too",
                "nodes[1].input: expected a field, found the end (at character 8)",
            ],
        ),
        (
            [DETECT, TRACK, TYPE | {"attribute": "x"}, KIND | {"attribute": "x"}],
            ["nodes[3].attribute: 'x' is the attribute of nodes[2] too"],
        ),
        (
            [DETECT | {"name": "queue"}, TRACK | {"input": "queue"}],
            ["nodes[0].name: 'queue' has a meaning of its own: choose another name"],
        ),
        (
            [DETECT, TRACK | {"input": "type"}, TYPE, KIND | {"input": "kind"}],
            [
                "nodes[1].input: goes in a circle: track → type → track; one of them needs another input",
                "nodes[3].input: goes in a circle: kind → kind; one of them needs another input",
            ],
        ),
        (
            [DETECT | {"input": "type", "model": "yolox-nano"}, TRACK, TYPE],
            ["nodes[0].input: goes in a circle: detect → track → type → detect; one of them needs another input"],
        ),
    ],
)
def test_what_cannot_run_is_said_by_key(nodes: list[dict[str, Any]], expected: list[str]) -> None:
    assert problems(*nodes) == expected


@pytest.mark.parametrize(
    ("change", "answer"),
    [({}, "track"), ({"answer": "look"}, "look"), ({"input": "detect"}, "look"), ({"answer": "track"}, "track")],
)
def test_a_node_answers_for_tracks_where_its_input_is_tracked(change: dict[str, Any], answer: str) -> None:
    (spec,) = [node.spec for node in compile_dag(query(DETECT, TRACK, TYPE | change)).nodes if node.name == "type"]
    assert isinstance(spec, RecogniseNode)
    assert spec.answer == answer


def test_a_node_behind_one_that_is_tracked_answers_for_tracks_and_parts_of_objects_do_not() -> None:
    parts = {"name": "parts", "task": "detect", "model": "faces", "input": "kind"}
    face = TYPE | {"name": "face", "input": "parts", "attribute": "face"}
    dag = compile_dag(query(DETECT, TRACK, KIND, TYPE | {"input": "kind"}, parts, face))
    answers = {node.name: node.spec.answer for node in dag.nodes if isinstance(node.spec, RecogniseNode)}
    assert answers == {"kind": "track", "type": "track", "face": "look"}


def test_only_networks_that_look_at_whole_frames_can_skip_some() -> None:
    plates = {"name": "plates", "task": "detect", "model": "yolox-nano", "input": "detect", "when": "needed"}
    assert problems(DETECT | {"when": "needed"}, TRACK) == [
        "nodes[0].when: motion learns from every frame: say always, or name another detector"
    ]
    assert problems(DETECT, plates) == ["nodes[1].when: only a detector of whole frames can skip some: say always"]
    compile_dag(query(DETECT | {"model": "yolox-nano", "when": "needed"}, TRACK))


def test_what_moves_is_looked_for_in_all_of_the_frame() -> None:
    parts = {"name": "parts", "task": "detect", "model": "motion", "input": "detect"}
    said = "nodes[1].input: motion looks at all of the frame: remove it, or name another detector"
    assert problems(DETECT, parts) == [said]
    compile_dag(query(DETECT, parts | {"input": "frame"}))


def test_areas_of_movement_between_which_nothing_lies_are_refused() -> None:
    said = ["nodes[0].motion: min_area is above max_area: nothing lies between"]
    assert problems(DETECT | {"motion": {"min_area": 0.7}}) == said
    assert problems(DETECT | {"motion": {"min_area": 0.2, "max_area": 0.1}}) == said
    compile_dag(query(DETECT | {"motion": {"min_area": 0.1, "max_area": 0.1}}))


def test_parameters_of_movement_are_refused_beside_a_network() -> None:
    said = ["nodes[0].motion: only for model: motion: remove it, or name that"]
    assert problems(DETECT | {"model": "yolox-nano", "motion": {"min_area": 0.01}}) == said


def test_only_one_network_that_looks_at_whole_frames_is_shown_more_of_them() -> None:
    plates = {"name": "plates", "task": "detect", "model": "yolox-nano", "input": "detect", "detail": 544}
    only = "only for networks that look at whole frames: remove it"
    assert problems(DETECT | {"detail": 544}, TRACK) == [f"nodes[0].detail: {only}"]
    assert problems(DETECT, plates) == [f"nodes[1].detail: {only}"]
    several = DETECT | {"model": ["yolox-nano", "yolox-nano@openvino-bf16"], "detail": 544}
    assert problems(several, TRACK) == ["nodes[0].detail: each of several models has a size of its own: name one model"]
    for detail in (544, "auto"):
        compile_dag(query(DETECT | {"model": "yolox-nano", "detail": detail}, TRACK))


def test_what_more_detail_may_cost_is_said_where_it_is_chosen() -> None:
    network = DETECT | {"model": "yolox-nano"}
    compile_dag(query(network | {"detail": "auto", "detail_cost": 0.5}, TRACK))
    for detail in ({}, {"detail": 544}):
        assert problems(network | detail | {"detail_cost": 0.5}, TRACK) == [
            "nodes[0].detail_cost: bounds what is chosen: say detail: auto, or remove it"
        ]


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ("atuo", "is 'atuo': give pixels of the longer side, 64 to 2048, or auto"),
        (True, "is True: give pixels of the longer side, 64 to 2048, or auto"),
        (544.5, "is 544.5: give pixels of the longer side, 64 to 2048, or auto"),
        (8, "is 8: give pixels of the longer side, 64 to 2048, or auto"),
        (5000, "is 5000: give pixels of the longer side, 64 to 2048, or auto"),
    ],
)
def test_detail_is_a_number_of_pixels_or_auto(detail: object, said: str) -> None:
    node = DETECT | {"model": "yolox-nano", "detail": detail}
    _, found = validate(Query, {"version": 1, "name": "q", "slo_ms": 1, "nodes": [node]})
    assert [str(problem) for problem in found] == [f"nodes[0].detail: {said}"]


def test_a_node_that_answers_for_tracks_needs_them() -> None:
    assert problems(DETECT, TYPE | {"input": "detect", "answer": "track"}) == [
        "nodes[1].answer: nothing tracks these objects: put a node with task: track before, or say look"
    ]


@pytest.mark.parametrize("model", [["vehicle-type-compact", "vehicle-type"], ["vehicle-type@openvino-int8"]])
def test_a_node_may_have_all_shortcuts_together(model: list[str]) -> None:
    assert compile_dag(query(DETECT, TRACK, TYPE | {"specialize": True, "model": model}))


def test_parts_of_objects_do_not_inherit_answers() -> None:
    faces = {"name": "faces", "task": "detect", "model": "faces", "input": "kind[kind == person]"}
    late = TYPE | {"input": "faces[kind == person]"}
    assert "unknown field 'kind'" in problems(DETECT, TRACK, KIND, faces, late)[0]


SCENE = {"name": "scene", "task": "recognise", "input": "frame", "model": "street-kind"}


def test_a_recogniser_may_look_at_the_frame_itself_and_others_at_what_it_said() -> None:
    colour = TYPE | {"name": "colour", "input": "scene[scene == street and label == frame]"}
    scene, second = compile_dag(query(colour, SCENE)).nodes
    assert (scene.name, scene.source, scene.makes_regions, scene.select({})) == ("scene", None, True, [])
    assert (second.makes_regions, second.answers) == (False, {"scene": "scene"})
    whole = region("frame", scene="street")
    assert second.select({"scene": [whole, region("frame", scene="yard")]}) == [whole]


@pytest.mark.parametrize(
    ("sources", "change", "answer"),
    [
        ((), {}, "track"),
        (("gate.mp4",), {}, "track"),
        (("album/",), {}, "look"),
        (("photo.jpg", "album"), {}, "look"),
        (("album", "gate.mp4"), {}, "track"),
        (("gate.mp4",), {"answer": "look"}, "look"),
        (("album",), {"answer": "track"}, "track"),
    ],
)
def test_whole_frames_are_a_scene_and_pictures_are_not(
    sources: tuple[str, ...], change: dict[str, Any], answer: str
) -> None:
    second = TYPE | {"input": "scene", **change}
    wanted = query(SCENE | change, second).with_sources(sources)
    assert [node.spec.answer for node in compile_dag(wanted).nodes if isinstance(node.spec, RecogniseNode)] == [
        answer,
        answer,
    ]


def test_a_detector_may_say_that_it_looks_at_the_frame() -> None:
    said, default = compile_dag(query(DETECT | {"input": "frame"})).nodes[0], compile_dag(query(DETECT)).nodes[0]
    assert (said.source, said.makes_regions) == (default.source, default.makes_regions) == (None, True)


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([SCENE | {"input": "frame[area > 0.5]"}], "nodes[0].input: 'frame' is all of the frame and has no filter"),
        ([DETECT, TRACK | {"input": "frame"}], "nodes[1].input: 'frame' is no object that could be tracked"),
        ([DETECT | {"name": "frame"}], "nodes[0].name: 'frame' has a meaning of its own"),
    ],
)
def test_what_cannot_be_done_with_the_frame_is_one_line(nodes: list[dict[str, Any]], said: str) -> None:
    (line,) = problems(*nodes)
    assert line.startswith(said)
