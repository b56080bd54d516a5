"""Public weights fit the architectures and are as accurate in them as their publishers say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from serving.catalogue.cards import ImageInput
from serving.errors import ModelError
from serving.preprocess import batch
from tests.cifar import images_of_test_set, share_right
from tests.serving.tensor_files import ODD
from tools.architectures.registry import ARCHITECTURES, load_weights, single_precision
from tools.architectures.resnet import CIFAR, ResNet

IMAGENET_PIXELS = ImageInput(width=32, height=32, scale=1 / 255, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
CIFAR_PIXELS = ImageInput(
    width=32, height=32, scale=1 / 255, mean=(0.4914, 0.4822, 0.4465), std=(0.247, 0.2435, 0.2616)
)
COUNT = 300
# Four standard errors of a share near 0.85 of so many images.
TOLERANCE = 0.083


def accuracy(network: nn.Module, pixels: ImageInput, data_dir: Path) -> float:
    images, labels, _ = images_of_test_set(data_dir, COUNT)
    network.eval()
    with torch.inference_mode():
        parts = [network(part) for part in torch.from_numpy(batch(pixels, images)[0]).split(100)]
    return share_right(torch.cat(parts).numpy(), labels)


@pytest.mark.data
@pytest.mark.parametrize(
    ("layers", "file", "share"),
    [
        (20, "resnet20-12fca82f.th", 0.82),
        (56, "resnet56-4bfd9763.th", 0.82),
        (20, "resnet20_jpegft_state.pt", 0.875),
    ],
)
def test_cifar_resnets_are_as_accurate_as_their_checkpoints(
    layers: int, file: str, share: float, data_dir: Path, tmp_path: Path
) -> None:
    raw = torch.load(data_dir / "weights" / "cifar10_resnet" / file, map_location="cpu", weights_only=True)
    state = {name.removeprefix("module."): tensor.clone() for name, tensor in raw.get("state_dict", raw).items()}
    save_file(state, tmp_path / "weights.safetensors")
    network = ARCHITECTURES[f"cifar-resnet{layers}"].build(10)
    load_weights(network, tmp_path / "weights.safetensors")
    assert accuracy(network, IMAGENET_PIXELS, data_dir) == pytest.approx(share, abs=TOLERANCE)


@pytest.mark.data
def test_resnet18_for_small_images_is_as_accurate_as_its_weights(data_dir: Path) -> None:
    network = ARCHITECTURES["resnet18-cifar"].build(10)
    load_weights(network, data_dir / "weights" / "resnet18_cifar10.safetensors")
    assert accuracy(network, CIFAR_PIXELS, data_dir) == pytest.approx(0.88, abs=TOLERANCE)


def _network() -> ResNet:
    return ResNet(3, (1, 1), CIFAR, widths=(4, 8))


def _saved(path: Path, state: dict[str, Tensor]) -> Path:
    save_file(state, path / "w.safetensors")
    return path / "w.safetensors"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_weights_of_any_float_type_become_single_precision(tmp_path: Path, dtype: torch.dtype) -> None:
    state = {
        name: tensor.to(dtype) for name, tensor in _network().state_dict().items() if "num_batches_tracked" not in name
    }
    network = _network()
    load_weights(network, _saved(tmp_path, state))
    assert network.conv1.weight.dtype == torch.float32
    assert torch.equal(network.conv1.weight, state["conv1.weight"].float())


def test_weights_of_another_network_are_refused_by_name(tmp_path: Path) -> None:
    state = _network().state_dict()
    few = {name: tensor for name, tensor in state.items() if not name.startswith("layer2.0.downsample")}
    match = r"w\.safetensors: is not for this network: it lacks layer2\.0\.downsample\.0\.weight, .* and 2 more$"
    with pytest.raises(ModelError, match=match):
        load_weights(_network(), _saved(tmp_path, few))
    with pytest.raises(ModelError, match=r"it has head\.weight besides$"):
        load_weights(_network(), _saved(tmp_path, state | {"head.weight": torch.zeros(1)}))
    with pytest.raises(ModelError, match=r"fc\.weight is 5 × 8, must be 3 × 8$"):
        load_weights(_network(), _saved(tmp_path, state | {"fc.weight": torch.zeros(5, 8)}))


def test_a_refused_file_leaves_the_network_as_it_was(tmp_path: Path) -> None:
    network = _network()
    before = network.conv1.weight.clone()
    state = {**_network().state_dict(), "fc.bias": torch.zeros(9)}
    with pytest.raises(ModelError):
        load_weights(network, _saved(tmp_path, state))
    assert torch.equal(network.conv1.weight, before)


@pytest.mark.parametrize("content", [None, b"", b"not tensors at all", np.random.default_rng(0).bytes(4096)])
def test_a_file_that_is_no_safetensors_is_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "w.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=r"w\.safetensors: cannot be read as safetensors: ") as raised:
        load_weights(_network(), path)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("name", sorted(ODD.keys() - {"bfloat16", "float8", "none of 2^62", "70 dimensions"}))
def test_a_networks_file_is_refused_alike(name: str, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(ODD[name])
    with pytest.raises(ModelError, match=r"w\.safetensors: cannot be read as safetensors: .") as raised:
        single_precision(path)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float64])
def test_a_networks_file_may_have_any_float_type(dtype: torch.dtype, tmp_path: Path) -> None:
    save_file({"fc.bias": torch.tensor([0.5, -2.0]).to(dtype)}, tmp_path / "w.safetensors")
    found = single_precision(tmp_path / "w.safetensors")["fc.bias"]
    assert found.dtype == torch.float32
    assert found.tolist() == [0.5, -2.0]
