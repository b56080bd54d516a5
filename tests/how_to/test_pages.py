"""No how-to is without a reader."""

from __future__ import annotations

import re
from pathlib import Path

from tests.doc_pages import ROOT


def test_every_how_to_is_followed() -> None:
    pages = {page.stem for page in (ROOT / "docs" / "how-to").glob("*.md")}
    tests = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    assert pages == set(re.findall(r'Reader\("([\w-]+)"', tests))
