"""``sluice dlq``: reads dead letters, and puts messages back once they can be analysed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
from kafka.errors import KafkaError

from operators.wire.schema import DeadLetter, to_json
from pipelines.commands import options
from pipelines.kafka.letter_topic import (
    TITLES,
    Letters,
    Mend,
    Place,
    letter_line,
    letter_text,
    opened_letters,
    original_bytes,
    remade,
)
from pipelines.kafka.sync_clients import frames_producer
from pipelines.process.clicks import SuggestingGroup
from pipelines.process.terminal import say
from serving.common.untrusted import json_line
from serving.errors import BadInput, Unavailable

log = logging.getLogger(__name__)

FILE = click.Path(path_type=Path, dir_okay=False)
places_argument = click.argument("places", nargs=-1, metavar="[PARTITION:OFFSET]…")
reason_option = click.option("--reason", metavar="CODE", help="Only letters with this reason, such as bad_header.")


@click.group(name="dlq", cls=SuggestingGroup)
def command() -> None:
    """Read dead letters, and put their messages back. A letter's place is written PARTITION:OFFSET."""


@command.command(name="list")
@options.installation
@reason_option
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="The newest N.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, without the messages' bytes.")
def list_(at: options.Installation, reason: str | None, limit: int, as_json: bool) -> None:
    """Show the newest letters, a line each."""
    with opened_letters(at.broker, at.topics(), at.timeout_s) as letters:
        shown = [(place, letter) for place, letter in letters.newest(limit) if reason in (None, letter.reason)]
        if not as_json and shown:
            say(TITLES, bold=True)
        for place, letter in shown:
            say(_as_json(place, letter) if as_json else letter_line(place, letter))
        if not shown and not as_json:
            say(f"topic {letters.topic} has no such letter")


@command.command()
@click.argument("place", metavar="PARTITION:OFFSET")
@options.installation
@click.option("--json", "as_json", is_flag=True, help="The letter as it is, its message's bytes included.")
@click.option("--image", "image_file", type=FILE, metavar="FILE", help="Write the message's bytes to FILE.")
@click.option("--header", "header_file", type=FILE, metavar="FILE", help="Write the frame's header to FILE.")
def show(
    place: str,
    at: options.Installation,
    as_json: bool,
    image_file: Path | None,
    header_file: Path | None,
) -> None:
    """Show one letter in full, and take it apart into files that `replay` can be given back."""
    wanted = Place.parse(place)
    with opened_letters(at.broker, at.topics(), at.timeout_s) as letters:
        letter = letters.at(wanted)
    if image_file is not None:
        image_file.write_bytes(original_bytes(letter))
    if header_file is not None:
        header_file.write_text(letter.headers.get("frame", "") + "\n")
    say(json_line(to_json(letter)) if as_json else letter_text(wanted, letter))


@command.command()
@places_argument
@options.installation
@reason_option
@click.option("--header", "header_file", type=FILE, metavar="FILE", help="JSON of a frame's header to use instead.")
@click.option("--image", "image_file", type=FILE, metavar="FILE", help="Bytes of a message to use instead.")
@click.option("--now", is_flag=True, help="Count the frame's age from now, so that it is not dropped as late.")
@click.option("--dry-run", is_flag=True, help="Say what would be put back, and put nothing back.")
def replay(
    places: tuple[str, ...],
    at: options.Installation,
    reason: str | None,
    header_file: Path | None,
    image_file: Path | None,
    now: bool,
    dry_run: bool,
) -> None:
    """Put the messages of letters back on the frames topic, mended where files are given.

    Give the places of letters, or --reason for all that have it. A message that would become a dead letter again is
    not put back; then the command ends with status 1.
    """
    mend = Mend(_read(header_file), _read(image_file), datetime.now(UTC) if now else None)
    if bool(places) == (reason is not None):
        raise BadInput("give either places of letters, as `sluice dlq list` shows them, or --reason")
    if len(places) != 1 and (mend.header is not None or mend.image is not None):
        raise BadInput("--header and --image mend one letter: give one place")
    wanted = [Place.parse(place) for place in places]
    with opened_letters(at.broker, at.topics(), at.timeout_s) as letters:
        found = ((place, letters.at(place)) for place in wanted) if wanted else letters.with_reason(reason or "")
        refused = _put_back(found, letters, mend, dry_run)
    if refused:
        raise Unavailable(f"{refused} messages were not put back")


def _put_back(found: Iterator[tuple[Place, DeadLetter]], letters: Letters, mend: Mend, dry_run: bool) -> int:
    """Put back what can be; returns how many could not."""
    done = refused = 0
    producer = None if dry_run else frames_producer(letters.settings, letters.timeout_s)
    try:
        for place, letter in found:
            try:
                message = remade(letter, letters.frames_topic, mend)
                if producer is not None:
                    headers = list(message.headers.items())
                    sent = producer.send(letters.frames_topic, value=message.value, key=message.key, headers=headers)
                    sent.get(letters.timeout_s)
            except BadInput as error:
                refused += 1
                log.warning("%s: not put back: %s", place, error)
            except KafkaError as error:
                raise Unavailable(f"{place}: {letters.frames_topic} does not take the message: {error}") from None
            else:
                done += 1
                say(f"{place}: {'would be put back' if dry_run else 'put back'} on {letters.frames_topic}")
    finally:
        if producer is not None:
            producer.close(timeout=5)
    if not done and not refused:
        say("no letter has this reason")
    return refused


def _read(file: Path | None) -> bytes | None:
    if file is None:
        return None
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadInput(f"{file}: cannot be read ({error.strerror})") from None


def _as_json(place: Place, letter: DeadLetter) -> str:
    fields = msgspec.to_builtins(msgspec.structs.replace(letter, value_base64=None))
    return json_line(msgspec.json.encode({"place": str(place), **fields}))
