"""The nodes of a query: what is detected, tracked and recognised, by which models, on which input."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, PrivateAttr, Tag, model_validator

from operators.extensions import Extension
from pipelines.query.budgets import NodeBudget
from pipelines.query.elsewhere.endpoints import EndpointSpec
from pipelines.query.needs import Needs, named
from serving.common.explain import Strict, beside_the_file, listed

MOTION = "motion"
"""The detector that is no model of the catalogue: it needs no weights."""

LEAST_DETAIL, MOST_DETAIL = 64, 2048
"""Pixels of the longer side of what a detect node shows its network."""
MOST_OBJECTS = 1000
"""The most objects that a detect node, or an operator of the user's, may report of a frame."""

MOST_MODELS = 32
"""The most models that a node may list."""

FRAME = "frame"
"""The input that is the frame itself, and no node."""

PolicyName = Literal["block", "drop_oldest", "drop_late"]
"""The fate of frames that come faster than they can be analysed."""

NodeName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,49}$")]
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]


Names = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    Field(min_length=1),
    BeforeValidator(listed, json_schema_input_type=str | list[str]),
]
"""A name or a list of names."""

ModelNames = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    Field(min_length=1, max_length=MOST_MODELS),
    BeforeValidator(lambda value: listed(named(value)), json_schema_input_type=str | list[str] | Needs),
]
"""The same, or what is needed of a model."""


def _endpoints_listed(value: Any) -> Any:
    """A list of names and of endpoints; needs become a name."""
    if isinstance(value, EndpointSpec) or (isinstance(value, dict) and "endpoint" in value):
        return [value]
    return listed(named(value))


RecogniserModel = Annotated[
    Annotated[str, Field(min_length=1), Tag("a name")] | Annotated[EndpointSpec, Tag("an endpoint")],
    Discriminator(lambda value: "an endpoint" if isinstance(value, dict | EndpointSpec) else "a name"),
]
RecogniserModels = Annotated[
    tuple[RecogniserModel, ...],
    Field(min_length=1, max_length=MOST_MODELS),
    BeforeValidator(_endpoints_listed, json_schema_input_type=str | EndpointSpec | list[str | EndpointSpec] | Needs),
]
"""The same of a recogniser, whose models may be vision models behind endpoints."""


def _known_detail(value: Any) -> Any:
    if value != "auto" and (type(value) is not int or not LEAST_DETAIL <= value <= MOST_DETAIL):
        raise ValueError(f"is {value!r}: give pixels of the longer side, {LEAST_DETAIL} to {MOST_DETAIL}, or auto")
    return value


Detail = Annotated[
    Annotated[int, Field(ge=LEAST_DETAIL, le=MOST_DETAIL)] | Literal["auto"], BeforeValidator(_known_detail)
]
"""How much of a frame a network is shown."""


class Motion(Strict):
    """Parameters of the motion detector; areas are shares of the frame."""

    min_area: Share = 0.0015
    """Smaller changes are noise."""
    max_area: Share = 0.6
    """A larger change is a change of light or of the camera's view, not an object."""
    absorb_s: float = Field(default=4.0, gt=0, le=86_400)
    """A thing that stands still this long becomes background."""
    warmup_s: Seconds = 0.4
    """Time to learn a background before anything is reported."""


class Node(Strict):
    """The keys of all nodes."""

    name: NodeName
    """Unique; names the node's input to other nodes, its time in reports, and its answer in filters."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models that the query lists for the node, best first; none for a node without a network."""
        return ()


class NetworkNode(Node):
    """The keys of nodes with networks."""

    budget: NodeBudget | None = None
    """The most that the node's models may cost in a day, wherever they run. Default: not bounded."""
    _needs: Needs | None = PrivateAttr(default=None)

    @property
    def needs(self) -> Needs | None:
        """Needs of models, where the query names none, once they are listed."""
        return self._needs

    def listing(self, needs: Needs, models: tuple[str, ...]) -> Self:
        """The same node with a list of models in place of needs."""
        found = self.model_copy(update={"model": models})
        found._needs = needs
        return found

    @model_validator(mode="after")
    def _has_a_network(self) -> NetworkNode:
        if self.budget is not None and MOTION in self.models:
            raise ValueError("budget: motion is no network, and its cost is not counted: remove the budget")
        if len(set(self.models)) < len(self.models):
            raise ValueError("model: lists one model twice: leave one out")
        return self


def takes_frame(node: NodeSpec) -> bool:
    """Whether the node works on the frame itself and makes the first objects."""
    return node.input is None or node.input.strip() == FRAME


class DetectNode(NetworkNode):
    """Finds objects in the frame, or in the crop of each object that ``input`` selects."""

    task: Literal["detect"]
    model: ModelNames
    """``motion``; or detectors: on whole frames the first that has the time is used, in crops the first; or needs."""
    input: str | None = Field(default=None, max_length=1000)
    """Default: ``frame``. Otherwise objects, whose parts are found: ``detect[label == person]``."""
    when: Literal["always", "needed"] = "always"
    """``needed``: skip frames on which the objects can be moved by what the pixels did. Audited."""
    detail: Detail | None = None
    """Pixels of the longer side of what the network is shown of a frame; ``auto``: as many as skipped frames pay for.
    Default: as its card says."""
    detail_cost: float = Field(default=1.0, gt=0, le=100)
    """The most that a frame may cost with ``detail: auto``, as a multiple of the network's square on every frame."""
    min_confidence: Share | None = None
    """Default: the model card's."""
    labels: Names | None = None
    """Keep only these. Default: all that the model knows."""
    max_objects: int = Field(default=50, ge=1, le=MOST_OBJECTS)
    """The most confident ones of a frame."""
    motion: Motion = Motion.model_construct()
    """Parameters of the detector ``motion``."""

    @property
    def models(self) -> tuple[str, ...]:
        return self.model


