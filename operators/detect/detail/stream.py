"""One stream of a detector with ``detail: auto``: loads wider inputs behind the frames, and knows what each costs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from operators.detect.detail.dial import AutoDetail, DetailDial, DetectorUse, Price, Width, widths
from operators.frames.frame import Frame
from operators.inference import Inference
from operators.wire.schema import DetailPlan
from serving.errors import SluiceError
from serving.graphs.surgery.sizes import Size

log = logging.getLogger(__name__)

LEAST_RATIO, MOST_RATIO = 0.8, 1.25
"""By what a network takes for a pixel of a wider input is believed to differ: the rest is what the machine did besides.
"""
DIGITS = 4


class StreamDetail:
    """Chooses what the network is shown of the frames of one stream, between two of them."""

    def __init__(self, auto: AutoDetail, engine: Inference, model: str) -> None:
        self._auto, self._engine, self._model = auto, engine, model
        self._shown: list[Width] = []
        self._picture = (0, 0)
        self._ready = {0}
        self._dial = DetailDial((), auto.most_cost)
        self._least_s: dict[Size, float] = {}
        """Processor seconds of one run, the least that was measured."""
        self._loading: asyncio.Task[None] | None = None
        self._compared: tuple[int, float, int] = (0, 0.0, 0)
        """A longer side, how far what was found with it agrees with the widest, summed up, and the number of audits."""

    @property
    def detail(self) -> int:
        """The longer side of what the network is shown of the present frame."""
        return self._shown[self._dial.at].detail

    @property
    def network_s(self) -> float | None:
        """Processor seconds of the network for one frame; None as long as nobody knows."""
        if not self._shown or self._shown[0].size not in self._least_s:
            return None
        shown = self._shown[self._dial.at]
        measured_s = self._engine.processor_s(self._model, shown.size)
        by_pixels_s = self._least_s[self._shown[0].size] * shown.pixels / self._shown[0].pixels
        return by_pixels_s if measured_s is None else measured_s

    @property
    def other(self) -> int | None:
        """The longer side that audits compare with the present one: the widest, else that of no ``detail``."""
        if len(self._shown) < 2:
            return None
        return self._shown[0 if self.is_widest else -1].detail

    @property
    def is_widest(self) -> bool:
        return self._dial.at == len(self._shown) - 1

    @property
    def other_runs(self) -> float:
        """The cost of one run with ``other``, in runs with the present one."""
        return self._squares(self._shown[0 if self.is_widest else -1]) / self._squares(self._shown[self._dial.at])

    async def begin(self, frame: Frame) -> None:
        """Begin a frame; loads what is shown of the first one, as the detector would."""
        picture = frame.width, frame.height
        if self._picture == picture:
            return
        shown = widths(self._engine.card(self._model).input, *picture)
        card = await self._engine.fitted(self._model, *picture, shown[0].detail)
        narrowest = Width(shown[0].detail, Size(card.input.width, card.input.height))
        self._shown = [narrowest, *(each for each in shown if each.pixels > narrowest.pixels)]
        self._picture, self._compared = picture, (0, 0.0, 0)
        self._ready = {0}
        self._dial = DetailDial(self._prices(), self._auto.most_cost)

    def used(self, stream: str, use: DetectorUse, detection_s: float | None) -> None:
        """Take what was used since the last frame, ``besides`` of that in seconds.

        ``detection_s``: what a detection takes, with what is done around the network; None as long as nobody knows.
        """
        for each in self._shown:
            if (took_s := self._engine.processor_s(self._model, each.size)) is not None:
                self._least_s[each.size] = min(took_s, self._least_s.get(each.size, took_s))
        if not detection_s or not self._shown:
            return
        before = self._dial.at
        squares = use.besides / detection_s * self._squares(self._shown[before])
        self._dial.spent(use._replace(besides=squares), self._prices())
        self._tell(stream, before)
        if self._dial.wanted not in self._ready and (self._loading is None or self._loading.done()):
            self._loading = asyncio.create_task(self._load(self._dial.wanted, self._shown))

    @contextmanager
    def timed(self, stream: str, budget_ms: float | None) -> Iterator[None]:
        """Time a detection that may take so long; None: as long as it wants."""
        started_s, before = time.monotonic(), self._dial.at
        yield
        if budget_ms is not None:
            took_ms = 1000 * (time.monotonic() - started_s)
            self._dial.ended(took_ms / budget_ms if budget_ms > 0 else float("inf"))
            self._tell(stream, before)

    def compared(self, narrower: int, agreement: float) -> None:
        """Take how far what was found at a width agrees with what is found at the widest."""
        of, sum_, audits = self._compared
        self._compared = (narrower, sum_ + agreement, audits + 1) if of == narrower else (narrower, agreement, 1)

    def plan(self) -> DetailPlan | None:
        """How the stream stands; None before its first frame."""
        if not self._shown:
            return None
        (width, height), (narrower, sum_, audits) = self._shown[self._dial.at].size, self._compared
        return DetailPlan(
            width=width,
            height=height,
            widest=self._shown[-1].detail,
            cost=None if self._dial.cost is None else round(self._dial.cost, DIGITS),
            most_cost=self._auto.most_cost,
            compared=narrower or None,
            agreement=round(sum_ / audits, DIGITS) if audits else None,
            audits=audits,
            reason=self._why(),
        )

    async def close(self, within_s: float) -> None:
        """Let what is being loaded be loaded, within the time."""
        if self._loading is not None:
            await asyncio.wait([self._loading], timeout=within_s)
            self._loading.cancel()

    def _prices(self) -> list[Price]:
        return [Price(self._squares(each), place in self._ready) for place, each in enumerate(self._shown)]

    def _squares(self, shown: Width) -> float:
        """The cost of one run: by its pixels, and by what was measured of it and of the narrowest."""
        own, narrowest = self._engine.card(self._model).input, self._shown[0]
        by_pixels, ratio = shown.pixels / (own.width * own.height), 1.0
        if shown.size in self._least_s and self._least_s.get(narrowest.size):
            measured = self._least_s[shown.size] / self._least_s[narrowest.size]
            ratio = min(max(measured * narrowest.pixels / shown.pixels, LEAST_RATIO), MOST_RATIO)
        return by_pixels * ratio

    async def _load(self, place: int, shown: Sequence[Width]) -> None:
        """Load a wider input; where the network takes none, it and those beyond are not wanted any more."""
        found = Size(0, 0)
        try:
            card = await self._engine.fitted(self._model, *self._picture, shown[place].detail)
            found = Size(card.input.width, card.input.height)
        except SluiceError as error:
            log.warning("%s is not shown more than %d pixels: %s", self._model, shown[place - 1].detail, error)
        if shown is not self._shown:
            return
        width = Width(shown[place].detail, found)
        if width.pixels > shown[0].pixels:
            self._shown[place] = width
            self._ready.add(place)
        else:
            del self._shown[max(place, self._dial.at + 1) :]

    def _tell(self, stream: str, before: int) -> None:
        if self._dial.at != before:
            now, then = self._shown[self._dial.at].detail, self._shown[before].detail
            log.info("stream %s: %s is shown %d pixels in place of %d: %s", stream, self._model, now, then, self._why())

    def _why(self) -> str:
        """Why it is shown as much as it is, and no more."""
        dial, wider = self._dial, self._dial.at + 1
        if wider == len(self._shown):
            return "that is the widest that it takes of such pictures"
        detail, gone = self._shown[wider].detail, {"cost": "cost too much", "time": "took too long"}
        if dial.rest and dial.left_for is not None:
            return f"a wider one {gone[dial.left_for]}; it is tried again after {dial.rest} frames"
        match dial.too_wide(wider) if dial.cost is not None else None:
            case "cost":
                cost, most = f"{dial.expected(wider):.2f}", f"{self._auto.most_cost:g}"
                return f"{detail} pixels would cost {cost} of the square on every frame, {most} at most"
            case "time":
                return f"with {detail} pixels it would hardly be in time"
            case None:
                return f"{detail} pixels are tried once enough was saved"
