"""Processor time of a call that asks nothing, beside that of a network."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import numpy as np
import psutil

from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.remote.client.address import BackendAddress
from serving.remote.client.server_channel import ServerChannel
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.parameters import WireLimits
from serving.remote.protocol.service import SERVER_LIVE
from serving.scheduling.limits import NetworkBounds
from serving.scheduling.requests import Urgency
from tests.integration.backend_process import backend_process

AT_ONCE = 8


def empty_call_s(folder: Path, calls: int) -> float:
    """Processor seconds of both sides of one call, eight under way at a time."""
    with backend_process(folder) as backend:
        server = psutil.Process(backend.command.process.pid)
        return asyncio.run(_called(backend.grpc, server, calls)) / calls


async def _called(address: str, server: psutil.Process, calls: int) -> float:
    backend = BackendAddress("a", (f"grpc://{address}",))
    channel = ServerChannel(f"ipv4:{address}", address, backend, WireLimits())

    async def several(count: int) -> None:
        for _ in range(count):
            await channel.ask(SERVER_LIVE, pb.ServerLiveRequest(), 30.0)

    await several(AT_ONCE)
    before = time.process_time() + sum(server.cpu_times()[:2])
    await asyncio.gather(*(several(calls // AT_ONCE) for _ in range(AT_ONCE)))
    after = time.process_time() + sum(server.cpu_times()[:2])
    await channel.close()
    return after - before


async def network_s(catalogue: Catalogue, model: str, runs: int) -> float:
    """Processor seconds of one picture through a network here, with one thread."""
    engine = Backend(catalogue, bounds=NetworkBounds(threads=1))
    await engine.start()
    try:
        size = engine.card(model).input
        batch = np.zeros((1, *size.item_shape), np.dtype(size.dtype))
        await engine.infer(model, batch, Urgency(0.0))
        before = time.process_time()
        for _ in range(runs):
            await engine.infer(model, batch, Urgency(0.0))
        return (time.process_time() - before) / runs
    finally:
        await engine.stop()
