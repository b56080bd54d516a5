"""The live page in a real browser: one stream, four, thirty-two; hostile names; by keyboard; behind a secret."""

from __future__ import annotations

import base64
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from operators.frames.codec import encode_frame
from operators.wire.schema import (
    FRAME_HEADER_KEY,
    NodeDecision,
    Plan,
    StreamPlan,
    StreamStatus,
    VariantSwitch,
    to_json,
)
from tests.integration.kafka_side import create_topic
from tests.operators.publish.messages import AT, picture, result, thing
from tests.real.browser import look
from tests.real.kafka import KafkaBroker, RemoteBroker
from tests.real.ports import free_port
from tests.real.process import Sluice, until
from tests.real.reverse_proxy import under

WAIT_S = 180.0
QUERY = """\
version: 1
name: page
slo_ms: 2000
streams:
{streams}
nodes:
  - {{name: detect, task: detect, model: motion}}
  - {{name: track, task: track, input: detect}}
"""
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>'`${1}"
Find = Callable[[str], Any]


def query(folder: Path, streams: int) -> Path:
    fps = 5 if streams < 10 else 1  # many cameras at once must not take the machine from other tests
    street = f"synthetic:street?duration_s=600&fps={fps}&width=160&height=90&seed="
    lines = [f'  - {{id: cam{number:02}, uri: "{street}{number}"}}' for number in range(streams)]
    (folder / "query.yaml").write_text(QUERY.format(streams="\n".join(lines)))
    return folder / "query.yaml"


