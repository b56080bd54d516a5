"""A worker in a process of its own, to be killed: ``python -m tests.faults.worker_process BOOTSTRAP PREFIX WORK_S``."""

from __future__ import annotations

import asyncio
import logging
import sys

from pipelines.settings import BrokerSettings
from pipelines.worker import WorkerConfig, run_worker
from tests.integration.worker_parts import CountingAnalyser, names, query_name


async def _work(config: WorkerConfig, work_s: float) -> None:
    await run_worker(config, CountingAnalyser(config.query, work_s), stop=asyncio.Event())


def main(bootstrap: str, prefix: str, work_s: str) -> None:
    logging.basicConfig(level=logging.INFO)
    config = WorkerConfig(BrokerSettings((bootstrap,)), query_name(prefix), names(prefix), give_up_s=60)
    asyncio.run(_work(config, float(work_s)))


if __name__ == "__main__":
    main(*sys.argv[1:])
