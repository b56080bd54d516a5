"""What was kept as evidence is shown as the recorder counts it."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from pipelines.observe.metrics import families
from pipelines.observe.metrics.families import EVIDENCE
from pipelines.observe.metrics.scrape import EvidenceCollector
from pipelines.observe.record.folder import Folder
from pipelines.observe.record.recorder import Recorder, recorders
from tests.operators.publish.messages import thing
from tests.pipelines.observe.forward.notes import event
from tests.pipelines.observe.record.scenes import play, recording


def shown(recorder: Recorder) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(EvidenceCollector(recorder.keeper))
    assert {(each.name, each.type, each.documentation) for each in registry.collect()} == {
        (each.name, each.kind, each.help) for each in EVIDENCE
    }
    return {each.sample: registry.get_sample_value(each.sample) or 0.0 for each in EVIDENCE}


def test_frames_and_bytes_are_those_of_the_folder(tmp_path: Path) -> None:
    with recorders(recording(tmp_path)) as (recorder,):
        assert set(shown(recorder).values()) == {0.0, 1.0}
        play(recorder, range(4), thing(7))
        recorder.event_found(event(seq=3, media_time_s=0.3))
    found = shown(recorder)
    blocks = sum(-(-file.stat().st_size // 4096) * 4096 for file in tmp_path.glob("*/*"))
    assert (found[families.EVIDENCE_FRAMES.sample], found[families.EVIDENCE_BYTES.sample]) == (4, blocks)
    assert found[families.EVIDENCE_WORKS.sample] == 1


def test_a_recording_that_has_ended_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Folder, *given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Folder, "add", full)
    with recorders(recording(tmp_path)) as (recorder,):
        play(recorder, range(4))
        recorder.event_found(event(seq=3, media_time_s=0.3))
    assert shown(recorder)[families.EVIDENCE_WORKS.sample] == 0
