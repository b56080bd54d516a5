"""Decides what is trained next from samples and wishes, has it trained, and says what is to be published."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.random import default_rng

from cache_adapt.adaptation.gain import why_not_published
from cache_adapt.adaptation.targets import Report, Subject, Target, pooled
from cache_adapt.adaptation.trainable import Judgement, Trainable
from cache_adapt.adaptation.triggers import History, Reason, why_train
from cache_adapt.adaptation.versions import next_version
from cache_adapt.adaptation.window import Rows, Sample, SampleWindow
from learning.purse import Purse
from serving.errors import ModelError, SluiceError

log = logging.getLogger(__name__)

WINDOW_BYTES = 16 << 20
MOST_WINDOWS = 16
MOST_TARGETS = 128
MOST_REPORTS = 4000
"""Reports of streams on targets, all together."""
KEPT_BYTES = 32 << 20
"""For the versions in use of all targets."""
WANTED_S = 600.0
"""A target of which nobody has spoken for so long is not trained any more."""
TRAINED_ROWS = 2000
"""Samples that one training takes, beside the kind's validation set."""
FIRST_GUESS_S = 1.0
"""Processor seconds of a training, until one was made."""


@dataclass
class _State:
    """The state of one target."""

    key: str
    wanted_at_s: float
    history: History = field(default_factory=History)
    version: int = 0
    data: bytes = b""
    """The version in use; empty where it is not known."""
    made: bytes = b""
    """The last one that was trained here."""
    reports: OrderedDict[str, Report] = field(default_factory=OrderedDict)


@dataclass(frozen=True, slots=True)
class DueTraining:
    """A target to train now, and the reason."""

    target: Target
    reason: Reason


@dataclass(frozen=True, slots=True)
class Artefact:
    """A trained artefact to publish."""

    target: Target
    version: int
    data: bytes
    samples: int
    """Number of recent samples that it was trained on."""
    detail: str


