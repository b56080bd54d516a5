"""What the soak benchmark computes, on made-up figures and on a real process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from benchmarks.soak_parts import viewer as viewer_part
from benchmarks.soak_parts.memory import Sample, low_points, mb_per_hour, samples


def sample(time_s: float, mb: float, process: str = "worker") -> Sample:
    return Sample(time_s, process, 1, mb, mb / 2, mb)


def test_the_slope_is_that_of_most_samples_after_the_warm_up() -> None:
    found = [sample(each, 100 + each) for each in range(0, 100, 5)]
    found += [sample(each, 200 + each / 60) for each in range(100, 500, 5)]
    found += [sample(503, 900), sample(204, 0)]
    assert mb_per_hour(found, "rss_mb", 100)["worker"] == pytest.approx(60, rel=0.01)
    assert mb_per_hour(found, "uss_mb", 100)["worker"] == pytest.approx(30, rel=0.01)


def test_memory_that_is_given_back_each_minute_is_no_growth_and_what_stays_is() -> None:
    saw = [sample(each, 200 + (each % 60) / 10 + each / 200, "saw") for each in range(0, 360, 5)]
    leak = [sample(each, 200 + (each % 60) / 10 + (each // 60) / 4, "leak") for each in range(0, 360, 5)]
    found = mb_per_hour([*saw, *leak], "rss_mb", 0)
    assert found["saw"] == pytest.approx(18)
    assert found["leak"] == pytest.approx(15)


def test_minutes_without_a_sample_count_for_nothing() -> None:
    found = [sample(each, 100 + each / 60) for each in range(0, 600, 5) if not 120 <= each < 300]
    assert [each.time_s for each in low_points(found, "rss_mb")] == [0, 60, 300, 360, 420, 480, 540]
    assert mb_per_hour(found, "rss_mb", 0)["worker"] == pytest.approx(60)


def test_each_process_has_its_own_slope_and_one_that_is_gone_none() -> None:
    found = [sample(each, 10 + each, name) for each in range(100) for name in ("worker", "watch")]
    found.append(sample(3, 10, "capture, child 9"))
    slopes = mb_per_hour(found, "rss_mb", 50)
    assert slopes == {"worker": pytest.approx(3600), "watch": pytest.approx(3600)}


def test_a_process_is_sampled_with_its_children_and_one_that_has_ended_is_not() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        found = {
            each.process: each for each in samples({"me": os.getpid()}, 1.0) if each.pid in (os.getpid(), child.pid)
        }
        child.kill()
        child.wait()
        assert list(samples({"gone": child.pid}, 1.0)) == []
    assert {each.pid for each in found.values()} == {os.getpid(), child.pid}
    assert found["me"].rss_mb > found["me"].uss_mb > 10


def test_somebody_who_looks_connects_anew_when_the_server_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer_part, "AGAIN_S", 0.01)
    asked = [threading.Event() for _ in range(3)]
    paths: list[str] = []

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            if len(paths) <= len(asked):
                asked[len(paths) - 1].set()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"event: wall\n\n" * 10)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        serving.start()
        with viewer_part.viewer(server.server_port):
            assert all(each.wait(60) for each in asked)
        server.shutdown()
        serving.join()
    assert set(paths) == {"/live"}
