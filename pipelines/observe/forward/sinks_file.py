"""The file of sinks: where events go, which of them, and where the secrets for that are. Documented in
``docs/how-to/forward-events.md``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args, get_type_hints
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from operators.extensions import Extension, extended, kinds
from operators.wire.events import STATE
from operators.wire.schema import Counts, Event, Notification
from pipelines.query.nodes import Names
from pipelines.query.points import Patterns
from pipelines.query.secret_places import SecretPlace
from pipelines.query.yaml_file import read_yaml
from serving.common.explain import Problem, Strict, choices, validate
from serving.errors import BadInput

MOST_SINKS = 16
MOST_SNAPSHOT_WIDTH = 1920
KINDS: tuple[str, ...] = (*(kind for each in (Event, Counts) for kind in get_args(get_type_hints(each)["type"])), STATE)
"""Kinds of notifications: the types of events, ``count`` and ``state``."""
HOUR_S = 3600.0

_FOLDERS = r"^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+){0,4}$"


def _place(value: Any) -> Any:
    if not isinstance(value, dict | SecretPlace):
        raise ValueError("a secret does not belong in this file: write {env: NAME} or {file: PATH}")
    return value


Secret = Annotated[SecretPlace, BeforeValidator(_place)]


def _kind(value: Any) -> Any:
    if isinstance(value, str) and value not in KINDS:
        raise ValueError(f"is {value!r}{choices(value, KINDS)}")
    return value


Kinds = Annotated[tuple[Annotated[str, BeforeValidator(_kind)], ...], Field(min_length=1)]


class SnapshotSpec(Strict):
    """Send the frame that caused an event."""

    max_width: int = Field(default=640, ge=64, le=MOST_SNAPSHOT_WIDTH)
    """Larger frames are scaled down to this width, pixels."""


class SinkSpec(Strict):
    """The keys of all sinks."""

    name: str = Field(pattern=r"^[a-z0-9-]{1,50}$")
    """Part of the consumer group, which remembers what was sent: a new name begins with what happens from then on."""
    kinds: Kinds | None = None
    """Which events, by type, ``count`` and ``state``. Default: all."""
    streams: Patterns | None = None
    """Which streams; ``*`` stands for anything. Default: all."""
    labels: Names | None = None
    """Events of objects with one of these labels or answers. Default: all."""
    zones: Names | None = None
    """Events at one of these zones or lines. Default: all, and those of no zone."""
    snapshot: SnapshotSpec | None = None
    """Send a picture with each event. Default: none."""
    max_age_s: float = Field(default=HOUR_S, gt=0, le=7 * 24 * HOUR_S)
    """A notification that could not be delivered for so long is given up."""
    cafile: Path | None = None
    """Certificates to trust (PEM) in place of the system's."""

    def wants(self, notice: Notification) -> bool:
        """Whether the sink wants this one: the right kind, stream and, of an event, label and zone."""
        event = notice.event
        return (
            (self.kinds is None or notice.kind in self.kinds)
            and (self.streams is None or any(fnmatchcase(notice.stream, pattern) for pattern in self.streams))
            and (event is None or self.labels is None or not set(self.labels).isdisjoint(_words(event)))
            and (event is None or self.zones is None or not {event.zone, event.line}.isdisjoint(self.zones))
        )


def _words(event: Event) -> list[str]:
    """The words for an object: its label, and the answers of recognisers."""
    return [event.label, *(answer.label for answer in event.attributes)]


def split_url(text: str, schemes: tuple[str, ...]) -> SplitResult:
    """Take an address apart; raises ValueError, which never quotes it: it may hold a secret."""
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        raise ValueError("is no address") from None
    known = " or ".join(f"{scheme}://" for scheme in schemes)
    if url.scheme not in schemes:
        raise ValueError(f"should begin with {known}")
    if url.username is not None or url.password is not None or "@" in url.netloc:
        raise ValueError("must not carry a user or password")
    if not url.hostname or port == 0 or not re.fullmatch(r"[\x21-\x7e]{1,2000}", text):
        raise ValueError(f"should be an address such as {schemes[0]}://host:port")
    return url


