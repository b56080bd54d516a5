"""Zones and lines on the live page, in a real browser: shown, drawn by mouse and by keyboard, said as YAML."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from pipelines.query.check import examine
from tests.integration.test_live_page import Reader
from tests.real.browser import look
from tests.real.ports import free_port
from tests.real.process import Sluice, until

QUERY = """\
version: 1
name: page
slo_ms: 2000
streams:
  - {id: cam00, uri: "synthetic:street?duration_s=600&fps=5&width=320&height=180&seed=1"}
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: track, task: track, input: detect}
zones:
  - {name: road, polygon: [[0.3, 0.4], [0.7, 0.4], [0.7, 0.9], [0.3, 0.9]]}
lines:
  - {name: gate, points: [[0.1, 0.5], [0.2, 0.9]]}
"""


@pytest.fixture
def reader(tmp_path: Path, browser: webdriver.Chrome) -> Iterator[Reader]:
    """The page of a stream with a zone and a line, its editor open."""
    address = f"127.0.0.1:{free_port()}"
    (tmp_path / "query.yaml").write_text(QUERY)
    run = Sluice(tmp_path, "run", tmp_path / "query.yaml", "--serve", "--listen", address)
    until(lambda: "serving" in run.errors, "the page", run)
    page = Reader(browser, f"http://{address}/")
    page.open("#/stream/cam00")
    page.until(lambda: page.pictures() == 1)
    page.all("summary")[0].click()
    yield page
    run.kill()


def written(reader: Reader, folder: Path) -> dict[str, list[dict[str, object]]]:
    """What the page says for the query, which is right if it stands in one."""
    reader.until(lambda: reader.text(".yaml"))
    text = reader.text(".yaml")
    start = QUERY.index("zones:")
    (folder / "drawn.yaml").write_text(QUERY[:start] + text)
    assert [str(problem) for problem in examine(folder / "drawn.yaml").problems] == []
    found: dict[str, list[dict[str, object]]] = yaml.safe_load(text)
    return found


def click_at(reader: Reader, *places: tuple[float, float]) -> None:
    """Click on the picture, at shares of its width and height."""
    picture = reader.all(".stream .picture")[0]
    size = picture.size
    for x, y in places:
        offset = round((x - 0.5) * size["width"]), round((y - 0.5) * size["height"])
        ActionChains(reader.driver).move_to_element_with_offset(picture, *offset).click().perform()


def test_a_zone_is_drawn_with_the_mouse_and_a_line_with_the_keyboard(reader: Reader, tmp_path: Path) -> None:
    reader.until(lambda: len(reader.all(".shapes li")) == 2)
    reader.until(lambda: len(reader.all("polygon.mark.zone")) == 1)
    assert len(reader.all("path.mark.line")) == 2, "an arrow"
    assert reader.text("[role=status].small").startswith("Choose")

    kind, name = reader.all(".editor select")[0], reader.all(".editor input[type=text]")[0]
    draw, add, clear, copy = (each for each in reader.all(".editor .row button"))
    draw.click()
    corners = [(0.25, 0.25), (0.75, 0.25), (0.75, 0.75), (0.25, 0.75)]
    click_at(reader, *corners)
    reader.until(lambda: len(reader.all(".points li")) == len(corners))
    assert len(reader.all("polygon.mark.draft")) == 1
    assert "A name has small letters" in reader.text("[role=status].small")
    assert not copy.is_enabled()
    name.send_keys("yard")
    (zone,) = written(reader, tmp_path)["zones"]
    assert (zone["name"], zone["streams"]) == ("yard", "cam00")
    assert zone["polygon"] == [pytest.approx(corner, abs=0.01) for corner in corners]

    picture = reader.all(".stream .picture")[0].size
    drag = ActionChains(reader.driver).move_to_element(reader.all(".handle")[0]).click_and_hold()
    drag.move_by_offset(round(0.6 * picture["width"]), round(0.3 * picture["height"])).release().perform()
    reader.until(lambda: "sides cross" in reader.text("[role=status].small"))
    assert reader.text(".yaml") == ""

    draw.send_keys(Keys.ESCAPE)
    assert draw.get_attribute("aria-pressed") == "false"
    assert reader.all(".stream"), "Escape ends the drawing, and does not leave the page"
    clear.send_keys(Keys.ENTER)
    kind.send_keys("line")
    for place in ("0.1", "0.9"):
        add.send_keys(Keys.ENTER)
        field = reader.driver.switch_to.active_element
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(place)
    name.send_keys(Keys.CONTROL, "a")
    name.send_keys("gate-2")
    assert written(reader, tmp_path) == {
        "lines": [{"name": "gate-2", "streams": "cam00", "points": [[0.1, 0.5], [0.9, 0.5]]}]
    }
    copy.send_keys(Keys.ENTER)
    reader.until(lambda: reader.text("[role=status].small").startswith(("Copied", "Selected")))
    assert reader.complaints() == []


def test_what_the_query_has_can_be_changed(reader: Reader, tmp_path: Path) -> None:
    reader.until(lambda: len(reader.all(".shapes li")) == 2)
    reader.all(".shapes button")[0].click()
    assert [each.get_attribute("value") for each in reader.all(".points input")][:2] == ["0.3", "0.4"]
    reader.all(".points button")[3].click()
    (zone,) = written(reader, tmp_path)["zones"]
    assert zone["polygon"] == [[0.3, 0.4], [0.7, 0.4], [0.7, 0.9]]
    assert len(reader.all("polygon.mark.zone")) == 1, "the draft takes its place"
    for width, theme in ((390, "dark"), (1400, "light")):
        look(reader.driver, width, 844, theme)
        reader.until(reader.fits)
    assert reader.complaints() == []


@pytest.mark.parametrize("corner", [(0.02, 0.01), (0.97, 0.01), (0.97, 0.5)])
def test_a_name_is_read_whole_wherever_its_shape_begins(corner: tuple[float, float], reader: Reader) -> None:
    name, draw = reader.all(".editor input[type=text]")[0], reader.all(".editor .row button")[0]
    draw.click()
    click_at(reader, corner, (0.5, 0.4), (0.5, 0.6))
    name.send_keys("loading-bay")
    reader.until(lambda: "loading-bay" in [each.get_attribute("textContent") for each in reader.all(".mark-name")])
    outside = """
        const within = document.querySelector(".marks").getBoundingClientRect();
        const names = [...document.querySelectorAll(".mark-name:last-of-type")];
        return names.map((each) => each.getBoundingClientRect()).filter((each) => each.left < within.left ||
            each.right > within.right || each.top < within.top || each.bottom > within.bottom).length;
    """
    assert reader.driver.execute_script(outside) == 0
