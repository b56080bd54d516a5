"""Whether our packages are ours: their folders have common names, and another package may lie in front of them.

Used before any of them is imported, so it imports none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("pipelines", "operators", "specialization", "cache_adapt", "learning", "serving", "datasets")
"""The names of our top-level folders."""
MARK = "# A part of Sluice."
"""Stands in the ``__init__.py`` of each."""
HERE = Path(__file__).resolve().parents[2]


def complaint(packages: Sequence[str] = PACKAGES, here: Path = HERE) -> str | None:
    """One line about packages of other makers that would be imported in place of ours, and what to do."""
    strangers = [f"{name} ({place})" for name, place in _strangers(packages, here)]
    if not strangers:
        return None
    return (
        f"another package is installed in place of a part of Sluice: {', '.join(strangers)}; install Sluice in an "
        "environment of its own: pipx install sluice-video, or a new venv"
    )


def _strangers(packages: Sequence[str], here: Path) -> Iterator[tuple[str, Path]]:
    for name in packages:
        if not (here / name).is_dir():
            continue
        spec = find_spec(name)
        found = here / name if spec is None or spec.origin is None else Path(spec.origin)
        if not _ours(found):
            yield name, found


def _ours(found: Path) -> bool:
    try:
        return MARK in found.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
