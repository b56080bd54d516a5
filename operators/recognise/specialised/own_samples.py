"""Samples of the node's own streams with the oracle's answers: a training set from its cameras."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from learning.store import SampleRing
from operators.background import Backlog, PendingLook
from operators.frames.frame import Frame, Region
from operators.recognise.account.books import Ledger
from operators.recognise.labels import Labels
from operators.recognise.specialised.features import Features
from operators.wire.schema import FrameId
from serving.common.tensors import Image
from specialization.heads.enough import LEAST_OTHERS
from specialization.templates.stored import StoredTemplate
from specialization.templates.strangers import strangers

ENOUGH = 300
"""Number of samples of a class after which only few more are taken, so that recent ones are included."""
RARELY = 10
FIRST_PROFILE = 150
"""Number of samples after which heads are first validated."""
STRANGERS = 48
"""Number of pictures that ship which become samples of "other" where the streams show one class only."""


Row = NDArray[np.float32]
"""D features of an object."""

Afford = Callable[[], bool]


def always() -> bool:
    return True


Outlet = Callable[[str, str, int, NDArray[np.float32]], None]
"""Takes a sample: its stream, its template, the oracle's answer, the features."""


class Computed:
    """Features that a head has read of objects of one frame: as samples they cost nothing more."""

    def __init__(self, template: str = "", regions: Sequence[Region] = (), features: Iterable[Row] = ()) -> None:
        self._template = template
        self._rows = {id(region): (region, row) for region, row in zip(regions, features, strict=True)}

    def of(self, template: str, region: Region) -> Row | None:
        """Return the features of an object for a template; None where they have not been computed."""
        known, row = self._rows.get(id(region), (None, None))
        return row if known is region and template == self._template else None


NOTHING = Computed()


class OwnSamples:
    """Computes features of crops in the background, and keeps them with the oracle's answers."""

    def __init__(
        self,
        directory: Path,
        features: Callable[[Image], Awaitable[NDArray[np.float32]]],
        outlet: Callable[[str, int, NDArray[np.float32]], None] | None = None,
    ) -> None:
        """``features``: computes the D features of a crop.

        ``outlet``: takes the samples, with stream and label, where they are not kept here.
        """
        self.directory, self._outlet = directory, outlet
        self._backlog: Backlog[Image, NDArray[np.float32]] = Backlog(features, "no samples are taken")
        self._ring: SampleRing | None = None
        self._counts: dict[int, int] = {}
        self._offered: dict[int, int] = {}
        self._next_profile = FIRST_PROFILE

    @property
    def taken(self) -> int:
        return sum(self._counts.values())

    @property
    def usual(self) -> int | None:
        """The class of most samples; None before the first."""
        return max(self._counts, key=lambda label: self._counts[label], default=None)

    @property
    def lacks_others(self) -> bool:
        """Whether there would be samples enough by now, were they not nearly all of one class."""
        most = max(self._counts.values(), default=0)
        return self.taken >= FIRST_PROFILE and self.taken - most < LEAST_OTHERS

    def offer(self, frame: FrameId, crops: Sequence[Image], labels: Sequence[int], afford: Afford = always) -> None:
        """Offer crops of a frame that the oracle has named; some are taken once the frame's result is ``published``.

        ``afford`` pays for one more sample, or says that there is no money for it.
        """
        self._backlog.hold(frame, self._taken(frame.stream, crops, labels, afford))

    def offer_late(self, stream: str, crop: Image, label: int, afford: Afford = always) -> None:
        """Offer a crop of a frame whose result has been published; see ``offer``."""
        self._backlog.add(self._taken(stream, [crop], [label], afford))

    def _taken(
        self, stream: str, crops: Sequence[Image], labels: Sequence[int], afford: Afford
    ) -> list[PendingLook[Image, NDArray[np.float32]]]:
        if not self._backlog.has_room:
            return []
        named = zip(crops, labels, strict=True)
        taken = [(crop, label) for crop, label in named if self._wanted(label) and afford()]
        return [PendingLook(crop.copy(), partial(self._add, stream, label), _nothing) for crop, label in taken]

    def take(self, stream: str, label: int, features: Row) -> None:
        """Take a sample whose features are there, unless there are enough of its class."""
        if self._wanted(label):
            self._add(stream, label, features)

    def published(self, frame: FrameId) -> None:
        self._backlog.published(frame)

    def forget(self, stream: str) -> None:
        self._backlog.forget(stream)

    def profile_is_due(self) -> bool:
        """Whether the number of samples has doubled since this was last true."""
        if self.taken < self._next_profile:
            return False
        self._next_profile = 2 * self.taken
        return True

    async def close(self) -> None:
        """Take no more samples."""
        await self._backlog.close(0.0)
        if self._ring is not None:
            self._ring.close()
            self._ring = None

    def _wanted(self, label: int) -> bool:
        self._offered[label] = self._offered.get(label, 0) + 1
        return self._counts.get(label, 0) < ENOUGH or self._offered[label] % RARELY == 0

    def _add(self, stream: str, label: int, features: NDArray[np.float32]) -> None:
        if self._outlet is not None:
            self._outlet(stream, label, features)
        else:
            self._ring = self._ring or SampleRing(self.directory, len(features))
            self._ring.add(features[None], np.array([label]))
        self._counts[label] = self._counts.get(label, 0) + 1