class TrackNode(Node):
    """Gives objects identities that last over frames."""

    task: Literal["track"]
    input: str = Field(max_length=1000)
    """The objects to track: a node, perhaps with a filter."""
    confirm_s: Seconds = 0.15
    """An object gets its id once it was seen this long."""
    lost_after_s: Seconds = 1.5
    """A track that was not seen this long has ended."""
    max_distance: Share = 0.8
    """1 - intersection over union of the predicted and the found box, up to which they may be the same object."""


class RecogniseNode(NetworkNode):
    """Names something about each object: a class, or who it is."""

    task: Literal["recognise"]
    input: str = Field(max_length=1000)
    """The objects to look at: ``track[label in (car, truck) and area >= 0.002]``; or ``frame``, all of it."""
    model: RecogniserModels
    """Classifiers, or embedders with a ``gallery``: the first that has the time is used; or what is needed of them.

    A classifier may be a vision model behind an ``endpoint``."""
    attribute: NodeName = Field(default_factory=lambda valid: valid.get("name", "unknown"))
    """The name of the answer in results. Default: the node's name."""
    min_confidence: Share | None = None
    """Less certain answers become ``unknown``. Default: the model card's."""
    margin: float | None = Field(default=None, ge=0, le=2)
    """Widens the box before cropping, as a share of its size on every side. Default: the model card's."""
    gallery: Annotated[Path, AfterValidator(beside_the_file)] | None = None
    """A directory with one folder of pictures per identity."""
    specialize: Literal["auto", True, False] = "auto"
    """Make exits for what a stream shows most, which answer before the model's end; ``auto``: where they can pay."""
    caches: Literal["auto", True, False] = "auto"
    """Let exits for all streams answer: ``auto``, those of a file; ``true``, also those that are made while it runs."""
    answer: Literal["track", "look"] | None = None
    """``track``: for the object, by all looks at it; ``look``: for each frame. Default: ``track`` if it is tracked, or
    is the whole frame of a source that shows one scene."""

    @model_validator(mode="after")
    def _caches_answer_classes(self) -> RecogniseNode:
        if self.caches is True and self.gallery is not None:
            raise ValueError("caches answer classes: remove caches, or the gallery")
        return self

    @model_validator(mode="after")
    def _endpoints_fit(self) -> RecogniseNode:
        if not self.endpoints:
            return self
        if self.answer == "look":
            raise ValueError(
                "an endpoint is asked about objects, not at every look: say answer: track, or leave it out"
            )
        if self.gallery is not None:
            raise ValueError("an endpoint names classes: remove the gallery, or the endpoint")
        if isinstance(self.model[0], str) or len(self.endpoints) > 1:
            raise ValueError("a node has one endpoint, and lists it first: the others are measured by what it says")
        return self

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(each if isinstance(each, str) else each.engine_name for each in self.model)

    @property
    def endpoints(self) -> Mapping[str, EndpointSpec]:
        """Its vision models behind endpoints, by the engine's names for them."""
        return {each.engine_name: each for each in self.model if isinstance(each, EndpointSpec)}


class OwnNode(Extension, Node):
    """A node whose operator is a class of the user's."""

    group = "sluice.operators"
    methods: ClassVar[Mapping[str, str]] = {"process": "async def", "forget": "def"}
    task: str
    input: str | None = Field(default=None, max_length=1000)
    """Default: ``frame``. Otherwise the objects to look at: ``track[label == person]``."""

    @property
    def attribute(self) -> str:
        return self.name


def is_planned(node: NodeSpec) -> bool:
    """Whether the node lists several models between which there is a choice for every frame."""
    return len(node.models) > 1 and (isinstance(node, RecogniseNode) or takes_frame(node))


def specializes(node: RecogniseNode) -> bool:
    """Whether exits for one stream may be made for a node while it runs."""
    return node.specialize is not False


def uses_caches(node: RecogniseNode) -> bool:
    """Whether exits for all streams may answer at a node, wherever they were made."""
    return node.caches is not False and node.gallery is None


def makes_caches(node: RecogniseNode) -> bool:
    """Whether exits for all streams may be made for a node while it runs."""
    return node.caches is True


def learns(node: NodeSpec) -> bool:
    """Whether exits may be made for a node while it runs."""
    return isinstance(node, RecogniseNode) and (specializes(node) or makes_caches(node))


def takes_exits(node: NodeSpec) -> bool:
    """Whether exits may answer at a node, wherever they were made."""
    return isinstance(node, RecogniseNode) and (specializes(node) or uses_caches(node))


NOTHING_LEARNS = (
    "nothing of this query learns from its streams: that takes `specialize: true` or `caches: true` on a recognise "
    "node, and a learning budget above 0"
)

if TYPE_CHECKING:
    NodeSpec = DetectNode | TrackNode | RecogniseNode | OwnNode
else:  # kinds of the user's are added where a query has one
    NodeSpec = Annotated[DetectNode | TrackNode | RecogniseNode, Field(discriminator="task")]
"""A node of any kind: its ``task`` says which."""

NODE_TYPES: Mapping[str, type[Any]] = {"detect": DetectNode, "track": TrackNode, "recognise": RecogniseNode}
