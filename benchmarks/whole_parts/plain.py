"""What somebody writes without Sluice: every sampled frame through the detector, every object through the recogniser.

``python -m benchmarks.whole_parts.plain VIDEO FPS MODELS LIMIT`` prints the number of frames and of objects. The loop
uses PyAV and ONNX Runtime with the product's own decoding, tracker and crops, so that only its plan differs: no
executor, no transport, no shortcuts, no results. Each network runs on one thread, which takes the least processor time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import cv2
import onnxruntime as ort
from numpy.typing import NDArray

from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.detect.decoding import decode
from operators.detect.detections import one_per_place
from operators.frames.crops import cut
from operators.frames.frame import Box, Region
from operators.recognise.classifier import probabilities
from operators.track.tracker import KalmanTracker, TrackSettings
from pipelines.environment import catalogue
from serving import preprocess
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Entry
from serving.common.tensors import Image

DETECTOR, LEAST = "yolox-nano", 0.3
RECOGNISER, LEAST_AREA = "vehicle-type", 0.002

Network = Callable[[NDArray[Any]], list[NDArray[Any]]]


def main(arguments: Sequence[str]) -> None:
    """Analyse a video; see the module."""
    video, fps, models, limit = arguments
    cv2.setNumThreads(1)
    known = catalogue([Path(models)])
    detector, recogniser = known.find(DETECTOR), known.find(RECOGNISER)
    detect, recognise = _opened(detector), _opened(recogniser)
    tracker, last_s, frames, objects = KalmanTracker(TrackSettings()), 0.0, 0, 0
    with closing(open_source(SourceUri(video), Sampling("fps", float(fps)), None)) as source:
        for picture in islice(source.pictures(), int(limit)):
            found = _objects(detector.card, detect, picture.image)
            tracker.update(found, picture.media_time_s - last_s)
            last_s = picture.media_time_s
            _name(recogniser, recognise, picture.image, [each for each in found if each.box.area >= LEAST_AREA])
            frames, objects = frames + 1, objects + len(found)
    print(frames, objects)


def _opened(model: Entry) -> Network:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(model.path), options, providers=["CPUExecutionProvider"])
    (name,) = [each.name for each in session.get_inputs()]
    return lambda batch: session.run(None, {name: batch})


def _objects(card: ModelCard, network: Network, image: Image) -> list[Region]:
    batch, (placement,) = preprocess.batch(card.input, [image])
    (found,) = decode(card, network(batch), LEAST)
    found = one_per_place(found, card.classes)
    boxes = placement.to_image(found.boxes)
    labels = [card.classes[index] for index in found.classes]
    return [
        Region(0, "detect", Box(*map(float, box)), label, float(score))
        for box, label, score in zip(boxes, labels, found.scores, strict=True)
    ]


def _name(model: Entry, network: Network, image: Image, objects: Sequence[Region]) -> None:
    if objects:
        crops = [cut(image, each.box, model.card.input.margin).pixels for each in objects]
        batch, _ = preprocess.batch(model.card.input, crops)
        probabilities(model.card, network(batch)[0]).argmax(axis=1)


if __name__ == "__main__":
    main(sys.argv[1:])
