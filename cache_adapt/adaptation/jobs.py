"""Decides what is trained next from samples and wishes, has it trained, and says what is to be published."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from numpy.random import default_rng

from cache_adapt.adaptation.target_state import Artefact, DueTraining, TargetState
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.trainer import Trainer
from cache_adapt.adaptation.triggers import History, Reason, why_train
from cache_adapt.adaptation.updates import Update, Updates
from cache_adapt.adaptation.versions import digest, next_version, why_not_published
from cache_adapt.adaptation.window import NO_ROWS, Rows, Sample, SampleWindow
from cache_adapt.adaptation.windows import WINDOWS_BYTES, SampleWindows
from cache_adapt.learned.fit import TooEarly
from learning.budget import Budget
from serving.common.clock import Clock, sleep
from serving.common.threads import ThreadTime, in_thread
from serving.errors import ModelError, SluiceError

log = logging.getLogger(__name__)

MOST_TARGETS = 512
KEPT_BYTES = 32 << 20
"""For the versions in use of all targets."""
WANTED_S = 600.0
"""A target of which nobody has spoken for so long is not trained any more."""
TRAINED_ROWS = 4000
"""Samples that one training takes."""
FIRST_GUESS_S = 0.3
"""Processor seconds of a training, until one was made."""
LOOK_S, TIDY_S = 2.0, 60.0
"""Time between two looks at what is due, and after which what is old is dropped."""


class Adaptation:
    """Everything that is known of samples and targets; it can be collected anew from the topics within a window."""

    def __init__(self, trainer: Trainer, budget: Budget, window_bytes: int = WINDOWS_BYTES) -> None:
        """``budget``: of trainings; ``window_bytes``: for all samples."""
        self._trainer, self._budget = trainer, budget
        self._windows = SampleWindows(window_bytes)
        self._states: OrderedDict[Target, TargetState] = OrderedDict()
        self._versions = Updates[str](MOST_TARGETS, KEPT_BYTES)
        self._sample_s: float | None = None
        """Processor seconds of the last training, for each of its samples; None before the first."""
        self._waits = False
        """Whether a training is due that has to wait until it can be paid."""

    def add(self, subject: Subject, stream: str, samples: Sequence[Sample], now_s: float) -> None:
        """Keep samples of a stream; ``now_s``: seconds since 1970."""
        self._windows.add(subject, stream, samples, now_s)

    def why_foreign(self, subject: Subject) -> str | None:
        """Why nothing is trained on samples of this network; None where something is."""
        return self._trainer.why_foreign(subject)

    def wanted(self, target: Target, now_s: float) -> str | None:
        """Note that a worker wants something; returns why it cannot be had, None where it can."""
        state = self._states.get(target)
        if state is None:
            why_not = self._trainer.why_not(target)
            if why_not is not None:
                return why_not
            state = self._begin(target, now_s)
        state.wanted_at_s = now_s
        self._states.move_to_end(target)
        return None

    def published(self, key: str, version: int, data: bytes, now_s: float) -> None:
        """Note a version that is there for all, trained here or elsewhere; none that is older than the known one."""
        update, known = Update(version, data), self._versions.get(key)
        if known is not None and version <= known.version:
            return
        self._versions.put(key, update)
        for target, state in self._states.items():
            if target.key == key and version > state.version:
                self._take(target, state, update, now_s)

    def newest(self, key: str) -> Update | None:
        """The version of an artefact that was published last; None where there is none, or it is no longer kept."""
        return self._versions.get(key)

    def next(self, now_s: float) -> DueTraining | None:
        """The target that should be trained now and waits longest; None where there is none, or it cannot be paid."""
        due = [
            (state.history.tried_at_s or 0.0, DueTraining(target, reason))
            for target, state in self._states.items()
            if (reason := self._why(target, state, now_s))
        ]
        first = min(due, key=lambda each: each[0])[1] if due else None
        expected_s = 0.0 if first is None else self._expected_s(first.target)
        waits = first is not None and not self._budget.may_reserve(expected_s)
        if waits and not self._waits and self._budget.left_s < expected_s:
            log.info("training waits: it takes %.1f s, %.1f s may be spent", expected_s, max(self._budget.left_s, 0.0))
        self._waits = waits
        return None if waits else first

    async def train(self, due: DueTraining, now_s: Callable[[], float]) -> Artefact | None:
        """Train; what is to be published, None where nothing is better than what is there. Logs what became of it.

        Whatever the trainer raises is logged, and costs that training alone.
        """
        state, took, artefact = self._states[due.target], ThreadTime(), None
        samples = self._window(due.target).seen
        expected_s, rows, early = self._expected_s(due.target), self._trained_rows(due.target), False
        reserved_s = expected_s if self._budget.reserve(expected_s) else 0.0
        try:
            artefact = await self._trained(due, now_s(), took)
        except TooEarly as error:
            early = True
            if state.history.tried_at_s is None:  # said once: one object may be all that a camera shows for days
                log.info("%s: %s", _where(due.target.subject), error)
        except Exception:
            log.exception("%s: a training of exits failed", _where(due.target.subject))
        finally:
            self._budget.pay("training", reserved_s, took.seconds)
            if early:
                state.history.too_early(now_s(), samples)
            else:
                self._sample_s = took.seconds / rows
                state.history.tried(now_s(), samples, gained=artefact is not None)
        return artefact

    async def run(self, publish: Callable[[Artefact], Awaitable[bool]], clock: Clock) -> None:
        """Train what is due, one target after the other, until this is cancelled.

        ``publish``: makes a version known to all; False where that is not possible.
        """

        def now_s() -> float:
            return clock.now().timestamp()

        tidied_s = clock.monotonic_s()
        while True:
            if clock.monotonic_s() - tidied_s >= TIDY_S:
                self.tidy(now_s())
                tidied_s = clock.monotonic_s()
            due = self.next(now_s())
            if due is None:
                await sleep(clock, LOOK_S)
                continue
            made = await self.train(due, now_s)
            if made is not None and await publish(made):
                self.published(due.target.key, made.version, made.data, now_s())

    def tidy(self, now_s: float) -> None:
        """Drop old samples, and what nobody wants any more; to be called now and then."""
        self._windows.expire(now_s)
        for target in [each for each, state in self._states.items() if now_s - state.wanted_at_s > WANTED_S]:
            del self._states[target]

    @property
    def samples(self) -> int:
        return len(self._windows)

    @property
    def targets(self) -> int:
        return len(self._states)

    @property
    def kept_bytes(self) -> int:
        """Bytes of the versions that are there."""
        return self._versions.size_bytes

    def _begin(self, target: Target, now_s: float) -> TargetState:
        """The state of a target that is new, or was forgotten; it goes on from a version that is there."""
        state = TargetState(now_s)
        found = self._versions.get(target.key)
        if found is not None:
            self._take(target, state, found, now_s)
        self._states[target] = state
        while len(self._states) > MOST_TARGETS:
            self._states.popitem(last=False)
        return state

    def _why(self, target: Target, state: TargetState, now_s: float) -> Reason | None:
        window = self._window(target)
        if len(window) < self._trainer.least_samples or now_s - state.wanted_at_s > WANTED_S:
            return None
        return why_train(state.history, now_s, window.seen)

    def _trained_rows(self, target: Target) -> int:
        return max(1, min(len(self._window(target)), TRAINED_ROWS))

    def _expected_s(self, target: Target) -> float:
        """Processor seconds of a training."""
        return FIRST_GUESS_S if self._sample_s is None else self._sample_s * self._trained_rows(target)

    def _window(self, target: Target) -> SampleWindow:
        """The samples that the target can be trained on: others may come, of older workers or of anybody."""
        return self._windows.of(target.subject, target.spec.layout.dims)

    async def _trained(self, due: DueTraining, now_s: float, took: ThreadTime) -> Artefact | None:
        target, state = due.target, self._states[due.target]
        version = next_version(state.version, now_s)
        samples = self._window(target).copy()
        rows, held = await in_thread(took.of(partial(samples.split, now_s, TRAINED_ROWS, default_rng(version))))
        where = f"{_where(target.subject)}, exits ({due.reason})"
        try:
            made = await self._trainer.train(target, rows, took)
            in_use = self._versions.get(target.key) if state.in_use else None
            compare = partial(_why_not_better, self._trainer, target, (made, in_use.data if in_use else b""), held)
            why_not = await in_thread(took.of(compare))
        except TooEarly:
            raise
        except SluiceError as error:
            why_not = str(error)
        if why_not is not None:
            log.info("%s: nothing new from %d recent samples: %s", where, len(rows), why_not)
            return None
        cuts = len(target.spec.cuts)
        log.info("%s: version %d from %d recent samples: exits at %d cuts", where, version, len(rows), cuts)
        state.made = digest(made)
        return Artefact(target, version, made, len(rows))

    def _take(self, target: Target, state: TargetState, found: Update, now_s: float) -> None:
        """Go on from a version that is there; what cannot be used is made anew, under a higher number."""
        known = digest(found.data)
        if known != state.made:
            if _judged(self._trainer, target, found.data, NO_ROWS) is None:
                known, state.history = "", History()
            elif known != state.in_use:
                state.history = History(tried_at_s=now_s, served=True)
        state.version, state.in_use = found.version, known


def _where(subject: Subject) -> str:
    return f"stream {subject.stream}, node {subject.node}" if subject.stream else f"node {subject.node}"


def _judged(trainer: Trainer, target: Target, data: bytes, held: Rows) -> float | None:
    """The worth of a version in use; None where it cannot be used."""
    try:
        return trainer.judge(target, data, held)
    except ModelError:
        return None


def _why_not_better(trainer: Trainer, target: Target, versions: tuple[bytes, bytes], held: Rows) -> str | None:
    """Why the first version is not published in place of the second, which is empty where there is none."""
    made, in_use = versions
    new = trainer.judge(target, made, held)
    return why_not_published(made, new, _judged(trainer, target, in_use, held) if in_use else None, len(held))
