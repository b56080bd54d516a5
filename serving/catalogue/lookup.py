"""The catalogue: finds models by name in a list of directories, vouches for their files, and reads their graphs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from serving.catalogue.cards import CARD_FILE, ModelCard, read_card
from serving.catalogue.public import public_models
from serving.common.explain import choices, first_line
from serving.errors import ModelError

if TYPE_CHECKING:
    import onnx


def read_weights(path: Path, card: ModelCard) -> onnx.ModelProto:
    """The ONNX model; raises ModelError, also where weights lie in other files, which the card does not vouch for."""
    import onnx

    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:  # protobuf's and the file system's exceptions share no base but Exception
        raise ModelError(f"model {card.name!r}: {path} cannot be opened: {first_line(error)}") from error
    files = onnx.external_data_helper
    if any(map(files.uses_external_data, files._get_all_tensors(model))):
        remedy = f"write one file, onnx.save(onnx.load({path.name!r}), 'one.onnx'); the card needs its name and sha256"
        raise ModelError(f"model {card.name!r}: weights of {path} lie in another file, which has no sha256: {remedy}")
    _only_input(model, card)
    _size_input(model, card)
    _order_outputs(model, card)
    return model


def _only_input(model: onnx.ModelProto, card: ModelCard) -> None:
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in constants]
    if len(inputs) != 1 or len(inputs[0].type.tensor_type.shape.dim) != 4:
        found = ", ".join(f"{each.name} of {len(each.type.tensor_type.shape.dim)} axes" for each in inputs) or "none"
        wanted = "must have one input, a batch of images with 4 axes"
        raise ModelError(f"model {card.name!r}: {wanted}; has {found}: give others a value, as an initializer has it")
    model.graph.input.sort(key=lambda each: each.name in constants)  # old exporters list weights too, in any order


def _size_input(model: onnx.ModelProto, card: ModelCard) -> None:
    """Give items the card's size where the graph leaves theirs open.

    Where it can take any, it takes batches of any length, too, and what it says of an example's sizes is dropped.
    """
    graph, any_size = model.graph, card.input.any_size
    for value in (*graph.input, *graph.value_info, *graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_value < 0:  # so some exporters leave a size open
                dim.Clear()
    batch, *item = graph.input[0].type.tensor_type.shape.dim
    for dim, size in zip(item, card.input.item_shape, strict=True):
        if any_size or not dim.dim_value:
            dim.dim_value = size
    if any_size:
        batch.dim_param = "N"
        del graph.value_info[:]
        for output in graph.output:
            output.type.tensor_type.ClearField("shape")


def _order_outputs(model: onnx.ModelProto, card: ModelCard) -> None:
    """Leave the outputs that are read, in their order."""
    have = {output.name: output for output in model.graph.output}
    read = card.read(have)
    if missing := [name for name in read if name not in have]:
        raise ModelError(f"model {card.name!r}: no output {missing[0]!r} in the graph; it has {', '.join(have)}")
    del model.graph.output[:]
    model.graph.output.extend(have[name] for name in read)


SHIPPED = Path(__file__).parents[1] / "models"


@dataclass(frozen=True, slots=True)
class Entry:
    """A model that was found: its card and where it lies."""

    card: ModelCard
    directory: Path

    @property
    def path(self) -> Path:
        return self.directory / self.card.file


def user_models() -> Path:
    """Where pulled models lie unless the settings name another place."""
    return Path(platformdirs.user_data_dir("sluice")) / "models"


def search_path(extra: Sequence[Path] = (), user: Path | None = None) -> list[Path]:
    """Directories in the order of search: given, the user's, shipped; ModelError where a given one is absent."""
    for directory in extra:
        if not directory.is_dir():
            raise ModelError(f"no such directory of models: {directory}")
    return [*extra, user or user_models(), SHIPPED]


class Catalogue:
    """The models below some directories, each a folder of its own name with a ``model.yaml``; the first found wins."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self.directories = tuple(directories)

    def names(self) -> dict[str, Path]:
        """Name → directory of every model, without reading the cards."""
        found: dict[str, Path] = {}
        for directory in self.directories:
            for card in sorted(directory.glob(f"*/{CARD_FILE}")):
                found.setdefault(card.parent.name, card.parent)
        return dict(sorted(found.items()))

    def find(self, name: str) -> Entry:
        """The model of this name; raises ModelError where there is none or its card is wrong."""
        names = self.names()
        if name not in names:
            raise ModelError(self._unknown(name, list(names)))
        card = read_card(names[name])
        if card.name != name:
            raise ModelError(f"{names[name] / CARD_FILE}: name: is {card.name!r} but the folder is called {name!r}")
        return Entry(card, names[name])

    def list(self) -> Sequence[Entry]:
        """All models by name; raises ModelError at the first wrong card."""
        return [self.find(name) for name in self.names()]

    def _unknown(self, name: str, names: Sequence[str]) -> str:
        public = public_models()
        places = ", ".join(str(directory) for directory in self.directories)
        if name in public:
            return f"model {name!r} is not here yet: fetch it with 'sluice models pull {name}' (looked in {places})"
        return f"unknown model {name!r}{choices(name, [*names, *public])} (looked in {places})"


def weights(entry: Entry) -> Path:
    """The file of the weights; raises ModelError where it is missing."""
    if not entry.path.is_file():
        raise ModelError(f"model {entry.card.name!r}: {entry.path} is missing{_remedy(entry.card.name)}")
    return entry.path


def verify(entry: Entry) -> None:
    """Check that the weights are the ones the card speaks of; raises ModelError, one line."""
    card, found = entry.card, file_sha256(weights(entry))
    if found != card.sha256:
        size = entry.path.stat().st_size
        raise ModelError(
            f"model {card.name!r}: {entry.path} ({size} bytes) is damaged or another file: "
            f"sha256 is {found[:12]}…, the card says {card.sha256[:12]}…{_remedy(card.name)}"
        )


def file_sha256(path: Path) -> str:
    """Hex digest of a file's content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None


def _remedy(name: str) -> str:
    return f"; fetch it again with 'sluice models pull {name}'" if name in public_models() else ""
