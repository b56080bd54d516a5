"""Packages of others, as if they were installed."""

from __future__ import annotations

from pathlib import Path

from tests.pipelines.queries import write


def installed(folder: Path, module: str, code: str, entry_points: str) -> Path:
    """The folder, on which the path of modules is to be, of a package of one module."""
    about = folder / f"{module}-1.dist-info"
    about.mkdir(parents=True)
    write(about / "METADATA", f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
    write(about / "entry_points.txt", entry_points)
    write(folder / f"{module}.py", code)
    return folder
