"""The folder of enrolled identities: ``gallery/<name>/*.jpg``, each picture a crop of the person or thing itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from serving.errors import BadInput

SUFFIXES = (".jpg", ".jpeg")


def identities(gallery: Path) -> Mapping[str, Sequence[Path]]:
    """Name → pictures; raises BadInput where the folder is missing, empty, or holds what is no JPEG."""
    if not gallery.is_dir():
        raise BadInput(f"no gallery at {gallery}: it must be a folder with one folder of JPEG pictures per identity")
    people = {folder.name: _pictures(folder) for folder in sorted(gallery.iterdir()) if _counts(folder)}
    if not people:
        raise BadInput(f"gallery {gallery} is empty: make one folder of JPEG pictures per identity in it")
    return people


def _pictures(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise BadInput(f"{folder} lies in the gallery itself: put pictures in a folder named after the identity")
    files = [path for path in sorted(folder.iterdir()) if _counts(path)]
    if wrong := [path for path in files if path.suffix.lower() not in SUFFIXES]:
        raise BadInput(f"gallery picture {wrong[0]} is no JPEG (.jpg): convert or remove it")
    if not files:
        raise BadInput(f"gallery folder {folder} has no pictures: add a .jpg or remove it")
    return files


def _counts(path: Path) -> bool:
    """List a folder without hidden files, which desktops make."""
    return not path.name.startswith(".")
