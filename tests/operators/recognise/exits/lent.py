"""A crossing whose oracle is on another machine, 300 ms away; a network of this one lends its cuts."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from numpy.typing import NDArray

from cache_adapt.adaptation.targets import Subject
from cache_adapt.audit.state import Rule
from cache_adapt.learned.vocabulary import Vocabulary
from learning.budget import Budget, unlimited
from operators.audits.roles import Roles
from operators.audits.unit_costs import UnitCosts
from operators.recognise.audits.crossings import Crossings
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.exits.held_looks import HeldWindows
from operators.recognise.exits.kinds import SharedExits, SpecialisedExits
from operators.recognise.exits.lent_cuts import Lender, LentCuts
from operators.recognise.looks import ChainNetworks, ChainTerms
from operators.recognise.objects.late_looks import LateLooks
from operators.recognise.objects.objects import Objects
from operators.recognise.remote_reference import RemoteReference
from operators.recognise.variants import VariantShortcut
from operators.testing import FakeEngine, card_of, scores
from serving.errors import SluiceError
from serving.scheduling.requests import Urgency
from tests.operators.recognise.exits.crossing import INPUT, PAINT, Crossing
from tests.operators.recognise.exits.maker import Maker
from tests.pipelines.run.recording import Recording

FAR, NEAR = "far on gpu", "near"
LENT = f"{NEAR}+early+late"
FAR_S, NEAR_S = 0.3, 0.002


class FarEngine(FakeEngine):
    """A call to the oracle takes 300 ms of its clock; a test may hold those in the background, or all, or fail them."""

    def __init__(self, **models: Any) -> None:
        super().__init__(**models)
        self.now_s = 0.0
        self.gate = asyncio.Event()
        self.gate.set()
        self.holds_all = False
        self.fails: dict[str, SluiceError] = {}
        self.crossed = {True: 0, False: 0}
        """Looks at the oracle: in the background, and those for which frames wait."""

    async def infer(self, model: str, batch: NDArray[Any], urgency: Urgency, *rest: Any, **more: Any) -> Any:
        if model == FAR:
            self.crossed[urgency.background] += len(batch)
            self.now_s += FAR_S
            if urgency.background or self.holds_all:
                await self.gate.wait()
        if model in self.fails:
            raise self.fails[model]
        return await super().infer(model, batch, urgency, *rest, **more)


class LentCrossing(Crossing):
    """The oracle says the colour as ``Crossing``'s does; the lender's own words are always red."""

    def __init__(
        self,
        kind: str = "cached",
        per_track: bool = False,
        budget: Budget | None = None,
        variant: bool = False,
        late: bool = False,
    ) -> None:
        """``variant``: the lender may answer by itself, too; ``late``: frames do not wait for the oracle."""
        self.words = {colour: colour for colour in PAINT if colour != "grey"}
        self.maker, self.heard, self.labels = Maker(), Recording(), "words"
        self.seq = self.track = self.found_cuts = 0
        self.engine = self.far = FarEngine(
            **{
                FAR: (card_of("far", min_confidence=0.6, input=INPUT), self._say),
                NEAR: (card_of(NEAR, input=INPUT, tier="compact"), lambda batch: [scores(["red"] * len(batch))]),
            }
        )
        self.engine.costs_s = {NEAR: NEAR_S, LENT: NEAR_S}
        self.vocabulary = Vocabulary(3, 0.6)
        self.budget, self._accuracy, self._makes, self.held = budget or unlimited(), 0.8, True, HeldWindows()
        reference = RemoteReference(self.far, FAR, lambda: self.far.now_s, self.budget.used_elsewhere)
        self.recogniser = Classifier(reference, Roles.of([FAR, NEAR], self.engine.card), "paint")
        self.crossings = Crossings(1.0, [FAR])
        self.cut = LentCuts(reference, Lender(NEAR, self._places), self.budget, self.crossings)
        self.special = SpecialisedExits(self.cut, self._stream) if kind == "specialised" else None
        all_streams = partial(self.tuned, Subject("type", FAR, "ab" * 32, "words"))
        self.shared = SharedExits(self.cut, all_streams) if kind == "cached" else None
        variants = [VariantShortcut(self.recogniser, NEAR)] if variant else []
        costs = UnitCosts(reference)
        looks = LateLooks(self.recogniser) if late else None
        networks = ChainNetworks(
            self.recogniser, costs, variants, self.cut, self.special, self.shared, late=looks, crossings=self.crossings
        )
        self.objects = Objects(self.recogniser) if per_track else None
        terms = ChainTerms(Rule(self._accuracy, rate=0.05), self.budget, observer=self.heard)
        self.node = Chain("type", networks, terms, self.objects)

    @property
    def calls(self) -> int:
        """Looks that went to the other machine."""
        return sum(self.far.crossed.values())

    def audit_no_more(self) -> None:
        """Nothing may cross for audits from now on."""
        self.crossings._budget.share = 0.0


def shown(regions: Any) -> list[tuple[str, str]]:
    """What was published of regions, and by whom."""
    return [(each.attributes[-1].label, each.attributes[-1].provenance) for each in regions]
