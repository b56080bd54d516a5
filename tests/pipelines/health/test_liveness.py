from __future__ import annotations

from math import inf

import pytest

from pipelines.health.liveness import RESTARTS, Liveness, Observation, PartitionView

AFTER_S = 60.0


def partition(
    end: int | None = 10, position: int | None = 10, handed: int | None = 10, done: int | None = 10,
    refusal: str | None = None, number: int = 0,
) -> PartitionView:  # fmt: skip
    return PartitionView("frames", number, end, position, handed, done, refusal)


WELL = partition()
UNREAD = partition(end=15)
UNANSWERED = partition(done=4)
UNSEEN = partition(end=15, position=10, handed=None, done=None)


def after(seconds: float, *views: PartitionView, liveness: Liveness | None = None, **more: object) -> str | None:
    """The verdict when the same has been seen for so long, each second."""
    judge = liveness or Liveness(AFTER_S)
    verdict = None
    for second in range(round(seconds) + 1):
        verdict = judge.verdict(Observation(second, **{"joined": True, "partitions": views, **more}))  # type: ignore[arg-type]
    return verdict


@pytest.mark.parametrize(
    "view", [WELL, partition(handed=None, done=None), partition(None, None, None, None), partition(done=12)]
)
def test_without_messages_nothing_is_wrong_for_ever(view: PartitionView) -> None:
    assert after(10 * AFTER_S, view) is None


@pytest.mark.parametrize(("view", "messages"), [(UNREAD, 5), (UNANSWERED, 6), (UNSEEN, 5)])
def test_messages_that_wait_while_none_is_acknowledged(view: PartitionView, messages: int) -> None:
    assert after(AFTER_S - 1, view) is None
    assert after(AFTER_S, partition(number=1), view) == (
        f"topic frames partition 0: {messages} messages wait and none has been acknowledged for 60 s"
    )


def test_one_acknowledged_message_is_progress() -> None:
    judge = Liveness(AFTER_S)
    for second in range(1000):
        view = partition(end=10_000, done=second // 50)
        assert judge.verdict(Observation(second, joined=True, partitions=(view,))) is None


def test_the_time_without_messages_does_not_count() -> None:
    judge = Liveness(AFTER_S)
    for second in range(300):
        view = WELL if second % 100 else UNREAD
        assert judge.verdict(Observation(second, joined=True, partitions=(view,))) is None


def test_a_frozen_process_is_given_the_time_again() -> None:
    judge = Liveness(AFTER_S)
    for now_s in (0.0, 1.0, 2.0, 125.0, 126.0):
        seen = Observation(now_s, joined=True, answered_s=0.0, partitions=(UNREAD,))
        assert judge.verdict(seen) is None


def test_the_worst_partition_is_named_and_the_others_are_counted() -> None:
    views = [partition(end=15, number=number) for number in range(4)]
    assert str(after(AFTER_S, *views)).endswith("for 60 s; so do 3 other partitions")


def test_a_broker_that_refuses_a_partition_is_told_of_with_its_error() -> None:
    view = partition(refusal="CorruptRecordException")
    assert after(AFTER_S - 1, view) is None
    assert after(AFTER_S, view) == (
        "topic frames partition 0: the broker has refused it for 60 s (CorruptRecordException)"
    )


def test_a_silent_broker_and_one_that_assigns_nothing() -> None:
    assert after(AFTER_S - 1, answered_s=0.0) is None
    assert after(AFTER_S, answered_s=0.0) == "the broker has not answered for 60 s"
    assert after(AFTER_S - 1, joined=False) is None
    assert after(AFTER_S, joined=False) == "the broker has assigned no partitions for 60 s"
    assert after(10 * AFTER_S) is None, "a worker may be assigned none"


def test_one_new_beginning_after_the_other() -> None:
    judge = Liveness(AFTER_S)
    for _ in range(RESTARTS - 1):
        judge.restarted("it broke")
        assert after(1, partition(handed=None, done=None), liveness=judge) is None
    judge.restarted("it broke again")
    assert after(1, partition(handed=None, done=None), liveness=judge) == (
        f"the worker began anew {RESTARTS} times without answering a frame: it broke again"
    )
    assert after(1, partition(done=11, handed=11), liveness=judge) is None, "a frame was answered"


def test_answering_the_same_frames_again_is_no_progress() -> None:
    judge = Liveness(AFTER_S)
    for _ in range(RESTARTS + 1):
        for done in (3, 4, 5):
            after(0, partition(done=done), liveness=judge)
        judge.restarted("it broke")
    assert "began anew" in str(after(0, partition(done=4), liveness=judge))


def ends(seconds: float, *views: PartitionView, after_s: float = 3 * AFTER_S, **more: object) -> bool:
    """Whether a worker has to end of which the same has been seen for so long, each second."""
    judge, found = Liveness(AFTER_S, after_s), False
    for second in range(round(seconds) + 1):
        known = {key: value(second) if callable(value) else value for key, value in more.items()}
        seen = Observation(second, **{"joined": True, "partitions": views, **known})  # type: ignore[arg-type]
        judge.verdict(seen)
        found = judge.is_hopeless(seen)
    return found


@pytest.mark.parametrize("view", [UNREAD, UNANSWERED, UNSEEN])
def test_a_worker_that_keeps_messages_waiting_for_long_ends(view: PartitionView) -> None:
    assert not ends(3 * AFTER_S - 1, partition(number=1), view)
    assert ends(3 * AFTER_S, partition(number=1), view)
    assert ends(3 * AFTER_S, view, answered_s=lambda second: second - 1.0)
    assert not ends(AFTER_S - 1, view, after_s=1.0), "it is unhealthy before it ends"
    assert ends(AFTER_S, view, after_s=1.0)
    assert not ends(100 * AFTER_S, view, after_s=inf)


@pytest.mark.parametrize("view", [WELL, partition(handed=None, done=None), partition(None, None, None, None)])
def test_a_worker_without_work_never_ends(view: PartitionView) -> None:
    assert not ends(100 * AFTER_S, view)


@pytest.mark.parametrize(
    "waits_for_the_broker",
    [
        {"answered_s": 0.0},
        {"joined": False},
        {"storing": False},
        {"partitions": (partition(end=15, refusal="CorruptRecordException"),)},
    ],
    ids=str,
)
def test_a_worker_that_waits_for_its_broker_does_not_end(waits_for_the_broker: dict[str, object]) -> None:
    assert not ends(100 * AFTER_S, UNREAD, **waits_for_the_broker)


def test_once_the_broker_is_back_a_worker_has_all_the_time_again() -> None:
    judge = Liveness(AFTER_S, AFTER_S)
    for second in range(400):
        away = second < 300
        seen = Observation(second, True, 0.0 if away else second, (UNREAD,), storing=not away)
        judge.verdict(seen)
        assert judge.is_hopeless(seen) == (second >= 300 + AFTER_S)


def test_a_process_that_was_frozen_does_not_end() -> None:
    judge = Liveness(AFTER_S, AFTER_S)
    for now_s in (0.0, 1.0, 2.0, 1000.0, 1001.0):
        seen = Observation(now_s, True, now_s, (UNREAD,))
        judge.verdict(seen)
        assert not judge.is_hopeless(seen)
