"""What the answers are compared with: the word of most looks in the last seconds."""

from __future__ import annotations

from benchmarks.whole_frames import Said, majority


def words(said: str, fps: float = 1.0) -> str:
    return "".join(majority([Said(place / fps, word, True) for place, word in enumerate(said)]))


def test_the_majority_is_of_three_seconds_and_of_equal_words_it_is_the_latest() -> None:
    assert words("aabbcd") == "aaabbd"
    assert words("aaaaaabbbbbb", fps=4) == "aaaaaaaaaaab"


def test_three_seconds_are_fifteen_frames_of_five_a_second() -> None:
    assert words("a" * 20 + "b" * 20, fps=5) == "a" * 27 + "b" * 13