class NodeSamples:
    """The samples of a node: one collection for each template, since features are the network's."""

    def __init__(
        self,
        directory: Path,
        templates: Sequence[StoredTemplate],
        features: Features,
        labels: Labels,
        outlet: Outlet | None = None,
    ) -> None:
        """``directory``: the place of the samples; ``outlet``: takes them instead."""
        self.templates: Mapping[str, StoredTemplate] = {template.name: template for template in templates}
        self.features, self.labels = features, labels
        self._own = {name: self._collection(directory, name, outlet) for name in self.templates}
        self._met: set[str] = set()
        """Templates whose samples have been made up with strangers."""

    def collect(
        self,
        frame: Frame,
        regions: Sequence[Region],
        templates: Mapping[str, float],
        ledger: Ledger,
        computed: Computed = NOTHING,
    ) -> None:
        """Offer objects that the oracle has named, as samples for later heads of some templates; ``ledger`` pays.

        ``templates``: by name the seconds that must be left in the purse for what matters more.
        """
        known = [(region, number) for region in regions if (number := self._number(region)) is not None]
        for name, kept_s in templates.items():
            rest = [each for each in known if not self._take(frame.stream, name, *each, computed)]
            if rest and ledger.purse.may_spend(self.features.look_s(name) + kept_s):
                crops = self.features.crops(name, frame, [region for region, _ in rest])
                labels = [number for _, number in rest]
                self._own[name].offer(frame.header.id, crops, labels, partial(self._afford, name, kept_s, ledger))

    def collect_audited(
        self, stream: str, crop: Image, label: str, templates: Mapping[str, float], ledger: Ledger
    ) -> None:
        """Offer an audited object, so that the samples of frequent classes stay fresh."""
        number = self.labels.number(label)
        for name, kept_s in templates.items():
            if number is not None and self.features.sees_as_the_oracle(name):
                self._own[name].offer_late(stream, crop, number, partial(self._afford, name, kept_s, ledger))

    def published(self, frame: FrameId) -> None:
        """The result of a frame has been published: from now on its samples do not delay it."""
        for samples in self._own.values():
            samples.published(frame)

    def forget(self, stream: str) -> None:
        """Take no samples of frames of a stream that have no result yet."""
        for samples in self._own.values():
            samples.forget(stream)

    def directory(self, template: str) -> Path:
        return self._own[template].directory

    def taken(self, template: str) -> int:
        return self._own[template].taken

    def wants_any(self, template: str) -> bool:
        """Whether a sample is taken whatever its class."""
        return self.taken(template) < ENOUGH

    def lacks_others(self, template: str) -> bool:
        """Whether strangers should stand for the classes that the streams do not show."""
        return template not in self._met and self._own[template].lacks_others

    async def add_strangers(self, template: str) -> int:
        """Make pictures that ship samples of other classes; returns how many the oracle was asked about.

        Those that it calls by the streams' usual word are left out. Raises SluiceError.
        """
        self._met.add(template)
        own, asked, taken = self._own[template], 0, 0
        for picture in strangers():
            if taken == STRANGERS:
                break
            number, asked = self.labels.number(await self.features.word(picture)), asked + 1
            if number is not None and number != own.usual:
                own.take("", number, await self.features.of_crop(template, picture))
                taken += 1
        return asked

    def profile_is_due(self, template: str) -> bool:
        return self._own[template].profile_is_due()

    async def close(self) -> None:
        """Take no more samples."""
        for samples in self._own.values():
            await samples.close()

    def _take(self, stream: str, template: str, region: Region, label: int, computed: Computed) -> bool:
        """Take a sample that costs nothing more; False where its features are still to be computed."""
        row = computed.of(template, region)
        if row is not None:
            self._own[template].take(stream, label, row)
        return row is not None

    def _collection(self, directory: Path, template: str, outlet: Outlet | None) -> OwnSamples:
        def pass_on(stream: str, label: int, features: NDArray[np.float32]) -> None:
            if outlet is not None:
                outlet(stream, template, label, features)

        look = partial(self.features.of_crop, template)
        return OwnSamples(directory / template, look, pass_on if outlet is not None else None)

    def _afford(self, template: str, kept_s: float, ledger: Ledger) -> bool:
        look_s = self.features.look_s(template)
        if not ledger.purse.may_spend(look_s + kept_s):
            return False
        ledger.spend("samples", look_s)
        return True

    def _number(self, region: Region) -> int | None:
        return self.labels.number(region.attributes[-1].label)


def _nothing() -> None:
    """Give up a sample: nothing was reserved for it."""
