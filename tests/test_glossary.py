"""The glossary: few words, a sentence each, none twice, and pages that lead to it."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.doc_pages import PAGES, ROOT, links, prose, text

GLOSSARY = ROOT / "docs" / "glossary.md"
MOST_WORDS = 60
ENTRIES = re.findall(r"^\| (?!word \|)([A-Za-z ]+) \| (.+) \|$", text(GLOSSARY), re.M)


def test_the_product_has_few_words_and_none_twice() -> None:
    assert 40 < len(ENTRIES) <= MOST_WORDS
    assert [word for word, times in Counter(word.lower() for word, _ in ENTRIES).items() if times > 1] == []


@pytest.mark.parametrize(("word", "meaning"), ENTRIES, ids=[word for word, _ in ENTRIES])
def test_a_word_has_one_sentence(word: str, meaning: str) -> None:
    assert re.fullmatch(r"[A-Z`][^.!?]*\.", meaning), f"{word}: {meaning}"


@pytest.mark.parametrize("word", [word for word, _ in ENTRIES])
def test_a_word_is_used_elsewhere(word: str) -> None:
    others = (prose(page) for page in PAGES if page != GLOSSARY)
    assert any(re.search(rf"\b{word}", page, re.I) for page in others)


def test_pages_lead_to_it() -> None:
    leading = {page.name for page in PAGES if any(link.endswith("glossary.md") for link in links(page))}
    assert {"README.md", "architecture.md", "query.md"} <= leading
