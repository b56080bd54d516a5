"""A child for tests of ``in_child``: its job is a text, which it turns round, or that it sleeps, dies or says much."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import msgspec

from serving.common.child_job import do_job
from serving.errors import SluiceError

MUCH = 40 << 20


class TextJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    file: str = ""
    """Gets the child's process id."""

    def result(self) -> bytes:
        if self.file:
            Path(self.file).write_text(str(os.getpid()))
        match self.text:
            case "sleep":
                time.sleep(600)
            case "die":
                os.write(2, b"no way on\n")
                os._exit(3)
            case "much":
                return bytes(MUCH)
            case "no":
                raise SluiceError("there is no such thing")
            case "standing":
                memory = int(Path("/proc/self/oom_score_adj").read_text())
                return json.dumps([os.nice(0), memory]).encode()
        return self.text[::-1].encode()


if __name__ == "__main__":
    do_job(TextJob)
