"""A node that answers for scenes: what results say, how often it looks, and that audits go on."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import numpy as np
import pytest

from cache_adapt.audit.state import AuditState, Rule
from operators.audits.roles import Roles
from operators.audits.snapshot import NodeSnapshot
from operators.audits.unit_costs import UnitCosts
from operators.frames.frame import WHOLE, Region
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.looks import ChainNetworks, ChainTerms
from operators.recognise.objects.scenes import Scenes
from operators.recognise.variants import VariantShortcut
from operators.recognise.whole_frame import SceneLooks, WholeFrame
from operators.testing import FakeEngine, call, card_of, make_frame, so_far
from operators.testing.engine import COLOURS
from operators.wire.schema import Attribute, NodePlan
from serving.errors import SluiceError
from tests.pipelines.run.recording import Recording

FPS = 5


class Camera:
    """A node for whole frames; what its oracle and its variant say of each, a test writes down."""

    def __init__(
        self, rule: Rule | None = None, pictures: Collection[str] = (), served: AuditState | None = None
    ) -> None:
        self.says = {"big": "blue", "small": "blue"}
        self.broken = False
        self.heard = Recording()
        self.engine = FakeEngine(
            small=(card_of("small", tier="compact"), lambda batch: self._scores("small", batch)),
            big=(card_of("big"), lambda batch: self._scores("big", batch)),
        )
        recogniser = Classifier(self.engine, Roles.of(["small", "big"], self.engine.card), "paint")
        self.scenes = Scenes(recogniser, pictures)
        variants = [VariantShortcut(recogniser, model) for model in recogniser.roles.listed_shortcuts]
        networks = ChainNetworks(recogniser, UnitCosts(self.engine), variants)
        terms = ChainTerms(rule or Rule(0.9), observer=self.heard)
        self.chain = Chain("scene", networks, terms, self.scenes)
        if served:
            audits = {"variant small": served}
            self.chain.restore("cam", NodeSnapshot(oracle=recogniser.roles.identity, audits=audits).to_json())
        self.node = WholeFrame("scene", SceneLooks(self.chain, self.scenes))
        self.seq = 0

    def _scores(self, model: str, batch: np.ndarray) -> list[np.ndarray]:
        if self.broken:
            raise SluiceError("out of memory")
        return [np.array([[6.0 * (self.says[model] == each) for each in COLOURS]] * len(batch), np.float32)]

    async def frame(self, run: str = "run-1", shade: int = 0) -> Region:
        """One frame in which something has moved, and whose result is sent; the background has its turn."""
        picture = np.full((90, 160, 3), shade, np.uint8)
        picture[20:40, 10 * (self.seq % 10) : 10 * (self.seq % 10) + 20] = 255
        frame = make_frame(self.seq, self.seq / FPS, picture, run=run)
        self.seq += 1
        (region,) = (await self.node.process(frame, [], call("small"))).regions
        self.chain.published(so_far())
        for _ in range(20):
            await asyncio.sleep(0)
        return region

    async def goes_on(self, seconds: float) -> list[Attribute]:
        return [(await self.frame()).attributes[0] for _ in range(round(seconds * FPS))]

    def looks(self, model: str) -> int:
        return sum(len(batch) for name, batch, _ in self.engine.asked if name == model)

    @property
    def plan(self) -> NodePlan:
        (plan,) = self.chain.plans(gone=True)["cam"]
        return plan


async def test_every_frame_has_the_scenes_answer_and_one_a_second_a_look() -> None:
    answers = await Camera().goes_on(6)
    assert {(each.label, each.provenance, each.model.name) for each in answers} == {("blue", "track", "big")}
    assert [number for number, each in enumerate(answers) if each.looked] == [0, 5, 10, 15, 20, 25]
    assert [answers[number].looks for number in (0, 4, 5, 10, 15)] == [1, 1, 2, 3, 3]
    assert {each.looked for each in answers} == {"oracle", None}


async def test_a_scene_has_no_track_in_results() -> None:
    region = await Camera().frame()
    assert (region.box, region.track_id, len(region.attributes)) == (WHOLE, None, 1)


async def test_another_scene_is_named_at_once() -> None:
    camera = Camera()
    await camera.goes_on(4.4)
    camera.says["big"] = "red"
    assert (await camera.frame()).attributes[0].label == "blue"
    (found,) = (await camera.frame(shade=90)).attributes
    assert (found.label, found.looks, found.looked) == ("red", 1, "oracle")


async def test_single_pictures_are_looked_at_one_by_one() -> None:
    camera = Camera(pictures={"cam"})
    answers = await camera.goes_on(2)
    assert [(each.provenance, each.looks, each.looked) for each in answers] == [("oracle", None, None)] * 10
    assert camera.looks("big") == 10


async def test_a_new_run_is_another_scene_whose_end_is_told() -> None:
    camera = Camera()
    await camera.goes_on(1)
    camera.says["big"] = "red"
    assert (await camera.frame(run="run-2")).attributes[0].label == "red"
    assert camera.plan.answers == 1


async def test_a_stream_that_is_forgotten_begins_anew() -> None:
    camera = Camera()
    await camera.frame()
    camera.node.forget("cam")
    camera.node.forget("another")
    camera.says["big"] = "red"
    assert (await camera.frame()).attributes[0].label == "red"


async def test_a_look_that_fails_is_made_in_the_next_frame() -> None:
    camera = Camera()
    camera.broken = True
    with pytest.raises(SluiceError):
        await camera.frame()
    camera.broken = False
    (found,) = (await camera.frame()).attributes
    assert (found.looks, found.looked) == (1, "oracle")


async def test_a_variant_proves_itself_on_the_conclusions_of_scenes_and_answers_then() -> None:
    camera = Camera(Rule(0.5))
    await camera.goes_on(29.8)
    assert (camera.plan.phase, camera.plan.audits, camera.plan.answers) == ("trusted", 10, 10)
    answers = await camera.goes_on(3)
    assert {each.looked for each in answers} == {"variant", None}


async def test_a_variant_that_contradicts_is_off_and_nobody_has_seen_its_answers() -> None:
    camera = Camera()
    camera.says["small"] = "red"
    assert {each.label for each in await camera.goes_on(30)} == {"blue"}
    assert camera.plan.phase == "off"


async def test_in_service_the_oracle_looks_at_drawn_scenes_in_the_background() -> None:
    camera = Camera(Rule(0.9, probation_rate=1.0), served=AuditState(phase="probation"))
    camera.says["big"] = "red"
    assert {each.label for each in await camera.goes_on(5)} == {"blue"}
    assert (camera.plan.audits, camera.plan.agreement.disagreements) == (1, 1)
