"""A camera that goes away and comes back, as consumers of the topics see it."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from tests.faults.accounts import assert_accounted
from tests.faults.conftest import Site
from tests.real.process import until
from tests.real.rtsp import MakeServer

pytestmark = [pytest.mark.kafka, pytest.mark.rtsp]


def test_the_states_of_a_lost_camera_are_told_in_order_and_frames_resume(
    site: Site, clip: Path, rtsp_server: MakeServer
) -> None:
    camera = rtsp_server(clip, user="viewer", password="s3cret")
    query = site.query(camera.uri)
    with site.capture(query) as capture, site.worker(query) as worker:
        site.wait_for_results(capture, worker)
        camera.stop()
        until(lambda: "reconnecting" in states(site), "word of the lost camera", capture, worker)
        camera.start()
        until(lambda: states(site)[-1] == "running", "the camera's return", capture, worker)
        site.wait_for_results(capture, worker)
        site.finish(capture, worker)

    assert states(site) == ["starting", "running", "reconnecting", "running", "ended"]
    statuses = site.topics.statuses()
    assert all(status.reason and status.message for status in statuses if status.state == "reconnecting")
    assert len({status.run for status in statuses}) == 1
    assert_accounted(site.topics)
    told = capture.errors + worker.errors + repr(statuses)
    assert "s3cret" not in told


def states(site: Site) -> list[str]:
    """The stream's states, repetitions left out."""
    return [state for state, _ in groupby(status.state for status in site.topics.statuses())]
