"""Pictures of the live page, from a real run: ``python -m tests.real.page_pictures --clips DIR --out docs/images``.

Four RTSP cameras play clips of the generated street (``--clips``; missing ones are made), ``sluice run --serve``
analyses them, and a headless Chromium looks at the page by day, by night, and on a phone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import cv2
import numpy as np

from tests.real.browser import browsing, look
from tests.real.ports import free_port
from tests.real.process import Sluice, until
from tests.real.rtsp import RtspServer

CAMERAS = {"gate": 3, "yard": 4, "market": 8, "harbour": 12}
"""Streams, and the seed of each one's street."""
QUERY = """\
version: 1
name: street
slo_ms: 1000
accuracy: 0.85
streams:
{streams}
nodes:
  - {{name: detect, task: detect, model: motion}}
  - {{name: track, task: track, input: detect}}
  - name: type
    task: recognise
    input: "track[area >= 0.006]"
    model: [vehicle-type-compact, vehicle-type]
    attribute: vehicle_type
"""
SHOTS = {
    "page-wall": ("#/", 1400, 1100, "light"),
    "page-stream-dark": ("#/stream/{stream}", 1400, 1180, "dark"),
    "page-phone": ("#/", 390, 760, "light"),
}


def main() -> None:
    """Parse the command line and take the pictures."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.page_pictures", description=__doc__)
    parser.add_argument("--clips", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--warm-up-s", type=float, default=240.0)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    given.clips.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        cameras = {name: stack.enter_context(RtspServer(clip(given.clips, name))) for name in CAMERAS}
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        lines = [f'  - {{id: {name}, uri: "{camera.uri}", sample: {{fps: 2}}}}' for name, camera in cameras.items()]
        (folder / "street.yaml").write_text(QUERY.format(streams="\n".join(lines)))
        address = f"127.0.0.1:{free_port()}"
        run = stack.enter_context(Sluice(folder, "run", folder / "street.yaml", "--serve", "--listen", address))
        until(lambda: "serving" in run.errors, "the page", run)
        time.sleep(given.warm_up_s)
        take(f"http://{address}/", given.out)


def clip(folder: Path, name: str) -> Path:
    """A clip of half a minute."""
    path = folder / f"{name}.mp4"
    if not path.exists():
        options = {"seed": CAMERAS[name], "duration-s": 30, "fps": 12, "width": 960, "height": 540}
        arguments = [word for option, value in options.items() for word in (f"--{option}", str(value))]
        command = [sys.executable, "-m", "datasets.street", "--out", str(path), "--quality", "24", *arguments]
        subprocess.run(command, check=True)
    return path


def take(page: str, out: Path) -> None:
    """All pictures."""
    with browsing() as driver:
        for name, (place, width, height, theme) in SHOTS.items():
            look(driver, width, height, theme)
            driver.get("about:blank")
            driver.get(page + place.format(stream="market"))
            time.sleep(8)
            taken = cv2.imdecode(np.frombuffer(driver.get_screenshot_as_png(), np.uint8), cv2.IMREAD_COLOR)
            cv2.imwrite(str(out / f"{name}.jpg"), taken, [cv2.IMWRITE_JPEG_QUALITY, 86])


if __name__ == "__main__":
    main()
