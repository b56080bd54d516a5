"""The pages of the documentation, and what stands on them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, *languages: str) -> list[str]:
    """The fenced blocks in one of the languages; "" is a block that names none."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text(page), re.M | re.S)
    return [content for language, content in found if language in languages]


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text(page), flags=re.M | re.S)


def each(pick: Any) -> list[Any]:
    """One parameter for each thing that ``pick`` finds on a page."""
    return [
        pytest.param(page, found, id=f"{page.relative_to(ROOT)}:{found}"[:90])
        for page in PAGES
        for found in dict.fromkeys(pick(page))
    ]


def links(page: Path) -> list[str]:
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", prose(page)))
    return [target for target in targets if not target.startswith(("http://", "https://"))]
