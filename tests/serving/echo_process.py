"""A process for tests of ``ChildProcess``: it does what the messages say."""

from __future__ import annotations

import os
import sys
import time

from serving.common.child_process import LENGTH, ParentProcess


def main() -> None:
    parent = ParentProcess(1000)
    while message := parent.receive():
        match message.decode().split():
            case ["die", word]:
                sys.exit(word)
            case ["sleep"]:
                time.sleep(600)
            case ["announce"]:
                os.write(parent._pipe.fileno(), LENGTH.pack(1 << 31))
            case ["environment"]:
                parent.send("\n".join(os.environ).encode())
            case _:
                print("noise of a library", flush=True)
                parent.send(message, memoryview(b"more"))


if __name__ == "__main__":
    main()
