"""A node whose oracle may have exits, coloured objects that pass, and the answers that a test wants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from cache_adapt.adaptation.targets import Subject
from cache_adapt.audit.state import Rule
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.specs import ExitCut
from cache_adapt.learned.vocabulary import Vocabulary
from learning.budget import Budget, unlimited
from operators.audits.roles import Roles
from operators.audits.unit_costs import UnitCosts
from operators.frames.frame import Region
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.exits.cut_oracle import CutOracle
from operators.recognise.exits.heard_exits import ExitsRequest, HeardExits
from operators.recognise.exits.held_looks import HeldWindows
from operators.recognise.exits.kinds import SharedExits, SpecialisedExits
from operators.recognise.exits.specialised import SpecialisedStream, rules
from operators.recognise.looks import ChainNetworks, ChainTerms
from operators.recognise.objects.objects import Objects
from operators.testing import FakeEngine, call, card_of, make_frame, make_region, so_far
from operators.testing.engine import COLOURS
from operators.wire.result import UNKNOWN
from operators.wire.schema import NodePlan, ShortcutKind
from tests.operators.recognise.exits.maker import Maker
from tests.pipelines.run.recording import Recording
from tests.turns import settled, turns

SHA = "ab" * 32
GRID = (3, 1, 1)
CUTS = (ExitCut("early", GRID, 0.3), ExitCut("late", GRID, 0.7))
CUT = "net+early+late"
PAINT = {"blue": (250, 20, 20), "green": (20, 250, 20), "red": (20, 20, 250), "grey": (120, 120, 120)}
INPUT = {"width": 4, "height": 4, "colour": "bgr", "scale": 1 / 255}
FPS = 10
ROWS = 4

FIRST_TUNING = 48
"""Looks at which exits are tuned first in these tests."""


class Crossing:
    """Up to four objects in a frame; the end says their colour, or what ``words`` say of it; grey is ``unknown``."""

    def __init__(
        self,
        kinds: Sequence[ShortcutKind] = ("specialised",),
        accuracy: float = 0.8,
        per_track: bool = False,
        there: ExitArtefact | None = None,
        makes: bool = True,
        asked_for: bool = True,
        budget: Budget | None = None,
        maker: Maker | None = None,
        nameless: str | None = None,
    ) -> None:
        """``there``: exits of all streams that are there already; ``makes``: they are made in service too.

        ``asked_for``: the query says that it wants exits of single streams; ``nameless``: a colour that is no name.
        """
        self.words = {colour: colour for colour in PAINT if colour != "grey"}
        self.maker, self.heard, self.labels = maker or Maker(), Recording(), "words"
        self.seq = self.track = self.found_cuts = 0
        self.engine = FakeEngine(net=(card_of("net", min_confidence=0.6, input=INPUT, other_label=nameless), self._say))
        self.engine.costs_s = {"net": 0.01, CUT: 0.005}
        self.vocabulary = Vocabulary(3, 0.6, () if nameless is None else (COLOURS.index(nameless),))
        self.recogniser = Classifier(self.engine, Roles.of(["net"], self.engine.card), "paint")
        self.budget, self._accuracy, self._makes, self.held = budget or unlimited(), accuracy, makes, HeldWindows()
        self.cut = CutOracle(self.engine, "net", self._places, self.budget)
        self.special = SpecialisedExits(self.cut, self._stream, asked_for) if "specialised" in kinds else None
        all_streams = partial(self.tuned, Subject("type", "net", SHA, "words"), there)
        self.shared = SharedExits(self.cut, all_streams) if "cached" in kinds else None
        networks = ChainNetworks(self.recogniser, UnitCosts(self.engine), (), self.cut, self.special, self.shared)
        self.objects = Objects(self.recogniser) if per_track else None
        terms = ChainTerms(Rule(accuracy, rate=0.05), self.budget, observer=self.heard)
        self.node = Chain("type", networks, terms, self.objects)

    async def frame(
        self, *colours: str, tracks: Sequence[int] = (), stream: str = "cam", run: str = "run-1"
    ) -> list[str]:
        """One frame in which objects of these colours are; what is published of them."""
        regions = await self.regions(*colours, tracks=tracks, stream=stream, run=run)
        return [region.attributes[-1].label for region in regions]

    async def regions(
        self, *colours: str, tracks: Sequence[int] = (), stream: str = "cam", run: str = "run-1"
    ) -> list[Region]:
        """One frame whose result is sent, and all that follows from it."""
        picture, regions = np.zeros((100, 100, 3), np.uint8), list[Region]()
        for place, colour in enumerate(colours):
            picture[25 * place : 25 * place + 25] = PAINT[colour]
            track = tracks[place] if tracks else None
            regions.append(make_region(0.3, 0.25 * place + 0.02, 0.2, 0.2, id=place, track_id=track))
        frame = make_frame(self.seq, self.seq / FPS, picture, stream, run)
        self.seq += 1
        await self.node.process(frame, regions, call("net"))
        self.node.published(so_far(stream, run))
        await turns()
        await settled()
        return regions

    async def passing(self, colours: Sequence[str], frames: int, stream: str = "cam") -> Counter[str]:
        """So many frames with four objects each, of these colours in turn; who has answered how often."""
        given = Counter[str]()
        for at in range(self.seq, self.seq + frames):
            shown = [colours[(ROWS * at + place) % len(colours)] for place in range(ROWS)]
            given.update(each.attributes[-1].provenance for each in await self.regions(*shown, stream=stream))
        return given

    async def until(self, condition: Callable[[], bool], colours: Sequence[str], frames: int = 500) -> int:
        """Let these colours go by until that holds; how many frames it took."""
        for number in range(frames):
            if condition():
                return number
            await self.passing(colours, 1)
        raise AssertionError(f"{frames} frames were not enough")

    async def tracks(self, colours: Sequence[str], objects: int, frames: int = 8) -> Counter[str]:
        """Objects pass one after the other, each for some frames; by whom each was looked at first."""
        given = Counter[str]()
        for at in range(objects):
            self.track += 1
            shown = [await self.regions(colours[at % len(colours)], tracks=[self.track]) for _ in range(frames)]
            given[str(shown[0][0].attributes[-1].looked)] += 1
        return given

    def plan(self, kind: ShortcutKind = "specialised", stream: str = "cam") -> NodePlan:
        (found,) = (each for each in self.node.plans(gone=True)[stream] if each.kind == kind)
        return found

    def phase(self, kind: str = "specialised", stream: str = "cam") -> str:
        known = self.node._streams.known().get(stream)
        return "shadow" if known is None else known.audits.of(kind).phase

    def looks(self, model: str) -> int:
        """Looks that a network was asked for."""
        return sum(len(batch) for name, batch, _ in self.engine.asked if name == model)

    def tuned(self, subject: Subject, there: ExitArtefact | None = None) -> HeardExits:
        teaches = bool(subject.stream) or self._makes
        request = ExitsRequest(subject, self.vocabulary, self._accuracy, self.maker, self.held, teaches=teaches)
        return HeardExits(request, self.cut, there)

    def _stream(self, stream: str) -> SpecialisedStream:
        subject = Subject("type", "net", SHA, self.labels, stream)
        words, made = (*COLOURS, UNKNOWN), partial(self.heard.exits_made, stream, "type")
        return SpecialisedStream(subject, words, rules(len(words), self._accuracy), self.tuned, made)

    def _places(self) -> Sequence[ExitCut]:
        self.found_cuts += 1
        return CUTS

    def _say(self, batch: np.ndarray) -> list[np.ndarray]:
        means, names = batch.mean(axis=(2, 3)), list(COLOURS)
        shown = [names[int(row.argmax())] if row.max() > 2 * row.mean() else "grey" for row in means]
        said = [self.words.get(colour) for colour in shown]
        return [np.array([[9.0 * (word == name) for name in names] for word in said], np.float32)]
