"""The decoder process with a device that is not there and has the trouble that an environment variable names."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from operators.capture.live import child
from operators.capture.sources.hardware import Hardware
from tests.operators.capture.fake_device import SILENCE, FakeDevice

TROUBLE = "TROUBLE_OF_THE_DEVICE"


class Troubled(FakeDevice):
    def _frames(self, packet: Any, number: int) -> list[Any]:
        if trouble == "dies":
            os.kill(os.getpid(), signal.SIGSEGV)
        if trouble == "hangs":
            time.sleep(600)
        return super()._frames(packet, number)


def never(hardware: Hardware) -> None:
    if hardware.wanted != "none":
        time.sleep(600)


if __name__ == "__main__":
    trouble = os.environ.get(TROUBLE)
    Troubled(fails_from=5 if trouble == "fails" else SILENCE).install(setattr)
    if trouble == "never starts":
        child.choose_device = never
    child.main()
