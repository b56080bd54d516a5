"""A user's crops, in one folder for each class: checked before anything is learnt from them, read one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

from operators.capture.sources.convert import Converter
from operators.capture.sources.images import LARGEST_BYTES, decode_image, is_image, natural_order
from operators.wire.result import UNKNOWN
from serving.common.tensors import Image
from serving.errors import BadInput
from specialization.kit.crops import CropOrigin, Crops

MOST_CROPS, MOST_CLASSES = 20_000, 200
LEAST_CROPS = 12
"""Crops of a class: fewer cannot be divided into those to learn from and those to measure on."""
MOST_WIDTH = 256
"""Pixels: larger pictures are shrunk."""
LONGEST_CLASS = 64
LAYOUT = "put the crops of each class into a folder of its own: {folder}/car/*.jpg, {folder}/bus/*.jpg"


def labelled_crops(folder: Path) -> Crops:
    """Read a folder; raises BadInput, one line, where no recogniser can be made of it."""
    notes = list[str]()
    seen: dict[bytes, str] = {}
    kept = {name: [path for path in paths if _takes(path, name, seen, notes)] for name, paths in _files(folder).items()}
    _check(folder, kept)
    files = [path for paths in kept.values() for path in paths]
    return Crops(
        classes=list(kept),
        labels=[number for number, paths in enumerate(kept.values()) for _ in paths],
        places=[CropOrigin.of(path.name) for path in files],
        images=_Pictures(files),
        words=f"crops of {folder.resolve().name}",
        notes=[*notes, *_unbalanced(kept)],
    )


@dataclass(frozen=True, slots=True)
class _Pictures:
    paths: Sequence[Path]

    def __iter__(self) -> Iterator[Image]:
        for path in self.paths:
            try:
                yield _decoded(path)
            except (OSError, ValueError) as error:
                raise BadInput(f"{path}: cannot be read any more ({error}): run the command again") from None


def _takes(path: Path, name: str, seen: dict[bytes, str], notes: list[str]) -> bool:
    """Whether the file is a picture that no other file is; notes why not."""
    try:
        _decoded(path)
        key = hashlib.sha256(path.read_bytes()).digest()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
    else:
        if key not in seen:
            seen[key] = name
            return True
        why = f"the same picture is in {seen[key]}" if seen[key] != name else "it is there twice"
    notes.append(f"{path.parent.name}/{path.name} is passed over: {why}")
    return False


def _files(folder: Path) -> dict[str, list[Path]]:
    """Pictures by class; no link is followed."""
    try:
        if not folder.is_dir():
            raise BadInput(f"--from {folder}: no such folder")
        parts = sorted(part for part in folder.iterdir() if _is_class(part))
        files = {part.name: sorted(filter(_is_crop, part.iterdir()), key=natural_order) for part in parts}
    except OSError as error:
        raise BadInput(f"--from {folder}: cannot be read ({error.strerror})") from None
    files = {name: paths for name, paths in files.items() if paths}
    if not files:
        raise BadInput(f"--from {folder}: no pictures in folders of classes; {LAYOUT.format(folder=folder.name)}")
    for name in files:
        if not name.isprintable() or len(name) > LONGEST_CLASS or name != name.strip():
            raise BadInput(f"--from {folder}: {name[:LONGEST_CLASS]!r} cannot be a class: give the folder a plain name")
    alike = {normalize("NFC", name).casefold(): name for name in files}
    for name in files:
        if (other := alike[normalize("NFC", name).casefold()]) != name:
            raise BadInput(f"--from {folder}: {name!r} and {other!r} are one word, written in two ways: join the two")
    if len(files) > MOST_CLASSES:
        raise BadInput(f"--from {folder}: {len(files)} classes are too many: {MOST_CLASSES} are the most")
    return _thinned(files)


def _is_class(part: Path) -> bool:
    """Hidden folders are none, nor is that of crops which nobody has named yet."""
    return part.is_dir() and not part.is_symlink() and not part.name.startswith(".") and part.name != UNKNOWN


def _is_crop(path: Path) -> bool:
    return is_image(path) and path.is_file() and not path.is_symlink()


def _thinned(files: dict[str, list[Path]]) -> dict[str, list[Path]]:
    """At most ``MOST_CROPS``, of the largest classes fewer, from all parts of a folder."""
    most = max(map(len, files.values()))
    while sum(min(len(paths), most) for paths in files.values()) > MOST_CROPS:
        most = most * 9 // 10
    return {name: _spread(paths, most) for name, paths in files.items()}


def _spread(paths: Sequence[Path], most: int) -> list[Path]:
    step = max(1.0, len(paths) / most)
    return [paths[int(place * step)] for place in range(min(len(paths), most))]


def _check(folder: Path, kept: dict[str, list[Path]]) -> None:
    few = [f"{name} ({len(paths)})" for name, paths in kept.items() if len(paths) < LEAST_CROPS]
    if few:
        raise BadInput(
            f"--from {folder}: too few pictures that can be read in {', '.join(few)}: {LEAST_CROPS} of each class are "
            "the least"
        )
    if len(kept) < 2:
        raise BadInput(f"--from {folder}: one class alone, {', '.join(kept)}: put what it is not into 'other'")


def _unbalanced(kept: dict[str, list[Path]]) -> Iterator[str]:
    most, least = (choose(kept, key=lambda name: len(kept[name])) for choose in (max, min))
    if len(kept[most]) > 20 * len(kept[least]):
        yield (
            f"{len(kept[most])} crops of {most}, but {len(kept[least])} of {least}: all classes count the same, yet "
            f"little is known of {least}"
        )


def _decoded(path: Path) -> Image:
    """The picture; ValueError or OSError where it cannot be had."""
    size_bytes = path.stat().st_size
    if not 0 < size_bytes <= LARGEST_BYTES:
        raise ValueError("the file is empty" if not size_bytes else f"{size_bytes} bytes are too many")
    return decode_image(path.read_bytes(), Converter(MOST_WIDTH))
