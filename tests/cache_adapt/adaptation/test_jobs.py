"""An adaptation worker's decisions over time, with a trainer that takes no time."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np
import pytest

from cache_adapt.adaptation import jobs, windows
from cache_adapt.adaptation.jobs import FIRST_GUESS_S, Adaptation
from cache_adapt.adaptation.target_state import Artefact
from cache_adapt.adaptation.targets import Target
from cache_adapt.adaptation.triggers import FIRST_SAMPLES, PAUSE_S, PERIOD_S
from cache_adapt.adaptation.window import SPAN_S, Rows, Sample
from cache_adapt.learned.fit import TooEarly
from learning.budget import FIRST_S, Budget, unlimited
from serving.common.threads import ThreadTime
from tests.cache_adapt.adaptation.majority import DIMS, OTHERS, SPEC, SUBJECT, TARGET, Majority


@dataclass
class Worker:
    """An adaptation worker whose clock a test moves."""

    adaptation: Adaptation
    now_s: float = 1_700_000_000.0

    def see(self, *labels: int, stream: str = "gate", dims: int = DIMS) -> None:
        samples = [Sample(self.now_s, label, np.zeros(dims, np.float16)) for label in labels]
        self.adaptation.add(SUBJECT, stream, samples, self.now_s)

    def want(self, target: Target = TARGET) -> str | None:
        return self.adaptation.wanted(target, self.now_s)

    async def work(self) -> Artefact | None:
        """Train what is due, and publish it."""
        due = self.adaptation.next(self.now_s)
        made = await self.adaptation.train(due, lambda: self.now_s) if due else None
        if made:
            self.adaptation.published(made.target.key, made.version, made.data, self.now_s)
        return made


def worker(least: int = 1, budget: Budget | None = None) -> Worker:
    return Worker(Adaptation(Majority(least), budget or unlimited()))


async def test_what_is_wanted_is_trained_once_and_published() -> None:
    the = worker()
    the.see(*[1] * 30)
    assert await the.work() is None, "nobody has asked for it"
    assert the.want() is None
    made = await the.work()
    assert made is not None
    assert (made.target, made.data, made.version) == (TARGET, b"\x01", int(the.now_s))
    assert await the.work() is None


async def test_what_cannot_be_had_is_said() -> None:
    the = worker()
    assert the.want(replace(TARGET, spec=OTHERS)) == "there is nothing to say of it"
    assert await the.work() is None


async def test_new_content_brings_a_new_version_and_the_same_content_none() -> None:
    the = worker()
    the.see(*[1] * 100)
    the.want()
    first = await the.work()
    the.now_s += PERIOD_S
    the.see(*[1] * 100)
    the.want()
    assert await the.work() is None, "it gains nothing"
    the.now_s += PERIOD_S
    the.see(*[2] * 400)
    the.want()
    second = await the.work()
    assert first
    assert second
    assert (second.data, second.version > first.version) == (b"\x02", True)


async def test_after_a_restart_it_goes_on_with_what_is_published() -> None:
    the = worker()
    the.see(*[1] * 100)
    the.want()
    made = await the.work()
    assert made
    after = worker()
    after.now_s = the.now_s + 1
    after.adaptation.published(TARGET.key, made.version, made.data, after.now_s)
    after.see(*[1] * 100)
    after.want()
    assert await after.work() is None, "there is nothing to do"
    after.now_s += PERIOD_S
    after.see(*[2] * 400)
    after.want()
    again = await after.work()
    assert again
    assert again.version > made.version


async def test_what_somebody_else_published_is_replaced_where_it_cannot_be_used() -> None:
    the = worker()
    the.adaptation.published(TARGET.key, int(the.now_s) + 1000, b"garbage", the.now_s)
    the.see(*[1] * 100)
    the.want()
    made = await the.work()
    assert made
    assert made.version == int(the.now_s) + 1001
    the.adaptation.published(TARGET.key, made.version + 5, b"more garbage", the.now_s)
    the.want()
    again = await the.work()
    assert again
    assert again.version > made.version + 5


async def test_a_version_that_cannot_be_judged_yet_is_not_half_taken() -> None:
    class Broken(Majority):
        broken = True

        def judge(self, target: Target, data: bytes, held: Rows) -> float:
            if self.broken:
                raise RuntimeError("out of order")
            return super().judge(target, data, held)

    kind = Broken()
    the = Worker(Adaptation(kind, unlimited()))
    the.adaptation.published(TARGET.key, int(the.now_s) + 1000, b"\x01", the.now_s)
    the.see(*[1] * 100)
    with pytest.raises(RuntimeError):
        the.want()
    assert the.adaptation.targets == 0
    kind.broken = False
    the.want()
    assert await the.work() is None, "it goes on from what was found"
    kind.broken = True
    with pytest.raises(RuntimeError):
        the.adaptation.published(TARGET.key, int(the.now_s) + 2000, b"\x01", the.now_s)
    assert the.adaptation._states[TARGET].version == int(the.now_s) + 1000


async def test_a_training_that_fails_is_tried_again_when_more_samples_have_come(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    the = worker(least=50)
    the.see(*[1] * 10)
    the.want()
    assert await the.work() is None
    assert "node type, exits (wanted): nothing new from 8 recent samples: 8 samples are too few" in caplog.text
    assert await the.work() is None
    the.now_s += PAUSE_S
    the.see(*[1] * 100)
    the.want()
    assert await the.work() is not None


async def test_what_was_overspent_is_told_as_nothing_to_spend(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    budget = Budget(0.02, lambda: 10.0)
    budget.spend("audits", 0.9)
    the = worker(budget=budget)
    the.see(*[1] * 30)
    the.want()
    assert the.adaptation.next(the.now_s) is None
    assert caplog.messages == ["training waits: it takes 0.3 s, 0.0 s may be spent"]


async def test_trainings_cost_no_more_than_the_budget_allows(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    used_s = 10.0
    budget = Budget(0.02, lambda: used_s)
    the = worker(budget=budget)
    the.see(*[1] * 30)
    the.want()
    assert the.adaptation.next(the.now_s) is None
    assert the.adaptation.next(the.now_s) is None
    assert caplog.messages == ["training waits: it takes 0.3 s, 0.2 s may be spent"]
    used_s = 60.0
    assert await the.work() is not None
    assert budget.spent["training"] == pytest.approx(0.5, abs=0.1), "the trainer has told half a second"
    assert budget.left_s == pytest.approx(0.7, abs=0.1), "nothing is set aside any more"
    other = replace(SUBJECT, node="other")
    the.adaptation.add(other, "gate", [Sample(the.now_s, 1, np.zeros(DIMS, np.float16))] * 60, the.now_s)
    the.want(replace(TARGET, subject=other))
    used_s = 80.0
    assert the.adaptation.next(the.now_s) is not None, "1.1 s are left"
    used_s = 70.0
    assert the.adaptation.next(the.now_s) is None, "0.9 s are left, and the next has twice as many samples"


async def test_a_training_that_ends_in_an_error_is_logged_and_paid_and_not_tried_again_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Majority):
        async def train(self, target: Target, rows: Rows, took: ThreadTime) -> bytes:
            took.seconds += 0.5
            raise RuntimeError("out of order")

    budget = Budget(0.1, lambda: FIRST_S)
    the = Worker(Adaptation(Broken(), budget))
    the.see(*[1] * 30)
    the.want()
    assert await the.work() is None
    assert "node type: a training of exits failed" in caplog.text
    assert budget.left_s == pytest.approx(0.1 * FIRST_S - 0.5, abs=0.1)
    assert the.adaptation.next(the.now_s) is None


async def test_a_training_for_which_it_is_too_early_makes_none_later(caplog: pytest.LogCaptureFixture) -> None:
    class Early(Majority):
        async def train(self, target: Target, rows: Rows, took: ThreadTime) -> bytes:
            if len(rows) < 1200:
                took.seconds += 0.1
                raise TooEarly("wait")
            return await super().train(target, rows, took)

    caplog.set_level(logging.INFO)
    the = Worker(Adaptation(Early(), unlimited()))
    for count in (200, 200, 400):
        the.see(*[1] * count)
        the.want()
        assert await the.work() is None
        assert await the.work() is None, "not with the same samples at once"
    assert caplog.text.count("node type: wait") == 1, "it is said once"
    the.see(*[1] * 900)
    assert await the.work() is not None, "three attempts would have been made to wait for minutes"


async def test_what_one_stream_wants_for_itself_is_trained_on_its_samples_alone() -> None:
    kind = Majority()
    the = Worker(Adaptation(kind, unlimited()))
    own = replace(SUBJECT, stream="gate")
    the.see(*[1] * 30, stream="yard")
    the.see(*[1] * 30, stream="gate")
    samples = [Sample(the.now_s, 2, np.zeros(DIMS, np.float16))] * 10
    the.adaptation.add(own, "gate", samples, the.now_s)
    the.want(Target(own, SPEC))
    made = await the.work()
    assert made
    assert (made.data, made.samples) == (b"\x02", 8)


async def test_with_each_doubling_of_the_samples_it_is_trained_again() -> None:
    kind = Majority(least_samples=FIRST_SAMPLES)
    the = Worker(Adaptation(kind, unlimited()))
    the.want()
    trained = []
    for count in range(1, 700):
        the.see(count % 5)
        before = len(kind.trained)
        await the.work()
        trained += [count] * (len(kind.trained) - before)
    assert trained == [150, 300, 600]


async def test_what_nobody_speaks_of_is_left_alone_and_old_samples_go() -> None:
    the = worker()
    the.see(*[1] * 30)
    the.want()
    the.now_s += jobs.WANTED_S + 1
    assert await the.work() is None
    the.now_s += SPAN_S
    the.adaptation.tidy(the.now_s)
    assert the.adaptation.samples == 0


async def test_everything_that_others_can_make_it_keep_is_bounded() -> None:
    the = worker()
    for number in range(jobs.MOST_TARGETS + 10):
        subject = replace(SUBJECT, node=f"n{number}")
        sample = Sample(the.now_s, 0, np.zeros(DIMS, np.float16))
        the.adaptation.add(subject, "gate", [sample], the.now_s)
        the.adaptation.published(f"key{number}", 1, bytes(1 << 20), the.now_s)
        the.want(Target(subject, SPEC))
    assert the.adaptation.samples == windows.MOST_WINDOWS
    assert the.adaptation.kept_bytes <= jobs.KEPT_BYTES
    assert the.adaptation.targets == jobs.MOST_TARGETS


async def test_activations_of_another_length_do_not_displace_the_others() -> None:
    the = worker()
    the.see(*[1] * 30)
    for dims in range(DIMS + 1, DIMS + 1 + 2 * windows.MOST_WINDOWS):
        the.see(2, 2, dims=dims)
    the.want()
    made = await the.work()
    assert made
    assert (made.data, made.samples) == (b"\x01", 24)


async def test_a_trainer_that_needs_samples_is_not_tried_before_they_are_there() -> None:
    kind = Majority(least_samples=100)
    the = Worker(Adaptation(kind, unlimited()))
    the.want()
    the.see(*[1] * 99)
    assert await the.work() is None
    the.see(1)
    assert await the.work() is not None, "it need not wait longer for having been wanted before"
    assert len(kind.trained) == 1


async def test_a_training_is_expected_to_take_what_others_took_for_each_sample() -> None:
    budget = Budget(0.05, lambda: FIRST_S)
    the = worker(budget=budget)
    the.see(*[1] * 400)
    the.want()
    assert await the.work() is not None, "it has taken half of the second that there is"
    other = Target(replace(SUBJECT, node="other"), SPEC)
    samples = [Sample(the.now_s, 1, np.zeros(DIMS, np.float16))] * 40
    the.adaptation.add(other.subject, "gate", samples, the.now_s)
    the.want(other)
    assert await the.work() is not None, "a tenth of the samples takes a tenth of the time"


async def test_one_for_which_it_was_too_early_does_not_tell_what_others_take() -> None:
    class Hasty(Majority):
        async def train(self, target: Target, rows: Rows, took: ThreadTime) -> bytes:
            if target == TARGET:
                raise TooEarly("one object")
            return await super().train(target, rows, took)

    left = FIRST_GUESS_S + 0.1
    budget = Budget(left / FIRST_S, lambda: FIRST_S)
    the = Worker(Adaptation(Hasty(), budget))
    the.see(*[1] * 30)
    the.want()
    assert await the.work() is None
    budget.spend("audits", 0.2)
    other = Target(replace(SUBJECT, node="other"), SPEC)
    the.adaptation.add(other.subject, "gate", [Sample(the.now_s, 1, np.zeros(DIMS, np.float16))] * 30, the.now_s)
    the.want(other)
    assert await the.work() is None, "what is left does not suffice"
