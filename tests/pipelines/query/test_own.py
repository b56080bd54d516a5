"""Operators of the user's own: their keys are checked as ours are, wherever their class comes from."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from operators.base import Call, make_ready
from operators.extensions import extended, kinds
from operators.frames.frame import Frame, Region
from operators.recognise.own import OwnRecogniser
from operators.recognise.whole_frame import WholeFrame
from operators.testing import CALL, FakeEngine, make_frame, make_region
from pipelines.assembly.environment import Environment
from pipelines.assembly.node import node
from pipelines.execute.frame_answers import FrameAnswers
from pipelines.execute.stopwatch import StageStopwatch
from pipelines.execute.walk import Walk
from pipelines.planning.planner import Planner, Start
from pipelines.query.check import examine
from pipelines.query.dag import compile_dag
from pipelines.query.draft import Draft
from pipelines.query.nodes import NODE_TYPES, OwnNode
from pipelines.query.query_file import Query
from serving.common.tensors import Image
from serving.errors import BadInput
from tests.packages import installed
from tests.pipelines.queries import write

HEAD = "version: 1\nname: test\nslo_ms: 250\nnodes:\n  - {name: detect, task: detect, model: motion}\n"


class Ground:
    """Says where."""

    def __init__(self, name: str, parts: dict[str, tuple[float, float]], most: Annotated[int, Field(ge=1)] = 3) -> None:
        if not parts:
            raise ValueError("no parts")
        self.name, self.parts, self.most = name, parts, most

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        return []

    def forget(self, stream: str) -> None:
        """Nothing is kept."""


class Brightness(OwnRecogniser):
    """Says how bright."""

    def look(self, pictures: Sequence[Image]) -> Sequence[tuple[str, float]]:
        return [("bright" if picture.mean() > 100 else "dark", 1.0) for picture in pictures]


class Torn(Ground):
    """Raises in a library that it calls."""

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        return list(json.loads("{"))


class Blind(Brightness):
    """Raises in a thread, in a method of its own."""

    def look(self, pictures: Sequence[Image]) -> Sequence[tuple[str, float]]:
        return [self._word(picture) for picture in pictures]

    def _word(self, picture: Image) -> tuple[str, float]:
        raise ValueError(f"{picture.ndim} axes")


OWN: Mapping[str, type[Any]] = {"ground": Ground, "brightness": Brightness}


def checked(nodes: str, folder: Path, own: Mapping[str, type[Any]] = OWN) -> Draft:
    return examine(write(folder / "q.yaml", HEAD + nodes), own=own)


def problems_of(nodes: str, folder: Path, own: Mapping[str, type[Any]] = OWN) -> list[str]:
    return [str(problem) for problem in checked(nodes, folder, own).problems]


def test_the_parameters_of_the_constructor_are_the_keys_and_their_annotations_the_rules(tmp_path: Path) -> None:
    wrong = "  - {name: place, task: ground, input: detect, parts: {a: [0]}, most: 0, part: 1}\n"
    assert problems_of(wrong, tmp_path) == [
        "nodes[1].parts.a[1]: is missing",
        "nodes[1].most: 0 should be greater than or equal to 1",
        "nodes[1].part: unknown key; did you mean 'parts'? allowed: name, task, input, parts, most",
    ]


def test_a_misspelt_task_is_told_with_those_of_the_user_among_the_allowed_ones(tmp_path: Path) -> None:
    (problem,) = problems_of("  - {name: place, task: grund, input: detect}\n", tmp_path)
    assert "is 'grund'; did you mean 'ground'? allowed:" in problem


def test_filters_ask_for_its_answers_by_the_name_of_its_node(tmp_path: Path) -> None:
    place = "  - {name: place, task: ground, input: detect, parts: {a: [0, 1]}}\n"
    assert problems_of(place + "  - {name: t, task: track, input: 'place[place == a]'}\n", tmp_path) == []
    (problem,) = problems_of(place + "  - {name: t, task: track, input: 'detect[place == a]'}\n", tmp_path)
    assert "has not answered there" in problem


def test_it_is_made_with_its_keys_their_defaults_and_the_name_of_its_node(tmp_path: Path) -> None:
    query = checked("  - {name: place, task: ground, input: detect, parts: {a: [0, 1]}}\n", tmp_path).require()
    operator = node(query.nodes[1], Environment(FakeEngine()))
    assert isinstance(operator, Ground)
    assert (operator.name, operator.parts, operator.most) == ("place", {"a": (0, 1)}, 3)


def test_what_its_constructor_raises_is_one_line_that_names_the_node(tmp_path: Path) -> None:
    query = checked("  - {name: place, task: ground, input: detect, parts: {}}\n", tmp_path).require()
    with pytest.raises(BadInput, match="node place: ValueError: no parts"):
        node(query.nodes[1], Environment(FakeEngine()))


def test_a_class_whose_annotations_mean_nothing_is_named() -> None:
    class Odd:
        """Has a parameter of a kind that nothing can be checked for."""

        def __init__(self, odd: "nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821, UP037
            """Nothing."""

    with pytest.raises(BadInput, match=r"odd .*Odd.*: NameError"):
        kinds(OwnNode, "task", ["odd"], NODE_TYPES, {"odd": Odd})


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        ({"process": Ground.process}, "def forget"),
        ({"forget": Ground.forget}, "async def process"),
        ({"process": lambda self, frame, regions, call: [], "forget": Ground.forget}, "async def process"),
    ],
)
def test_a_class_without_the_methods_of_an_operator_is_refused(
    methods: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=rf"half \(.*Half\): needs a method of its own: {said}\(self, …\)"):
        checked("  - {name: half, task: half}\n", tmp_path, {"half": type("Half", (), methods)})


def test_an_instance_in_the_place_of_a_class_is_refused() -> None:
    with pytest.raises(BadInput, match=r"odd: is a Brightness: give a class"):
        kinds(OwnNode, "task", ["odd"], NODE_TYPES, {"odd": Brightness("odd")})  # type: ignore[dict-item]


def test_a_class_does_not_take_the_place_of_a_task_that_ships() -> None:
    with pytest.raises(BadInput, match="detect: is there already: choose another name"):
        kinds(OwnNode, "task", ["detect"], NODE_TYPES, {"detect": Ground})


async def test_what_its_preparation_raises_is_one_line_that_names_it() -> None:
    class Odd(Brightness):
        async def prepare(self) -> None:
            raise OSError("no file")

    with pytest.raises(BadInput, match="operator Odd: prepare has raised OSError: no file"):
        await make_ready(Odd("odd"))


@pytest.mark.parametrize(
    ("task", "cause", "logged"),
    [
        (
            "torn, parts: {a: [0, 1]}",
            "JSONDecodeError: Expecting",
            r"JSONDecodeError: test_own\.py:\d+ in process: Expec",
        ),
        ("blind", "ValueError: 3 axes", r"ValueError: test_own\.py:\d+ in _word: 3 axes"),
    ],
)
async def test_the_log_says_where_in_its_file_it_has_raised_and_the_result_what(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, task: str, cause: str, logged: str
) -> None:
    nodes = f"version: 1\nname: test\nslo_ms: 250\nnodes: [{{name: own, task: {task}}}]\n"
    dag = compile_dag(examine(write(tmp_path / "q.yaml", nodes), own={"torn": Torn, "blind": Blind}).require())
    walk = Walk(dag, {"own": node(dag.nodes[0].spec, Environment(FakeEngine()))}, Planner())
    start = Start("cam", 0.0, 1e9, False, (), False)
    found = await walk.through(walk.begin(make_frame(), start, None, StageStopwatch(), FrameAnswers()))
    assert found.failure is not None
    assert found.failure.startswith(f"own: {cause}")
    assert re.match(f"stream cam: node own: {logged}", caplog.messages[0])


@pytest.mark.parametrize(
    "said", [None, [], ["bright"], [(None, 0.5)], [("bright", 0.5), ("dark", 0.5)], [("a", math.nan)], "ab"]
)
async def test_a_look_that_is_no_word_for_each_picture_is_told(said: Any) -> None:
    class Odd(OwnRecogniser):
        def look(self, pictures: Sequence[Image]) -> Sequence[tuple[str, float]]:
            found: Sequence[tuple[str, float]] = said
            return found

    with pytest.raises(ValueError, match=r"look has returned .* for 1 pictures: a \(word, share\) for each"):
        await Odd("odd").process(make_frame(), [make_region()], CALL)


def test_the_schema_of_a_query_has_its_keys() -> None:
    schema = extended(Query, "nodes", "task", kinds(OwnNode, "task", [], NODE_TYPES, OWN)).model_json_schema()
    keys = schema["$defs"]["GroundKeys"]
    assert keys["description"] == "Says where."
    assert keys["properties"]["most"] == {"default": 3, "minimum": 1, "title": "Most", "type": "integer"}
    assert "parts" in keys["required"]


async def test_a_recogniser_of_the_users_gives_every_object_a_word(tmp_path: Path) -> None:
    query = checked("  - {name: light, task: brightness, input: detect}\n", tmp_path).require()
    region = make_region(0.1, 0.1)
    assert await node(query.nodes[1], Environment(FakeEngine())).process(make_frame(), [region], CALL) == []
    (answer,) = region.attributes
    assert (answer.name, answer.label, answer.model.name) == ("light", "bright", "Brightness")


async def test_on_frames_it_gives_a_word_to_the_whole_frame(tmp_path: Path) -> None:
    query = checked("  - {name: light, task: brightness}\n", tmp_path).require()
    operator = node(query.nodes[1], Environment(FakeEngine()))
    assert isinstance(operator, WholeFrame)
    (whole,) = (await operator.process(make_frame(), [], CALL)).regions
    assert [answer.label for answer in whole.attributes] == ["bright"]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with an entry point, on the path of modules."""
    code = "class Spot:\n    def __init__(self, size: int): ...\n    async def process(self, *given): return []\n"
    code += "    def forget(self, stream): ...\n"
    folder = installed(tmp_path / "installed", "own_ground", code, "[sluice.operators]\nspot = own_ground:Spot\n")
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("own_ground", None)


def test_operators_of_installed_packages_are_found_by_their_entry_points(package: Path, tmp_path: Path) -> None:
    wrong = "  - {name: here, task: spot, input: detect, sise: 1}\n"
    assert problems_of(wrong, tmp_path, {}) == [
        "nodes[1].size: is missing",
        "nodes[1].sise: unknown key; did you mean 'size'? allowed: name, task, input, size",
    ]


def test_a_query_with_tasks_of_ours_alone_imports_no_other_package(package: Path, tmp_path: Path) -> None:
    assert problems_of("  - {name: t, task: track, input: detect}\n", tmp_path, {}) == []
    assert "own_ground" not in sys.modules


def test_a_package_that_cannot_be_imported_is_named(package: Path, tmp_path: Path) -> None:
    (package / "own_ground.py").write_text("raise OSError('no library')")
    with pytest.raises(BadInput, match=r"sluice.operators: spot \(own_ground:Spot\): OSError: no library"):
        problems_of("  - {name: here, task: spot, input: detect}\n", tmp_path, {})