class Adaptation:
    """Everything that an adaptation worker knows; it can be collected anew from the topics within a window."""

    def __init__(self, kinds: Iterable[Trainable], purse: Purse, agreement: float = 0.0) -> None:
        """``purse``: what trainings may cost; ``agreement``: the query's ``accuracy``."""
        self._kinds = {kind.kind: kind for kind in kinds}
        self._purse, self._agreement = purse, agreement
        self._windows: dict[tuple[Subject, int], SampleWindow] = {}
        """By the number of activations too: a message with another number must not displace the others."""
        self._states: OrderedDict[Target, _State] = OrderedDict()
        self._found: OrderedDict[str, tuple[int, bytes]] = OrderedDict()
        self._training_s, self._waits = FIRST_GUESS_S, False

    def add(self, subject: Subject, stream: str, samples: Sequence[Sample], now_s: float) -> None:
        """Keep samples of a stream; ``now_s``: seconds since 1970."""
        dims = len(samples[0].features)
        window = self._windows.setdefault((subject, dims), SampleWindow(dims, WINDOW_BYTES))
        for sample in samples:
            window.add(stream, sample, now_s)
        if len(self._windows) > MOST_WINDOWS:
            del self._windows[min(self._windows, key=lambda each: len(self._windows[each]))]

    def why_foreign(self, subject: Subject) -> str | None:
        """Why no kind trains on samples of this network; None where one does."""
        found = [kind.why_foreign(subject) for kind in self._kinds.values()]
        return None if None in found else found[0]

    def wanted(self, target: Target, report: Report, now_s: float) -> str | None:
        """Note that a worker wants something; returns why it cannot be had, None where it can."""
        kind = self._kinds.get(target.kind)
        why_not = f"nothing of the kind {target.kind!r} is trained here" if kind is None else kind.why_not(target)
        if why_not is not None:
            return why_not
        if target not in self._states:
            state = _State(target.key, now_s)
            if state.key in self._found:
                self._take(target, state, *self._found[state.key], now_s)
            self._states[target] = state
        state = self._states[target]
        state.wanted_at_s = now_s
        state.reports[report.stream] = report
        state.reports.move_to_end(report.stream)
        while self.reports > MOST_REPORTS:
            max(self._states.values(), key=lambda each: len(each.reports)).reports.popitem(last=False)
        self._states.move_to_end(target)
        _limit(self._states, MOST_TARGETS)
        return None

    def published(self, key: str, version: int, data: bytes, now_s: float) -> None:
        """Note a version that is on the topic, of this worker or of another."""
        self._found.pop(key, None)
        self._found[key] = version, data
        while len(self._found) > MOST_TARGETS or self.kept_bytes > KEPT_BYTES:
            self._found.popitem(last=False)
        for target, state in self._states.items():
            if state.key == key and version > state.version:
                self._take(target, state, version, data, now_s)

    def next(self, now_s: float) -> DueTraining | None:
        """The target that should be trained now and waits longest; None where there is none, or it cannot be paid."""
        due = [
            (state.history.tried_at_s or 0.0, DueTraining(target, reason))
            for target, state in self._states.items()
            if (reason := self._why(target, state, now_s))
        ]
        waits = bool(due) and not self._purse.may_spend(self._training_s)
        if waits and not self._waits:
            log.info("training waits: it takes %.1f s, %.1f s may be spent", self._training_s, self._purse.left_s)
        self._waits = waits
        return min(due, key=lambda each: each[0])[1] if due and not waits else None

    async def train(self, due: DueTraining, now_s: Callable[[], float]) -> Artefact | None:
        """Train; what is to be published, None where nothing is better than what is there. Logs what became of it."""
        target, state = due.target, self._states[due.target]
        kind, window = self._kinds[target.kind], self._window(target.subject)
        version = next_version(state.version, now_s())
        rows, held = window.split(now_s(), TRAINED_ROWS, default_rng(version))
        samples, mix = window.seen, pooled(state.reports.values(), state.version).mix
        where = f"node {target.subject.node}, {target.kind} ({due.reason})"
        artefact = None
        try:
            made = await kind.train(target, rows, version, self._pay)
            current = self._judged(kind, target, state.data, held)
            why_not = why_not_published(made.data, kind.judge(target, made.data, held), current, len(held))
            if why_not is None:
                artefact = Artefact(target, version, made.data, len(rows), made.detail)
                state.made = made.data
                log.info("%s: version %d from %d recent samples: %s", where, version, len(rows), made.detail)
        except SluiceError as error:
            why_not = str(error)
        if why_not is not None:
            log.info("%s: nothing new from %d recent samples: %s", where, len(rows), why_not)
        state.history.tried(now_s(), samples, mix, gained=artefact is not None)
        return artefact

    def tidy(self, now_s: float) -> None:
        """Drop old samples, and what nobody wants any more; to be called now and then."""
        for window in self._windows.values():
            window.expire(now_s)
        for target in [each for each, state in self._states.items() if now_s - state.wanted_at_s > WANTED_S]:
            del self._states[target]

    @property
    def samples(self) -> int:
        return sum(map(len, self._windows.values()))

    @property
    def targets(self) -> int:
        return len(self._states)

    @property
    def reports(self) -> int:
        return sum(len(state.reports) for state in self._states.values())

    @property
    def kept_bytes(self) -> int:
        """Bytes of the versions that were found on the topic."""
        return sum(len(data) for _, data in self._found.values())

    def _why(self, target: Target, state: _State, now_s: float) -> Reason | None:
        window = self._window(target.subject)
        samples = window.seen
        if len(window) < self._kinds[target.kind].least_samples:
            return None
        if now_s - state.wanted_at_s > WANTED_S or not state.history.may_try(now_s, samples):
            return None
        seen = pooled(state.reports.values(), state.version)
        return why_train(state.history, now_s, samples, seen, self._agreement)

    def _take(self, target: Target, state: _State, version: int, data: bytes, now_s: float) -> None:
        """Go on from a version that was found; what cannot be used is made anew, under a higher number."""
        nothing = self._window(target.subject).split(now_s, 0, default_rng(0))[0]
        judged = self._judged(self._kinds[target.kind], target, data, nothing)
        state.version = version
        if judged is None:
            state.data, state.history = b"", History()
        else:
            if data not in (state.data, state.made):
                state.history = History(tried_at_s=now_s, served=True)
            state.data = data

    def _judged(self, kind: Trainable, target: Target, data: bytes, held: Rows) -> Judgement | None:
        """How the version in use does; None where there is none that can be used."""
        try:
            return kind.judge(target, data, held) if data else None
        except ModelError:
            return None

    def _window(self, subject: Subject) -> SampleWindow:
        """The largest window of a network; an empty one where there is none."""
        found = (window for (each, _), window in self._windows.items() if each == subject)
        return max(found, key=len, default=SampleWindow(1, WINDOW_BYTES))

    def _pay(self, processor_s: float) -> None:
        self._training_s = processor_s
        self._purse.spend("training", processor_s)


def _limit(items: OrderedDict[Any, Any], most: int) -> None:
    while len(items) > most:
        items.popitem(last=False)
