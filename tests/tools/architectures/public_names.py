"""Names and shapes of the parameters in public checkpoints, by rule; counters of training steps left out."""

from __future__ import annotations

from collections.abc import Sequence

Names = dict[str, tuple[int, ...]]


def norm(name: str, channels: int) -> Names:
    return {f"{name}.{part}": (channels,) for part in ("weight", "bias", "running_mean", "running_var")}


def biased(name: str, *shape: int) -> Names:
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def torchvision_resnet(depths: Sequence[int], bottleneck: bool) -> Names:
    """resnet18-f37072fd and its kin."""
    names = {"conv1.weight": (64, 3, 7, 7), **norm("bn1", 64)}
    inputs, expansion = 64, 4 if bottleneck else 1
    for layer, depth in enumerate(depths, 1):
        width = 32 * 2**layer
        for block in range(depth):
            at = f"layer{layer}.{block}"
            kernels = (1, 3, 1) if bottleneck else (3, 3)
            channels = [inputs, *[width] * (len(kernels) - 1), width * expansion]
            for i, kernel in enumerate(kernels, 1):
                names[f"{at}.conv{i}.weight"] = (channels[i], channels[i - 1], kernel, kernel)
                names |= norm(f"{at}.bn{i}", channels[i])
            if block == 0 and (layer > 1 or bottleneck):
                names[f"{at}.downsample.0.weight"] = (channels[-1], inputs, 1, 1)
                names |= norm(f"{at}.downsample.1", channels[-1])
            inputs = channels[-1]
    return {**names, **biased("fc", 1000, inputs)}


def torchvision_vgg(plan: str, normalised: bool) -> Names:
    """vgg11-8a719046 and its kin; the plan is torchvision's: widths, and M for a max-pooling."""
    names: Names = {}
    at, inputs = 0, 3
    for item in plan.split():
        if item == "M":
            at += 1
            continue
        names |= biased(f"features.{at}", int(item), inputs, 3, 3)
        if normalised:
            names |= norm(f"features.{at + 1}", int(item))
        at, inputs = at + 2 + normalised, int(item)
    return (
        names
        | biased("classifier.0", 4096, 512 * 7 * 7)
        | biased("classifier.3", 4096, 4096)
        | biased("classifier.6", 1000, 4096)
    )


def torchvision_mobilenet_v2() -> Names:
    """mobilenet_v2-7ebf99e0."""
    names = {"features.0.0.weight": (32, 3, 3, 3), **norm("features.0.1", 32)}
    outputs = [16, 24, 24, *[32] * 3, *[64] * 4, *[96] * 3, *[160] * 3, 320]
    inputs = 32
    for at, channels in enumerate(outputs, 1):
        inner, first = (inputs, 0) if at == 1 else (6 * inputs, 1)
        prefix = f"features.{at}.conv"
        if first:
            names |= {f"{prefix}.0.0.weight": (inner, inputs, 1, 1), **norm(f"{prefix}.0.1", inner)}
        names |= {f"{prefix}.{first}.0.weight": (inner, 1, 3, 3), **norm(f"{prefix}.{first}.1", inner)}
        names |= {f"{prefix}.{first + 1}.weight": (channels, inner, 1, 1), **norm(f"{prefix}.{first + 2}", channels)}
        inputs = channels
    names |= {"features.18.0.weight": (1280, 320, 1, 1), **norm("features.18.1", 1280)}
    return {**names, **biased("classifier.1", 1000, 1280)}