def _mqtt_url(text: str) -> str:
    url = split_url(text, ("mqtts", "mqtt"))
    if url.path.strip("/") or url.query or url.fragment:
        raise ValueError("should be mqtts://HOST:PORT and nothing more; topic_prefix says where to publish")
    return text


class MqttSpec(SinkSpec):
    """An MQTT broker."""

    to: Literal["mqtt"]
    """The kind of sink."""
    url: Annotated[str, AfterValidator(_mqtt_url)]
    """``mqtts://HOST[:8883]`` with TLS, or ``mqtt://HOST[:1883]``."""
    username: str | None = Field(default=None, min_length=1, max_length=1000)
    """The user, where the broker wants one."""
    password: Secret | None = None
    """The user's password."""
    topic_prefix: str = Field(default="sluice", pattern=_FOLDERS)
    """Begins all topics."""
    home_assistant: str | None = Field(default=None, pattern=_FOLDERS)
    """Announce streams to Home Assistant under this prefix, by default ``homeassistant`` there. Default: do not."""

    @model_validator(mode="after")
    def _user(self) -> MqttSpec:
        if self.password is not None and self.username is None:
            raise ValueError("password: there is no username")
        return self


def webhook_url(text: str) -> str:
    """Check the address of a webhook; raises ValueError."""
    split_url(text, ("https", "http"))
    return text


def _url_or_place(value: Any) -> Any:
    return value if isinstance(value, dict | SecretPlace) else webhook_url(str(value))


class WebhookSpec(SinkSpec):
    """A web server that takes POST requests."""

    to: Literal["webhook"]
    """The kind of sink."""
    url: Annotated[SecretPlace | str, BeforeValidator(_url_or_place)]
    """``https://…`` or ``http://…``; or its place, where the address is itself a secret."""
    secret: Secret | None = None
    """Signs what is sent (HMAC-SHA-256). Default: not signed."""
    timeout_s: float = Field(default=10.0, gt=0, le=60)
    """For one attempt, from connecting to the end of the answer."""


class OwnSinkSpec(Extension, SinkSpec):
    """A sink that is a class of the user's."""

    group = "sluice.sinks"
    methods: ClassVar[Mapping[str, str]] = {"deliver": "async def", "run": "async def", "restore": "def"}
    to: str


Sinks = Annotated[
    Annotated[MqttSpec, Tag("mqtt")] | Annotated[WebhookSpec, Tag("webhook")],
    Discriminator("to"),
]


class SinksFile(Strict):
    """Where events go."""

    version: Literal[1]
    """The version of this file's format."""
    sinks: tuple[Sinks, ...] = Field(min_length=1, max_length=MOST_SINKS)
    """In any order; each works for itself."""


def load_sinks(path: Path) -> SinksFile:
    """Read a file of sinks; raises BadInput with a line for each problem."""
    document = read_yaml(path)
    if document.root is None:
        empty = (Problem((), "is empty: docs/how-to/forward-events.md says what belongs into it"),)
        raise BadInput(document.explain(document.problems or empty))
    found, problems = validate(_model(document.data), document.data)
    problems = [*document.problems, *problems, *_repeated(found)]
    if found is None or problems:
        raise BadInput(document.explain(problems))
    return found


def _model(data: Any) -> type[SinksFile]:
    """With the installed kinds of sinks, where the file names one that is not ours."""
    ours = {"mqtt": MqttSpec, "webhook": WebhookSpec}
    sinks = data.get("sinks") if isinstance(data, dict) else None
    named = [each.get("to") for each in (sinks if isinstance(sinks, list) else ()) if isinstance(each, dict)]
    found = kinds(OwnSinkSpec, "to", named, ours)
    return SinksFile if found.keys() == ours.keys() else extended(SinksFile, "sinks", "to", found)


def _repeated(found: SinksFile | None) -> list[Problem]:
    names = [sink.name for sink in found.sinks] if found else []
    return [
        Problem(("sinks", place, "name"), f"{name!r} is the name of sinks[{names.index(name)}] too")
        for place, name in enumerate(names)
        if names.index(name) < place
    ]
