"""What is sampled is the same whatever is left out, in whatever order packets come."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from operators.capture.sources.frame_times import Discard
from operators.capture.sources.sampling import Sampler, Sampling


def sampled(times_s: Sequence[float], fps: float) -> list[float]:
    sampler = Sampler(Sampling("fps", fps))
    return [time_s for time_s in times_s if sampler.takes(time_s)]


def spare(packets_s: Sequence[float], fps: float, offset_s: float = 0.0) -> list[float]:
    discard = Discard(fps)
    return [stamp_s for stamp_s in packets_s if discard.is_spare(stamp_s + offset_s, offset_s)]


def test_frames_between_two_samples_are_spare() -> None:
    times_s = [k / 25 for k in range(11)]
    assert spare(times_s, 5, offset_s=70.0) == [times_s[k] for k in (1, 2, 3, 4, 6, 7, 8, 9)]


def test_a_frame_is_spare_only_after_an_earlier_one_of_its_interval_was_seen() -> None:
    pyramid = [0.0, 0.16, 0.08, 0.04, 0.12]
    assert spare(pyramid, 5) == [0.16, 0.08, 0.04, 0.12]
    assert spare([0.16, 0.08, 0.04, 0.12], 5) == [0.12]


@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=60),
    st.sampled_from([0.5, 2.0, 5.0, 7.0, 24.0]),
    st.integers(1, 8),
    st.randoms(use_true_random=False),
)
def test_samples_stay_the_same(steps_ms: list[int], fps: float, group: int, random: object) -> None:
    times_s = [sum(steps_ms[:count]) / 1000 for count in range(len(steps_ms))]
    packets_s = []
    for start in range(0, len(times_s), group):
        part = times_s[start : start + group]
        random.shuffle(part)  # type: ignore[attr-defined]
        packets_s += part
    left = set(spare(packets_s, fps))
    assert sampled([each for each in times_s if each not in left], fps) == sampled(times_s, fps)


def test_what_was_long_ago_is_forgotten() -> None:
    far = [0.01, *(1.0 + k / 100 for k in range(40))]
    assert 0.02 not in spare([*far, 0.02], 5)
