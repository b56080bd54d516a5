"""The link of a chain that answers by learned caches inside the oracle, or inside a variant of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.frames.halfway import Halfway
from operators.recognise.cached.cache_network import CacheNetwork
from operators.recognise.cached.supply import CacheSupply
from operators.recognise.classifier import Classifier
from operators.recognise.shortcuts.shortcut import AuditOutcome, Overheard, Shortcut, Turn
from operators.wire.schema import Attribute, Model, ShortcutKind
from serving.common.threads import ThreadTime, in_thread
from serving.engines.exits import ExitOutputs, Exits
from serving.errors import SluiceError, TooLate


class Caches(Shortcut):
    """Answers where a cache is sure. What goes through to the end has the network's own answer, at no further cost."""

    kind: ShortcutKind = "cached"
    follows_content = False
    listens = True

    def __init__(self, recogniser: Classifier, supply: CacheSupply, within: str | None = None) -> None:
        """``within``: the key of the variant that they sit in; None: they sit in the oracle."""
        self._recogniser, self._supply = recogniser, supply
        self._model, self.within = supply.model, within
        self.models = (self._model,)

    @property
    def exits(self) -> Exits | None:
        network = self._supply.network
        return None if network is None or self.within is not None else network.exits

    @property
    def key(self) -> str:
        """Caches in a variant have an audit of their own."""
        return self.kind if self.within is None else f"{self.kind} {self._model}"

    async def prepare(self) -> None:
        await self._supply.prepare()

    def is_planned(self, call: Call) -> bool:
        """Whether the decision names the network, and allows caches in it."""
        if self.within is None:
            return call.model in (None, self._model) and call.decision.allows(self.kind)
        return call.model == self._model and call.decision.allows("variant") and call.decision.allows(self.kind)

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        network = self._supply.network
        if network is None or network.version is None:
            return Turn((), regions)
        if not call.urgency.background:
            self._supply.silences(len(regions))
        found = await self._found(network, frame, regions, call)
        if found is None:
            who = "the oracle" if self.within is None else self._model
            return Turn((), regions, declined=f"{who} does not run with its caches")
        if not found.version.any() and all(tap.shape[1] for tap in found.taps):
            self._supply.sampled(found)
        through = found.place == len(network.cuts)
        own = iter(self._recogniser.read(self._model, found.scores[through]) if through.any() else ())
        answered: list[Region] = []
        finished: list[tuple[Region, Attribute]] = []
        for row, region in enumerate(regions):
            if through[row]:
                finished.append((region, next(own)))
            else:
                region.attributes.append(self._said(found, row))
                answered.append(region)
        through_to_end = [region for region, _ in finished]
        begun = self._begun(network, regions, call)
        return Turn(answered, through_to_end, int(found.version[0]), finished=finished, halfway=begun)

    async def listen(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn | None:
        """See ``Shortcut``: the network runs as a whole, and its caches look at what it computes anyway."""
        network = self._supply.network
        if network is None or network.version is None or not self._supply.may_listen(len(regions)):
            return None
        network.be_silent_once()
        found = await self._found(network, frame, regions, call)
        if found is None or (found.place != len(network.cuts)).any():  # another stream's batch was the silent one
            return None
        took = ThreadTime()
        heard = await in_thread(took.of(partial(network.as_if_answered, found)))
        self._supply.ran(frame.stream, heard)
        self._supply.listened(frame.stream, len(regions), took.seconds)
        said = [self._said(heard, row) if heard.place[row] < len(network.cuts) else None for row in range(len(regions))]
        token = int(heard.version[0])
        if (begun := self._begun(network, regions, call)) is not None:
            begun.resumed += len(regions)
        own = self._recogniser.read(self._model, found.scores)
        return Turn(
            (),
            regions,
            finished=list(zip(regions, own, strict=True)),
            overheard=[Overheard(region, word, token) for region, word in zip(regions, said, strict=True)],
        )

    def cost_s(self, turn: Turn) -> float:
        """See ``Shortcut``: of the whole turn, those that went through included."""
        network = self._supply.network
        if turn.overheard and self.within is not None:
            return self._supply.whole_s * len(turn.rest)
        if turn.token is None or network is None:
            return 0.0
        rest = turn.halfway.rest if turn.halfway else None
        return network.look_s(rest) * (len(turn.answered) + len(turn.rest))

    def learned(self, frame: Frame, turn: Turn) -> None:
        """Leave caches that cost more than they save; have some made where there are none and that may pay."""
        if turn.token is not None:
            self._account(frame, turn)
        words = [region.attributes[-1].label for region in (*turn.answered, *turn.rest)]
        self._supply.named(frame.stream, turn.token, len(turn.answered), words)
        if self.within is None or turn.allowed:
            self._supply.make_where_due()

    def _account(self, frame: Frame, turn: Turn) -> None:
        """Note what a turn has cost and spared."""
        begun_s = turn.halfway.spared_s if turn.halfway else 0.0
        self._supply.looked(len(turn.answered), len(turn.rest), self.cost_s(turn), begun_s)

    def audited(self, outcome: AuditOutcome) -> None:
        """Count how often caches agree; they learn from the oracle's answers, also to other links."""
        if outcome.audit == self.key:
            self._supply.audited(outcome.stream, outcome.token, outcome.agrees)

    def barred(self, stream: str) -> None:
        self._supply.barred()

    def why_silent(self) -> str | None:
        return self._supply.why_silent()

    def forget(self, stream: str) -> None:
        self._supply.forget(stream)

    def edition(self, stream: str) -> int | None:
        """Return the version of the caches: each has to prove itself."""
        network = self._supply.network
        return None if network is None else network.version

    async def settled(self) -> None:
        """Return when nothing is being made."""
        await self._supply.settled()

    async def close(self) -> None:
        """Give up what is being made."""
        await self._supply.close()

    async def _found(
        self, network: CacheNetwork, frame: Frame, regions: Sequence[Region], call: Call
    ) -> ExitOutputs | None:
        """The network's output for these regions; None where it fails."""
        begun = self._begun(network, regions, call)
        try:
            if begun is not None:
                return await network.go_on(begun.rest, begun.rows(regions), call.urgency)
            return await network.run(self._recogniser.crops(self._model, frame, regions), call.urgency)
        except TooLate:
            raise
        except SluiceError as error:
            self._supply.failed(error)
            return None

    def _begun(self, network: CacheNetwork, regions: Sequence[Region], call: Call) -> Halfway | None:
        """A shortcut's beginning, where these caches answer in the rest."""
        halfway = call.halfway
        if halfway is None or halfway.rest.exits is not network.exits or not halfway.has(self._model, regions):
            return None
        return halfway

    def _said(self, found: ExitOutputs, row: int) -> Attribute:
        distribution, place = found.distribution[row], int(found.place[row])
        best = int(distribution.argmax())
        card = self._recogniser.card
        version = str(int(found.version[row]))
        where = "" if self.within is None else f"{self._model.partition('@')[2]}+"
        model = Model(name=card.name, version=version, tier=self.kind, variant=f"{where}cached@{place + 1}")
        return self._recogniser.answer(card.classes[best], float(distribution[best]), self.kind, model)
