"""The name of a server of ours in placements, told as an extension of its metadata, and what it has loaded. Pure."""

from __future__ import annotations

from serving.errors import Malformed
from serving.remote.protocol.inference_pb2 import RepositoryIndexResponse, ServerMetadataResponse
from serving.remote.protocol.parameters import WireLimits

EXTENSION = "sluice_process:"
"""Before the name of the process; others pass over extensions that they do not know."""
MOST_EXTENSIONS = 64
MOST_NETWORKS = 1024
"""Networks of an index."""
LOADED = "READY"


def extension(process: str) -> str:
    return f"{EXTENSION}{process}"


def read_process(said: ServerMetadataResponse) -> str:
    """The name of the process; empty where it tells none, or none that placements could have."""
    for each in said.extensions[:MOST_EXTENSIONS]:
        process = each.removeprefix(EXTENSION)
        if process != each and len(process) <= 256 and process.isprintable():
            return process
    return ""


def read_loaded(said: RepositoryIndexResponse, limits: WireLimits) -> frozenset[str]:
    """The networks that are loaded; Malformed for too many, or names that are none."""
    if len(said.models) > MOST_NETWORKS:
        raise Malformed(f"an index of {len(said.models)} networks, where {MOST_NETWORKS} are allowed")
    names = frozenset(each.name for each in said.models if each.state == LOADED)
    if any(not 0 < len(name) <= limits.text for name in names):
        raise Malformed(f"an index with a name that is not of 1 to {limits.text} characters")
    return names
