"""The floor: the same frames through the same algorithms in a plain loop. No executor, no transport, no threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import cv2

from benchmarks.pipeline_parts.cost import Marks
from benchmarks.pipeline_parts.workload import models, query
from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.detect.motion import Background
from operators.frames.codec import decode_frame, encode_frame
from operators.frames.crops import cut
from operators.frames.frame import Frame, Region, frame_of
from operators.recognise.classifier import probabilities
from operators.track.tracker import KalmanTracker
from operators.wire.result import MOVING
from operators.wire.schema import FrameId
from pipelines.assembly.detect import motion_settings
from pipelines.assembly.node import track_settings
from pipelines.query.dag import compile_dag
from pipelines.query.nodes import DetectNode, RecogniseNode, TrackNode
from serving import preprocess
from serving.loading.opening import open_model


def floor_of_videos(clip: Path, frames: int) -> Marks:
    """Decode the clip, convert, detect, track, recognise."""
    return _through_nodes(clip, _decoded(clip, frames))


def floor_of_messages(clip: Path, frames: int) -> Marks:
    """The same, from the JPEGs that a worker gets."""
    messages = [encode_frame(frame) for frame in _decoded(clip, frames)]
    return _through_nodes(clip, (decode_frame(header, image) for header, image in messages))


def _decoded(clip: Path, frames: int) -> Iterator[Frame]:
    with closing(open_source(SourceUri(str(clip)), Sampling("all"), None)) as source:
        for seq, picture in zip(range(frames), source.pictures(), strict=False):
            yield frame_of(FrameId("floor", "", seq), picture.pixels, picture.media_time_s, datetime.now(UTC))


def _through_nodes(clip: Path, frames: Iterator[Frame]) -> Marks:
    cv2.setNumThreads(1)
    dag = compile_dag(query(clip, 1))
    detect, track, recognise = dag.nodes
    assert isinstance(detect.spec, DetectNode)
    assert isinstance(track.spec, TrackNode)
    assert isinstance(recognise.spec, RecogniseNode)
    background = Background(motion_settings(detect.spec))
    tracker = KalmanTracker(track_settings(track.spec))
    entry = models().find(recognise.models[0])
    network = open_model(entry, len(os.sched_getaffinity(0)))
    marks, last_s = Marks(), 0.0
    for frame in frames:
        boxes = background.boxes(frame.pixels, frame.media_time_s)
        found = [Region(0, detect.name, box, MOVING, fill, class_agnostic=True) for box, fill in boxes]
        tracked = track.select({detect.name: found})
        tracker.update(tracked, frame.media_time_s - last_s)
        last_s = frame.media_time_s
        looked_at = recognise.select({track.name: tracked})
        if looked_at:
            crops = [cut(frame.image, region.box, entry.card.input.margin).pixels for region in looked_at]
            batch, _ = preprocess.batch(entry.card.input, crops)
            probabilities(entry.card, network.run(batch)[0]).argmax(axis=1)
        marks.note()
    return marks
