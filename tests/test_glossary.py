"""The glossary: few words, a sentence each, none twice, used on pages or in code, and pages lead to it."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from pipelines.cli import PACKAGES
from tests.doc_pages import PAGES, ROOT, links, text

GLOSSARY = ROOT / "docs" / "glossary.md"
MOST_WORDS = 60
ENTRIES = re.findall(r"^\| (?!word \|)([A-Za-z ]+) \| (.+) \|$", text(GLOSSARY), re.M)


def test_the_product_has_few_words_and_none_twice() -> None:
    assert 40 < len(ENTRIES) <= MOST_WORDS
    assert [word for word, times in Counter(word.lower() for word, _ in ENTRIES).items() if times > 1] == []


@pytest.mark.parametrize(("word", "meaning"), ENTRIES, ids=[word for word, _ in ENTRIES])
def test_a_word_has_one_sentence(word: str, meaning: str) -> None:
    assert re.fullmatch(r"[A-Z`][^.!?]*\.", meaning), f"{word}: {meaning}"


def test_words_are_used_elsewhere() -> None:
    files = [page for page in PAGES if page != GLOSSARY]
    files += [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    used = "\n".join(map(text, files)).lower()
    assert [word for word, _ in ENTRIES if word.lower() not in used] == []


def test_pages_lead_to_it() -> None:
    leading = {page.name for page in PAGES if any(link.endswith("glossary.md") for link in links(page))}
    assert {"README.md", "architecture.md", "query.md"} <= leading