class Reader:
    """What a person sees in the browser."""

    def __init__(self, driver: webdriver.Chrome, page: str) -> None:
        self.driver, self._page = driver, page

    def open(self, place: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get(self._page + place)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return "\n".join(each.text for each in self.all(selector))

    def until(self, condition: Callable[[], object]) -> None:
        WebDriverWait(self.driver, WAIT_S, 0.2, [Exception]).until(lambda _: condition())

    def pictures(self) -> int:
        """How many pictures have arrived and can be shown."""
        script = "return [...document.querySelectorAll('.picture img')].filter(i => i.naturalWidth > 0).length"
        return int(self.driver.execute_script(script))

    def complaints(self) -> list[str]:
        """What the browser logged: errors of scripts, refusals by the policy."""
        return [line["message"] for line in self.driver.get_log("browser")]

    def fits(self) -> bool:
        """Whether nothing has to be scrolled sideways."""
        return bool(self.driver.execute_script("return document.documentElement.scrollWidth <= innerWidth"))


@pytest.fixture
def serving(tmp_path: Path, browser: webdriver.Chrome) -> Iterator[Callable[[int], tuple[Reader, Sluice]]]:
    """Starts a run of so many streams that serves its page, at one address."""
    runs, address = list[Sluice](), f"127.0.0.1:{free_port()}"

    def start(streams: int) -> tuple[Reader, Sluice]:
        run = Sluice(tmp_path, "run", query(tmp_path, streams), "--serve", "--listen", address)
        runs.append(run)
        until(lambda: "serving" in run.errors, "the page", run)
        return Reader(browser, f"http://{address}/"), run

    yield start
    for run in runs:
        run.kill()


def test_a_stream_is_seen_live_on_the_wall_and_on_its_page(serving: Callable[[int], tuple[Reader, Sluice]]) -> None:
    reader, run = serving(1)
    reader.open()
    reader.until(lambda: reader.pictures() == 1)
    assert reader.text(".name") == "cam00"
    reader.until(lambda: "fps" in reader.text(".fps") and reader.text(".fps") != "0.0 fps")
    assert "1 stream, all running" in reader.text("#summary")

    card = reader.all(".card")[0]
    for _ in range(6):  # with the keyboard alone
        if reader.driver.switch_to.active_element == card:
            break
        reader.driver.switch_to.active_element.send_keys(Keys.TAB)
    assert reader.driver.switch_to.active_element == card
    card.send_keys(Keys.ENTER)
    reader.until(lambda: reader.pictures() == 1 and reader.text("h1").startswith("cam00"))
    reader.until(lambda: "of stream" in reader.text(".say"))
    reader.until(lambda: reader.all(".chart .slot, .tag"))
    assert "reference model" in reader.text(".panel")
    reader.until(lambda: reader.all(".chart .slot"))
    assert "Nothing was found" not in reader.text(".panel")  # a detector has answered, if no other network
    reader.until(lambda: re.search(r"came · moving #\d+\s+\d+:\d\d:\d\d", reader.text(".events")))
    script = "return [...document.querySelectorAll('.events img')].filter(i => i.naturalWidth > 0).length"
    reader.until(lambda: reader.driver.execute_script(script))
    assert reader.driver.title == "cam00 – Sluice"
    alternative = reader.all(".picture img")[0].get_attribute("alt")
    assert alternative.startswith("Latest frame of cam00")
    reader.all("body")[0].send_keys(Keys.ESCAPE)
    reader.until(lambda: reader.all(".wall"))
    assert reader.complaints() == []

    address = reader.driver.current_url.partition("#")[0]
    for path, what in (("metrics", "sluice_frames_total"), ("healthz", "ok")):
        with urllib.request.urlopen(address + path) as answer:
            assert what in answer.read().decode()
    assert run.terminate() == 0


def test_a_page_that_finds_a_new_run_shows_no_pictures_of_the_one_before(
    serving: Callable[[int], tuple[Reader, Sluice]],
) -> None:
    reader, run = serving(1)
    reader.open("#/stream/cam00")
    reader.until(lambda: len(reader.all(".thumbnail img")) >= 8)
    run.kill()
    mark = "return [...document.querySelectorAll('.thumbnail img')].map(i => (i.dataset.old = 1, i.src))"
    before = set(reader.driver.execute_script(mark))
    serving(1)
    reader.until(lambda: len(reader.all(".thumbnail img:not([data-old])")) >= 8)
    now = set(reader.driver.execute_script(mark))
    assert not now & before, "a browser shows what it had at an address"


def test_the_page_stays_when_asked_with_what_was_seen_last_and_how_streams_ended(
    tmp_path: Path, browser: webdriver.Chrome
) -> None:
    (tmp_path / "query.yaml").write_text(
        QUERY.format(
            streams=f"  - {{id: brief, uri: 'synthetic:street?seed=1&duration_s=2'}}\n"
            f"  - {{id: gate, uri: 'rtsp://127.0.0.1:{free_port()}/1'}}"
        )
        + "  - {name: type, task: recognise, input: track, model: vehicle-type, specialize: true}\n"
    )
    out, address = tmp_path / "out.jsonl", f"127.0.0.1:{free_port()}"
    options = ("--give-up", 3, "--listen", address, "--stay", "--out", out)
    with Sluice(tmp_path, "run", tmp_path / "query.yaml", *options) as run:
        until(lambda: "the page stays until Ctrl-C" in run.errors, "the end of the streams", run)
        assert len(out.read_text().splitlines()) >= 20  # the files are written
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
            counted = answer.read().decode()
        assert re.search(r'^sluice_frames_total\{[^}]*outcome="analysed"[^}]*stream="brief"', counted, re.MULTILINE)
        assert re.search(r'^sluice_stream_state\{[^}]*state="ended",stream="brief"\} 1', counted, re.MULTILINE)
        reader = Reader(browser, f"http://{address}/")
        reader.open()
        reader.until(lambda: reader.pictures() == 1)
        reader.until(lambda: [each.text for each in reader.all(".state")] == ["ended", "failed: refused"])
        assert "2 streams: 1 ended, 1 failed" in reader.text("#summary")
        assert "nothing listens there" in reader.text(".card")
        reader.open("#/stream/brief")
        reader.until(lambda: "type: exits of this stream" in reader.text("main"))
        assert "No shortcut is audited here" not in reader.text("main")
        reader.open("#/stream/nobody")
        reader.until(lambda: "Nothing has been heard of a stream of this name" in reader.text("main"))
        assert not any(each.is_displayed() for each in reader.all(".panel, .pill"))
        assert reader.complaints() == []
        assert run.terminate() == 2


@pytest.mark.parametrize("streams", [4, 32])
def test_many_streams_fit(streams: int, serving: Callable[[int], tuple[Reader, Sluice]]) -> None:
    reader, _ = serving(streams)
    reader.open()
    reader.until(lambda: reader.pictures() == streams)
    assert [each.text for each in reader.all(".name")] == [f"cam{number:02}" for number in range(streams)]
    for width, theme in ((1400, "light"), (390, "dark")):
        look(reader.driver, width, 844, theme)
        reader.until(reader.fits)
    assert reader.complaints() == []


def ground(reader: Reader) -> str:
    return str(reader.driver.execute_script("return getComputedStyle(document.body).backgroundColor"))


@pytest.mark.kafka
def test_an_installation_is_seen_from_its_topics_and_hostile_names_are_names(
    kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str, tmp_path: Path, browser: webdriver.Chrome
) -> None:
    bootstrap = kafka_broker.bootstrap
    for kind in ("results", "streams", "plans", "events", "frames"):
        create_topic(bootstrap, f"{topic_prefix}{kind}.v1")
    address = f"127.0.0.1:{free_port()}"
    reader = Reader(browser, f"http://{address}/")
    with Sluice(tmp_path, "serve", "--prefix", topic_prefix, "--listen", address, broker=bootstrap) as serve:
        until(lambda: "serving" in serve.errors, "the page", serve)
        status = StreamStatus(
            stream=HOSTILE, run="r1", state="reconnecting", reason=HOSTILE, message=HOSTILE, uri="rtsp://a", at=AT
        )
        send(bootstrap, f"{topic_prefix}streams.v1", [(to_json(status), [])])
        switch = VariantSwitch(node=HOSTILE, at=AT, variant=HOSTILE, before="large", why=HOSTILE)
        plan = StreamPlan(stream=HOSTILE, query="q", at=AT, nodes=[], switches=[switch])
        send(bootstrap, f"{topic_prefix}plans.v1", [(to_json(plan), [])])
        reader.open()
        reader.until(lambda: reader.text(".name") == HOSTILE)
        assert ground(reader) == "rgb(244, 246, 248)"
        reader.until(lambda: show(bootstrap, topic_prefix) and reader.pictures())
        assert HOSTILE in reader.text(".state")

        reader.all(".card")[0].click()
        reader.until(lambda: show(bootstrap, topic_prefix) and reader.pictures() and reader.all(".tag"))
        assert HOSTILE[:40] in reader.text(".tag")
        assert HOSTILE in reader.text("h1")
        reader.until(lambda: reader.all(".chart .model0") and HOSTILE[:40] in reader.text(".legend"))
        reader.until(lambda: HOSTILE[:40] in reader.text(".say") and "has switched to" in reader.text(".say"))
        look(browser, 390, 844, "dark")
        reader.until(reader.fits)
        assert ground(reader) == "rgb(13, 16, 21)"
        assert browser.title == f"{HOSTILE} – Sluice"
        assert reader.all("main script, main img[src='x'], main [onerror]") == []
        assert reader.complaints() == []
        until(lambda: complains(bootstrap, topic_prefix, serve), "word of the garbage", serve)
        assert serve.terminate() == 0


def complains(bootstrap: str, prefix: str, serve: Sluice) -> bool:
    """Whether the page's server has said something of messages like these, which are sent once more."""
    send(bootstrap, f"{prefix}results.v1", [(b"no result", []), (b'{"schema":"sluice.result/1"}', [])])
    return "a message is passed over" in serve.errors


def send(bootstrap: str, topic: str, messages: Sequence[tuple[bytes, list[tuple[str, bytes]]]]) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for value, headers in messages:
        producer.send(topic, value=value, headers=headers, key=b"k").get(180)
    producer.close()


shown = iter(range(10_000))


def show(bootstrap: str, prefix: str) -> bool:
    """Send another frame and its result."""
    chosen = {HOSTILE: NodeDecision(variant=HOSTILE, objects=1)}
    plan = Plan(slo_ms=250, deadline_met=True, latency_ms=34, nodes=chosen)
    of = result(next(shown), thing(1, HOSTILE[:250]), stream=HOSTILE, plan=plan)
    header, jpeg = encode_frame(picture(of, 320, 180))
    send(bootstrap, f"{prefix}frames.v1", [(bytes(jpeg), [(FRAME_HEADER_KEY, to_json(header))])])
    send(bootstrap, f"{prefix}results.v1", [(to_json(of), [])])
    return True


def test_behind_a_secret_the_page_is_read_with_it_and_not_without(tmp_path: Path, browser: webdriver.Chrome) -> None:
    secret, port = "0123456789abcdef", free_port()
    (tmp_path / "secret").write_text(f"{secret}\n")
    options = ("--listen", f"0.0.0.0:{port}", "--secret-file", tmp_path / "secret")
    with Sluice(tmp_path, "run", query(tmp_path, 1), *options) as run:
        until(lambda: "serving" in run.errors, "the page", run)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as answer:
            assert answer.status == 200
        reader = Reader(browser, f"http://127.0.0.1:{port}/")
        browser.execute_cdp_cmd("Network.enable", {})
        basic = base64.b64encode(f"me:{secret}".encode()).decode()
        browser.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": {"Authorization": f"Basic {basic}"}})
        reader.open()
        reader.until(lambda: reader.pictures() == 1)
        assert secret not in run.errors
        assert json.dumps(secret) not in browser.page_source


COMES = """
const done = arguments[arguments.length - 1];
import('/static/wall.js').then(({ Wall }) => {
  const wall = new Wall(), told = { look: 'good', group: 'running', word: '', words: '', fps: 1, latency_ms: 1,
    slo_ms: null, analysed: 1, lost: [], who: {}, labels: [] };
  const show = (...names) => wall.update({ tiles: names.map((stream) => ({ ...told, stream })) });
  document.body.append(wall.node);
  show('b', 'd', 'e');
  wall.list.querySelectorAll('a')[1].focus();
  const names = () => [...wall.list.querySelectorAll('.name')].map((name) => name.textContent).join('');
  show('a', 'b', 'c', 'd', 'e', 'f');
  const all = names();
  show('c', 'd');
  done([all, names(), document.activeElement.querySelector('.name').textContent]);
});
"""


def test_a_page_too_many_says_so_and_a_card_that_is_chosen_stays_so_when_others_come(
    serving: Callable[[int], tuple[Reader, Sluice]],
) -> None:
    reader, run = serving(1)
    address = f"http://{run.errors.partition('http://')[2].split('/')[0]}/live"
    with ExitStack() as others:
        for _ in range(16):
            others.enter_context(urllib.request.urlopen(address))
        reader.open()
        reader.until(lambda: reader.text("#link") == "16 pages are open already: close one")
    reader.until(lambda: reader.pictures() == 1)
    assert reader.text("#link") == ""
    assert reader.driver.execute_async_script(COMES) == ["abcdef", "cd", "d"]
    assert reader.complaints() == []


def test_an_upright_picture_is_seen_whole(tmp_path: Path, browser: webdriver.Chrome) -> None:
    asked = QUERY.replace(
        "{streams}", '  - {{id: door, uri: "synthetic:street?duration_s=600&fps=5&width=90&height=300"}}'
    )
    (tmp_path / "upright.yaml").write_text(asked.format())
    address = f"127.0.0.1:{free_port()}"
    with Sluice(tmp_path, "run", tmp_path / "upright.yaml", "--serve", "--listen", address) as run:
        until(lambda: "serving" in run.errors, "the page", run)
        reader = Reader(browser, f"http://{address}/")
        reader.open("#/stream/door")
        reader.until(lambda: reader.pictures() == 1)
        script = (
            "const box = document.querySelector('.picture').getBoundingClientRect(); return [box.width, box.height]"
        )
        width, height = browser.execute_script(script)
        assert 100 < height <= browser.execute_script("return innerHeight")
        assert abs(width / height - 90 / 300) < 0.01


def test_behind_a_proxy_the_page_may_have_a_path_of_its_own(tmp_path: Path, browser: webdriver.Chrome) -> None:
    port = free_port()
    with (
        Sluice(tmp_path, "run", query(tmp_path, 1), "--listen", f"127.0.0.1:{port}") as run,
        under("/cams/", port) as at,
    ):
        until(lambda: "serving" in run.errors, "the page", run)
        reader = Reader(browser, at)
        reader.open()
        reader.until(lambda: reader.pictures() == 1)
        reader.all(".card")[0].click()
        script = "return [...document.querySelectorAll('.events img')].filter(i => i.naturalWidth > 0).length"
        reader.until(lambda: reader.driver.execute_script(script))
        assert reader.driver.current_url == f"{at}#/stream/cam00"
        assert reader.complaints() == []
