"""A process of ours that has imported a module, and is forked for each process that is to run it.

A fork is there within milliseconds and shares its libraries' memory with the others; a process of its own would import
them again. ``python -m serving.common.template MODULE`` is the template, which starts no thread; a fork calls
``MODULE.main()``.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Final

Start = Callable[[int], "subprocess.Popen[bytes]"]
"""Starts the template; its argument is the file that becomes its input."""

_NUMBER: Final = struct.Struct("<i")
_FORK: Final = 0
"""Asks for another fork; the number of a fork asks whether it has ended, its negative that it be killed."""
_RUNNING: Final = 1 << 16
"""The answer for a fork that has not ended; otherwise it is its exit code."""
_ASKED_EVERY_S: Final = 0.005
_ANSWER_S: Final = 60.0
"""The longest that an answer takes, imports on a busy machine included."""
_PARENT_DEATH_SIGNAL: Final = 1

_templates: dict[str, ForkTemplate] = {}
_joining = threading.Lock()


class Fork:
    """A running fork, to be killed and waited for as a ``subprocess.Popen``; wait for each, or the template stays."""

    def __init__(self, module: str, files: tuple[int, int, int], start: Start) -> None:
        """``files`` become its input, output and errors. Raises OSError."""
        self._code: int | None = None
        self.pid = 0
        while not self.pid:
            is_new = self._join(module, start)
            try:
                self.pid = self._template.fork(files)
            except BaseException as error:
                self._leave()
                if is_new or not isinstance(error, ConnectionError):
                    raise  # else it was ending when it was joined: another one does it

    def kill(self) -> None:
        """End it at once, from any thread."""
        with suppress(OSError):  # without the template there is no fork
            self._template.ask(-self.pid)

    def wait(self) -> int:
        """Its exit code, negative for a signal, once it has ended."""
        while self._code is None:
            try:
                code = self._template.ask(self.pid)
            except OSError:
                code = -signal.SIGKILL
            if code == _RUNNING:
                time.sleep(_ASKED_EVERY_S)
            else:
                self._code = code
                self._leave()
        return self._code

    def _join(self, module: str, start: Start) -> bool:
        """Take the template of a module, or a new one; whether it is new."""
        with _joining:
            template = _templates.get(module)
            is_new = template is None or not template.alive
            if template is None or is_new:
                template = _templates[module] = ForkTemplate(start)
            self._template = template
            template.forks += 1
        return is_new

    def _leave(self) -> None:
        with _joining:
            self._template.forks -= 1
            if not self._template.forks:
                self._template.close()


class ForkTemplate:
    """The parent's end of a template. It ends with its last fork."""

    def __init__(self, start: Start) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(_ANSWER_S)
        with theirs:
            self._process = start(theirs.fileno())
        self._asking, self._answers = threading.Lock(), True
        self.forks = 0

    @property
    def alive(self) -> bool:
        """Whether it answers, as far as is known: one that is ending may not have ended."""
        return self._answers and self._process.poll() is None

    def fork(self, files: tuple[int, int, int]) -> int:
        """The number of a new process. Raises OSError."""
        answer = self.ask(_FORK, files)
        if answer < 0:
            raise OSError(-answer, os.strerror(-answer))
        return answer

    def ask(self, number: int, files: tuple[int, ...] = ()) -> int:
        """Raises OSError where it does not answer."""
        answer = b""
        try:
            with self._asking:
                socket.send_fds(self._socket, [_NUMBER.pack(number)], files)
                answer = self._socket.recv(_NUMBER.size)
        finally:
            self._answers = len(answer) == _NUMBER.size
        if not self._answers:
            raise ConnectionResetError("the template of a process is gone")
        return int(_NUMBER.unpack(answer)[0])

    def close(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()


def main() -> None:
    """Be the template, and in each fork what it is for."""
    parent = socket.socket(fileno=os.dup(0))
    module = import_module(sys.argv[1])
    gc.freeze()  # what is imported stays; looking at it for garbage would copy its pages
    _serve(parent)
    parent.close()
    module.main()


def _serve(parent: socket.socket) -> None:
    """Answer; returns in a fork alone."""
    while True:
        message, files, *_ = socket.recv_fds(parent, _NUMBER.size, 3)
        if len(message) < _NUMBER.size:
            os._exit(0)
        (number,) = _NUMBER.unpack(message)
        answer = _done(number, files)
        if answer == 0 and number == _FORK:
            return
        parent.sendall(_NUMBER.pack(answer))


def _done(number: int, files: list[int]) -> int:
    if number == _FORK:
        try:
            return os.fork() or _become(files)
        except OSError as error:
            return -(error.errno or 1)
        finally:
            for each in files:
                os.close(each)
    if number < 0:
        os.kill(-number, signal.SIGKILL)  # which is still the fork's number: nobody else waits for it
        return 0
    ended, status = os.waitpid(number, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else _RUNNING


def _become(files: list[int]) -> int:
    os.setpgid(0, 0)
    die_with = getattr(ctypes.CDLL(None), "prctl", None)  # elsewhere than on Linux a fork ends when its input closes
    if die_with is not None:
        die_with(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    for target, each in enumerate(files):
        os.dup2(each, target)
    return 0


if __name__ == "__main__":
    main()
