"""The page about the Python API says what the code says."""

from tools.api_page import PAGE, page


def test_the_page_is_made_of_the_docstrings() -> None:
    assert "* `async deliver(notice: Notification, " in page()
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tools.api_page`"
