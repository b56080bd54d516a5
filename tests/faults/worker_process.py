"""A worker in a process of its own, to be killed, stopped or frozen.

``python -m tests.faults.worker_process BOOTSTRAP PREFIX WORK_S [TOPIC [SESSION_S]]``; with a topic it keeps there what
it learns, every half second. SIGTERM ends it as it ends `sluice worker`.
"""

from __future__ import annotations

import asyncio
import logging
import sys

from pipelines.partition.duties import Duties
from pipelines.process.signals import stop_loop_on_signals
from pipelines.settings import BrokerSettings
from pipelines.worker import state_topic
from pipelines.worker.agent import SESSION_TIMEOUT_S
from pipelines.worker.query_lives import Roster
from pipelines.worker.worker import WorkerConfig, run_worker
from tests.integration.notebook import Notebook
from tests.integration.worker_parts import NoEvents, names, query_name


async def _work(config: WorkerConfig, prefix: str, work_s: float, state_name: str) -> None:
    notebook = Notebook(config.name, work_s)
    state = notebook.state(state_name) if state_name else None
    with stop_loop_on_signals() as stop:
        await run_worker(
            config, Roster([Duties(config.name, names(prefix), notebook, NoEvents(), state=state)]), stop=stop
        )


def main(
    bootstrap: str, prefix: str, work_s: str, state_name: str = "", session_s: str = str(SESSION_TIMEOUT_S)
) -> None:
    logging.basicConfig(level=logging.INFO)
    state_topic.SNAPSHOT_EVERY_S = 0.5
    config = WorkerConfig(
        BrokerSettings((bootstrap,)),
        query_name(prefix),
        names(prefix).frames,
        give_up_s=60,
        session_s=float(session_s),
    )
    asyncio.run(_work(config, prefix, float(work_s), state_name))


if __name__ == "__main__":
    main(*sys.argv[1:])
