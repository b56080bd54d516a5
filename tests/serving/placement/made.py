"""Fleets, profiles and demands for tests of placement."""

from __future__ import annotations

from hypothesis import strategies as st

from serving.placement.demands import BatchProfile, Demand, DeviceKind, Fleet, FleetBackend

TABLE_3_2 = {
    "A": BatchProfile({4: 0.050, 8: 0.075, 16: 0.100}, 1),
    "B": BatchProfile({4: 0.050, 8: 0.090, 16: 0.125}, 1),
    "C": BatchProfile({4: 0.060, 8: 0.095, 16: 0.125}, 1),
}
"""Batching profiles of Shen, 2019, §3.2.1."""
GPU = DeviceKind("gpu", memory_bytes=1000)
CPU = DeviceKind("cpu", memory_bytes=4000, price=0.3)


def fleet(gpus: int, cpus: int = 0, kinds: tuple[DeviceKind, ...] = (GPU,)) -> Fleet:
    """Backends g0, g1 … and c0, c1 …"""
    backends = [FleetBackend(f"g{number}", "gpu") for number in range(gpus)]
    return Fleet(kinds, backends + [FleetBackend(f"c{number}", "cpu") for number in range(cpus)])


def on_gpus(profiles: dict[str, BatchProfile]) -> dict[str, dict[str, BatchProfile]]:
    return {model: {"gpu": profile} for model, profile in profiles.items()}


@st.composite
def line_profiles(draw: st.DrawFn, slowest_s: float = 0.02) -> BatchProfile:
    """ℓ(b) = fixed + b × item."""
    fixed = draw(st.floats(0.0005, slowest_s))
    item = draw(st.floats(0.0001, slowest_s / 4))
    return BatchProfile({size: fixed + size * item for size in (1, 2, 4, 8, 16)}, draw(st.integers(50, 600)))


MODELS = ("a", "b", "c", "d")


@st.composite
def demands(draw: st.DrawFn, most: int = 7, priorities: int = 1) -> list[Demand]:
    """Some models within some SLOs, at 1 to 600 items a second."""
    keys = draw(
        st.lists(
            st.tuples(st.sampled_from(MODELS), st.sampled_from((0.05, 0.1, 0.2, 0.4)), st.integers(0, priorities - 1)),
            min_size=1,
            max_size=most,
            unique=True,
        )
    )
    return [Demand(model, slo_s, draw(st.floats(1, 600)), priority) for model, slo_s, priority in keys]


@st.composite
def catalogues(draw: st.DrawFn) -> dict[str, dict[str, BatchProfile]]:
    """Four models on two kinds of devices."""
    return {model: {"gpu": draw(line_profiles()), "cpu": draw(line_profiles(slowest_s=0.08))} for model in MODELS}
