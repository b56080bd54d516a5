"""``sluice backend``: serves networks to workers and clients on other machines."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import click

from pipelines.commands import options
from pipelines.commands.backend.doors import DEFAULT_GRPC, DEFAULT_HTTP, TlsPaths, doors
from pipelines.environment import catalogue
from pipelines.kafka.topics import TopicsConfig
from pipelines.observe.web.listen import read_secret
from pipelines.process.clicks import Number
from pipelines.settings import broker_settings, serve_secret, stalled_end_s
from serving.errors import BadInput
from serving.remote.protocol.parameters import WireLimits
from serving.remote.server.admission import ServerLimits

PEM = click.Path(path_type=Path)
LIMITS = ServerLimits()


@click.command(name="backend")
@click.option(
    "--listen", metavar="ADDRESS", default=DEFAULT_GRPC, show_default=True, help="For gRPC: HOST:PORT or unix:/PATH."
)
@click.option("--http", metavar="HOST:PORT", help=f"For HTTP too, with metrics and health, such as {DEFAULT_HTTP}.")
@click.option("--secret-file", type=PEM, metavar="FILE", help=options.FIRST_LINE.replace("Readers", "Clients"))
@click.option("--cert", type=PEM, metavar="FILE", help="This backend's certificate (PEM): TLS is spoken.")
@click.option("--key", type=PEM, metavar="FILE", help="Its private key.")
@click.option("--client-ca", type=PEM, metavar="FILE", help="Clients must show a certificate that these signed.")
@options.models
@click.option("--load", multiple=True, metavar="MODEL", help="Load it before the backend is ready; repeatable.")
@click.option(
    "--in-flight",
    type=click.IntRange(1, 10_000),
    metavar="N",
    default=LIMITS.in_flight,
    show_default=True,
    help="Requests that wait or are run; further ones are refused.",
)
@click.option(
    "--message-mb",
    type=click.IntRange(1, 1024),
    metavar="MIB",
    default=LIMITS.wire.message_bytes >> 20,
    show_default=True,
    help="The largest message, and the most of a request in shared memory.",
)
@click.option(
    "--drain",
    "drain_s",
    type=Number(0, 86_400),
    metavar="SECONDS",
    default=30.0,
    show_default=True,
    help="Time that requests in flight have at the end.",
)
@options.alive
@click.option("--broker", metavar="URL", help="Be part of the fleet that `sluice schedule` plans at this Kafka broker.")
@click.option("--prefix", metavar="PREFIX", help="Begins the names of its topics.  [default: sluice.]")
@click.option("--device", metavar="KIND", help="In the fleet: its kind of machine, as in --machines.  [default: cpu]")
@click.option("--name", metavar="NAME", help="In the fleet: a name for people.  [default: this machine's]")
def command(
    listen: str,
    http: str | None,
    secret_file: Path | None,
    cert: Path | None,
    key: Path | None,
    client_ca: Path | None,
    models: tuple[Path, ...],
    load: tuple[str, ...],
    in_flight: int,
    message_mb: int,
    drain_s: float,
    alive: Path | None,
    broker: str | None,
    prefix: str | None,
    device: str | None,
    name: str | None,
) -> None:
    """Serve the networks of the catalogue in the Open Inference Protocol (KServe v2), over gRPC.

    Workers name them as MODEL on BACKEND; clients of others work too. Networks are loaded when they are asked for.
    """
    secret = serve_secret() if secret_file is None else read_secret(secret_file)
    opened = doors(listen, http, TlsPaths(cert, key, client_ca), secret)
    known = catalogue(models)
    for model in load:
        known.find(model.partition("@")[0])
    fleet = None if broker is None else broker_settings(broker)
    if fleet is None and (prefix, device, name) != (None, None, None):
        raise BadInput("--prefix, --device and --name are for a fleet: give --broker too, or leave them out")
    topics = TopicsConfig().with_prefix(prefix)
    # gRPC and the engines, which a mistyped option need not wait for.
    from pipelines.commands.backend.process import BackendConfig, FleetConfig, serve_networks
    from pipelines.process.heap import few_arenas

    limits = replace(LIMITS, in_flight=in_flight, wire=WireLimits(message_bytes=message_mb << 20))
    few_arenas()
    joined = None if fleet is None else FleetConfig(fleet, topics, checked_device(device or "cpu"), name or "")
    asyncio.run(serve_networks(BackendConfig(opened, limits, load, drain_s, alive, joined, stalled_end_s()), known))


def checked_device(kind: str) -> str:
    """The kind of machine of a backend; raises BadInput for what is no name."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", kind):
        raise BadInput(f"--device {kind!r}: a name of small letters, digits, dots, underscores and hyphens")
    return kind
