"""A worker in a process of its own, to be killed.

``python -m tests.faults.worker_process BOOTSTRAP PREFIX WORK_S [TOPIC]``; with a topic it keeps there what it learns,
every half second.
"""

from __future__ import annotations

import asyncio
import logging
import sys

from pipelines import kafka_memory
from pipelines.settings import BrokerSettings
from pipelines.worker import WorkerConfig, run_worker
from tests.integration.notebook import Notebook
from tests.integration.worker_parts import names, query_name


async def _work(config: WorkerConfig, work_s: float, memory: str | None) -> None:
    notebook = Notebook(config.query, work_s)
    remembering = notebook.remembering(memory) if memory else None
    await run_worker(config, notebook, remembering=remembering, stop=asyncio.Event())


def main(bootstrap: str, prefix: str, work_s: str, memory: str | None = None) -> None:
    logging.basicConfig(level=logging.INFO)
    kafka_memory.EVERY_S = 0.5
    config = WorkerConfig(BrokerSettings((bootstrap,)), query_name(prefix), names(prefix), give_up_s=60)
    asyncio.run(_work(config, float(work_s), memory))


if __name__ == "__main__":
    main(*sys.argv[1:])
