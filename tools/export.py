"""Weights of a public architecture become a model directory: ``python -m tools.export``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from serving.errors import BadInput, SluiceError
from tools.architectures.convert import convert
from tools.architectures.registry import find

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("architecture")
@click.argument("weights", metavar="WEIGHTS.safetensors", type=click.Path(path_type=Path))
@click.option(
    "--classes",
    metavar="FILE",
    type=click.Path(path_type=Path),
    required=True,
    help="Names of the classes in the order of the outputs, one on each line.",
)
@click.option(
    "--into",
    metavar="DIR",
    type=click.Path(path_type=Path),
    required=True,
    help="The directory of models that gets the new folder.",
)
@click.option("--name", metavar="NAME", help="The model's name and folder.  [default: the architecture's]")
@click.option("--licence", metavar="TEXT", required=True, help="The licence of the weights.")
@click.option("--source", metavar="TEXT", required=True, help="Where the weights come from: a URL, or a script.")
@click.option("--size", type=click.IntRange(min=1), metavar="PIXELS", help="Side of the input.  [default: the usual]")
@click.option(
    "--mean",
    nargs=3,
    type=float,
    default=IMAGENET_MEAN,
    metavar="R G B",
    help="Mean of pixels, 0…1.  [default: ImageNet]",
)
@click.option(
    "--std",
    nargs=3,
    type=float,
    default=IMAGENET_STD,
    metavar="R G B",
    help="Spread of pixels.  [default: ImageNet]",
)
@click.option("--half", is_flag=True, help="Store the weights in half precision.")
def command(
    architecture: str,
    weights: Path,
    classes: Path,
    into: Path,
    name: str | None,
    licence: str,
    source: str,
    size: int | None,
    mean: tuple[float, float, float],
    std: tuple[float, float, float],
    half: bool,
) -> None:
    """Turn safetensors of a known architecture into a model: ONNX and card.

    The architectures, with the names that their public weights use, are listed in docs/how-to/add-a-model.md.
    """
    known = find(architecture)
    labels = _lines(classes)
    if not weights.is_file():
        raise BadInput(f"{weights}: no such file; give the weights as safetensors")
    side = size or known.size
    card = {
        "name": name or architecture,
        "licence": licence,
        "source": source,
        "input": {"width": side, "height": side, "scale": 1 / 255, "mean": mean, "std": std},
        "classes": labels,
    }
    folder = convert(known, weights, into, card, half=half)
    click.echo(f"{folder.name}: {folder}")


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"--classes {path}: cannot be read ({error})") from None
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise BadInput(f"--classes {path}: holds no names")
    return names


if __name__ == "__main__":
    try:
        command()
    except SluiceError as error:
        sys.exit(f"error: {error}")
