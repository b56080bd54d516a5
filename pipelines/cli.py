"""The ``sluice`` command. Each subcommand is a module of ``pipelines.commands``, imported only when it is asked for."""

from __future__ import annotations

import errno
import importlib
import logging
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn, TextIO, cast

import click

from pipelines.process import extras
from pipelines.process.clicks import SuggestingGroup
from pipelines.process.terminal import SafeFormatter, SafeStream, claim_stdout, say, show_traceback
from serving.errors import SluiceError

COMMANDS = {
    "init": "Try a camera, and write a query file for it.",
    "run": "Analyse sources in one process and write results: no broker needed.",
    "submit": "Analyse recordings as a whole, and go on where that was broken off.",
    "capture": "Decode and sample cameras or files into the frames topic.",
    "worker": "Analyse the frames topic and publish results.",
    "adapt": "Train on what the workers of a query see, for all of them.",
    "schedule": "Say which backend serves what, and how many there should be.",
    "backend": "Serve networks to workers and clients on other machines.",
    "watch": "Show results as they arrive.",
    "serve": "Show all streams in a browser, live.",
    "forward": "Send events to MQTT and webhooks.",
    "explain": "Say why a frame was analysed as it was.",
    "replay": "Run recorded frames again, and say what is found otherwise.",
    "check": "Validate a query file.",
    "topics": "Create or describe the topics.",
    "dlq": "Read dead letters, and put their messages back.",
    "models": "List, pull and verify models.",
    "learn": "Learn from a recording what the recognisers of a query can do before their last layer.",
    "demo": "Analyse the clip of a street that ships, and leave an annotated video.",
    "doctor": "Say what this machine has for Sluice, and what is missing.",
    "health": "Exit 0 while a capture or worker process is alive and making progress.",
}

PACKAGES = ("sluice", "pipelines", "operators", "specialization", "cache_adapt", "learning", "serving")
"""Ours: what goes well in them is shown too."""

ELSEWHERE = {
    "backend": "backend.backend",
    "explain": "recorded.explain",
    "learn": "models.learn",
    "replay": "recorded.replay",
    "schedule": "backend.schedule",
    "submit": "recorded.submit",
}
"""Subcommands whose module is not called like them."""


class LazyGroup(SuggestingGroup):
    """Knows its subcommands by name and one line of help, so that ``--help`` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"pipelines.commands.{ELSEWHERE.get(name, name)}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks and all logs; anywhere on the line.")
@click.version_option(package_name="sluice-video", prog_name="sluice")
def sluice() -> None:
    """Streaming video analytics whose work follows the content of the stream."""


def main() -> None:
    """Entry point: errors meant for the user become one line on stderr and an exit status."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # as SIGINT: what is open is closed
    debug = len(arguments) < len(sys.argv) - 1
    for name in ("stdout", "stderr"):  # closed by who has started us: its place is taken before a file of ours gets it
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    arguments = claim_stdout(arguments)
    sys.stderr = cast(TextIO, SafeStream(sys.stderr))
    sys.excepthook = show_traceback
    _set_up_logging(debug)
    try:
        status = sluice.main(arguments, standalone_mode=False)
    except click.exceptions.Exit as exit_:
        status = exit_.exit_code
    except SystemExit as ended:
        # click's, where the reader of our output has left: nothing is wrong, and nothing more can be said
        status = 0 if isinstance(ended.__context__, BrokenPipeError) else ended.code
    except click.Abort:
        status = 130
    except click.exceptions.NoArgsIsHelpError as error:
        say(error.format_message(), err=True)
        status = 2
    except click.ClickException as error:
        _complain(_message(error))
        status = 2
    except SluiceError as error:
        if debug:
            raise
        _complain(str(error))
        status = error.exit_code
    except Exception as error:
        if debug:
            raise
        lacks = extras.remedy(error.name) if isinstance(error, ModuleNotFoundError) else None
        unexpected = f"unexpected {type(error).__name__}: {error} (run `sluice --debug …` for the traceback)"
        _complain(lacks or shortage(error) or unexpected)
        status = 1
    _leave(status if isinstance(status, int) else 0)


def _message(error: click.ClickException) -> str:
    """The line about a wrong use; where a word is missing or one too many, with where to read which there are."""
    said, ctx = error.format_message(), getattr(error, "ctx", None)
    wrong = isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter)
    if ctx is None or wrong or getattr(error, "possibilities", None) or isinstance(ctx.command, click.Group):
        return said
    return f"{said.rstrip('.')}: see `{ctx.command_path} --help`"


def _leave(status: int) -> NoReturn:
    """End at once: to take the interpreter apart costs .07 s, and aborts where a network has not returned."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def _set_up_logging(debug: bool) -> None:
    """Libraries show warnings; our own packages also show what goes well."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("sluice: %(message)s"))
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING, handlers=[handler])
    for package in PACKAGES if not debug else ():
        logging.getLogger(package).setLevel(logging.INFO)


def _complain(message: str) -> None:
    for line in message.rstrip("\n").split("\n"):
        say(f"sluice: error: {line}", err=True)


if __name__ == "__main__":
    main()


_SAID = ("failed to map segment", "Cannot allocate memory", "bad_alloc", "bad allocation")
"""By the loader of libraries, by the system and by C++, which have no kind of error for it in Python."""
_MORE = "give the process more memory (the container's limit, or `ulimit -v`)"


def shortage(error: Exception) -> str | None:
    """One line that says what is short, or too long; None where nothing is."""
    if "can't start new thread" in str(error):
        allow = "or allow it more threads (`ulimit -u`, pids)"
        return f"the machine refuses a further thread, mostly for want of memory: {_MORE}, {allow}"
    refused = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
    if refused or any(said in str(error) for said in _SAID):
        detail = f" ({error})" if str(error) else ""
        return f"the machine refuses memory{detail}: {_MORE}"
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{error.filename}: no file has so long a name"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"no space is left for {error.filename or 'the output'}: make some, or write elsewhere"
    return None
