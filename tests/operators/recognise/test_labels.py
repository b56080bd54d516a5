"""Words and their numbers."""

from __future__ import annotations

from operators.recognise.labels import Labels

WORDS = ("bus", "car", "van")


def test_words_are_numbered_as_they_are_listed() -> None:
    labels = Labels(WORDS)
    assert [labels.number(word) for word in WORDS] == [0, 1, 2]
    assert labels.named([2, 0]) == ("van", "bus")


def test_a_word_that_the_oracle_does_not_know_has_no_number() -> None:
    assert Labels(WORDS).number("tram") is None


def test_other_words_have_another_digest() -> None:
    digests = {Labels(words).digest for words in (WORDS, WORDS[:2], ("car", "bus", "van"), ("b", "uscarvan"))}
    assert len(digests) == 4
    assert Labels(list(WORDS)).digest == Labels(WORDS).digest
