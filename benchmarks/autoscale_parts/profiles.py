"""Variants and machines of Romero et al., 2021, §6: what the paper prints, and what had to be assumed.

Printed: Table 2's latencies and rates, the prices per GB, the machines, their numbers, popular models and SLOs.
Inferred from printed results: two batch-1 variants on a GPU served 15 % fewer than 700 a second; the memory of
ResNet50's variants follows from costs at low load (a GPU variant cost 21.6 and 21.3 times one on CPUs, 16.1 times
dearer by the GB) and at fluctuating load (Inferentia alone cost 1.9 times, GPUs alone 3 times as much as INFaaS).
Assumed: loading times, the SLO of §6.2, and that other architectures take as much longer than ResNet50 as they have
operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.autoscale_parts.state import MachineKind, ScalableVariant

CPU_PER_GB, INFERENTIA_PER_GB, GPU_PER_GB = 0.031, 0.190, 0.498
STARTS_S = 30.0
"""A machine takes so long to start."""
SLO_S = 0.5
"""The SLO of §6.2, which does not say; that of §6.3.2."""

KINDS = (
    MachineKind("cpu", 0.384 / 3600, {"cores": 8, "memory_gb": 32}, at_most=8),
    MachineKind("inferentia", 0.584 / 3600, {"chip_cores": 4, "memory_gb": 16}, at_most=8),
    MachineKind("gpu", 3.06 / 3600, {"gpu": 1, "gpu_memory_gb": 16}, at_most=8),
)
"""m5.2xlarge, inf1.2xlarge and p3.2xlarge, dollars an hour on demand in 2020."""


def _variant(kind: str, name: str, per_s: float, ms: float, load_s: float, needs: dict[str, float]) -> ScalableVariant:
    return ScalableVariant(name, "resnet50", kind, per_s, ms / 1000, load_s, 0.76, needs)


RESNET50: Mapping[str, ScalableVariant] = {
    each.id: each
    for each in (
        replace(_variant("cpu", "cpu", 5, 200, 2, {"cores": 4, "memory_gb": 1.0}), cost_per_s=CPU_PER_GB),
        replace(
            _variant("inferentia", "inferentia", 100, 20, 4, {"chip_cores": 1, "memory_gb": 2.2}),
            cost_per_s=2.2 * INFERENTIA_PER_GB,
        ),
        replace(
            _variant("gpu", "gpu-1", 297, 3.4, 8, {"gpu": 0.5, "gpu_memory_gb": 1.326}), cost_per_s=1.326 * GPU_PER_GB
        ),
        replace(
            _variant("gpu", "gpu-8", 800, 15, 8, {"gpu": 1.0, "gpu_memory_gb": 1.345}), cost_per_s=1.345 * GPU_PER_GB
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Architecture:
    """A network and its work, where ResNet50's is 1."""

    name: str
    work: float
    popular: bool = False


ARCHITECTURES = (
    Architecture("densenet121", 0.75, popular=True),
    Architecture("resnet50", 1.0, popular=True),
    Architecture("vgg16", 3.8, popular=True),
    Architecture("inceptionv3", 1.4, popular=True),
    *(
        Architecture(name, work)
        for name, work in {
            "mobilenetv1": 0.15,
            "mobilenetv2": 0.1,
            "alexnet": 0.18,
            "densenet169": 0.85,
            "densenet201": 1.1,
            "resnet50v2": 1.0,
            "resnet101": 1.9,
            "resnet101v2": 1.9,
            "resnet152": 2.8,
            "resnet152v2": 2.8,
            "resnext50": 1.1,
            "resnext101": 4.0,
            "vgg19": 4.8,
            "inceptionresnetv2": 3.2,
            "xception": 2.0,
            "nasnetmobile": 0.15,
            "nasnetlarge": 5.8,
            "gnmt": 2.0,
        }.items()
    ),
)


def variants_of(each: Architecture) -> dict[str, ScalableVariant]:
    """On two cores, on one core of an Inferentia chip, and on a quarter of a GPU, by kind of machine."""
    work = each.work
    made = (
        _variant("cpu", "cpu", 2.5 / work, 400 * work, 1 + work, {"cores": 2, "memory_gb": 1 + 0.2 * work}),
        _variant("inferentia", "inferentia", 100 / work, 20 * work, 3 + work, {"chip_cores": 1, "memory_gb": 2.0}),
        _variant("gpu", "gpu", 200 / work, 5 + 10 * work, 6 + 2 * work, {"gpu": 0.25, "gpu_memory_gb": 1 + 0.3 * work}),
    )
    return {variant.kind: replace(variant, application=each.name) for variant in made}


def slo_s(each: Architecture) -> float:
    """50 ms where it is popular; else 1.5 times the latency of the fastest variant on CPUs (§6.1)."""
    return 0.050 if each.popular else 1.5 * variants_of(each)["cpu"].latency_s
