"""Switches of a stream's models: said once, with the reason, and not for every frame."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from operators.wire.schema import FrameInfo, NodeDecision, Plan, Result
from pipelines.planning import switches
from pipelines.planning.switches import APART_S, KEPT, Switches

BEGIN = datetime(2026, 1, 2, tzinfo=UTC)


def result(seq: int, variant: str, stream: str = "cam", objects: int | None = 3, fps: float = 10.0) -> Result:
    plan = Plan(
        slo_ms=100, deadline_met=True, nodes={"type": NodeDecision(variant=variant, objects=objects, why=f"why {seq}")}
    )
    at = BEGIN + timedelta(seconds=seq / fps)
    frame = FrameInfo(width=64, height=48, media_time_s=seq / fps, captured_at=at)
    return Result(stream=stream, run="r", seq=seq, query="q", frame=frame, outcome="analysed", plan=plan)


def play(found: Switches, variants: Iterable[str]) -> list[int]:
    """The frames at which there was a switch."""
    return [seq for seq, variant in enumerate(variants) if found.see(result(seq, variant))]


def test_a_switch_is_said_once_with_its_reason() -> None:
    found = Switches()
    (seq,) = play(found, ["large"] * 100 + ["small"] * 100)
    assert 100 < seq < 160
    (switch,) = found.of("cam")
    assert (switch.node, switch.before, switch.variant, switch.why) == ("type", "large", "small", f"why {seq}")
    assert switch.at == BEGIN + timedelta(seconds=seq / 10)


def test_plans_that_alternate_are_no_switches() -> None:
    rng = random.Random(1)
    assert play(Switches(), (rng.choice(["large", "small"]) for _ in range(5000))) == []
    assert play(Switches(), (["large"] * 9 + ["small"]) * 200) == []


def test_switches_of_a_node_are_apart_and_few_are_kept() -> None:
    found = Switches()
    seqs = play(found, (["large"] * 80 + ["small"] * 80) * 12)
    assert all(later - before >= 10 * APART_S for before, later in pairwise(seqs))
    assert len(seqs) > KEPT
    assert len(found.of("cam")) == KEPT
    assert found.of("cam")[-1].why == f"why {seqs[-1]}"


def test_a_clock_that_steps_back_silences_nothing_for_ever() -> None:
    found = Switches()
    play(found, ["large"] * 100 + ["small"] * 100)
    later = [result(seq, "large", fps=0.001) for seq in range(150)]
    assert sum(found.see(each) for each in reversed(later)) == 1


def test_frames_without_a_choice_and_other_streams_say_nothing() -> None:
    found = Switches()
    play(found, ["large"] * 50)
    assert not any(found.see(result(seq, "small", objects=None)) for seq in range(100))
    assert not any(found.see(result(seq, "small", stream="other")) for seq in range(100))
    assert found.of("cam") == found.of("other") == found.of("unknown") == []


def test_streams_and_models_are_bounded() -> None:
    found = Switches()
    for number in range(switches.MOST_STREAMS + 50):
        found.see(result(0, "large", stream=f"s{number}"))
    for seq in range(2000):
        found.see(result(seq, f"model-{seq}"))
    assert len(found._streams) == switches.MOST_STREAMS
    assert len(found._streams["cam"]["type"].shares) < 200
