"""One worker process: a query's executor on the frames topic, with all that is published beside its results."""

from __future__ import annotations

from operators.publish.lifecycles import Lifecycles
from pipelines.assembly.parts import Setting, assembled
from pipelines.kafka.topics import TopicsConfig
from pipelines.partition.stream_state import StateConfig
from pipelines.process.signals import stop_loop_on_signals, stop_when_threads_are_lost
from pipelines.query.dag import Dag
from pipelines.query.query_file import Query
from pipelines.worker.plan_publisher import PlanPublisher
from pipelines.worker.worker import WorkerConfig, run_worker
from serving.catalogue.lookup import Catalogue
from specialization.trainer.trainer import ProcessSpecializer


async def work(config: WorkerConfig, query: Query, dag: Dag, known: Catalogue, topics: TopicsConfig) -> None:
    """Analyse the frames topic until a signal comes; ``dag`` is the query's, ``topics`` where its messages go."""
    # Audits that wait at the end are given up: nobody would hear what they find.
    setting = Setting(ProcessSpecializer(), observers=config.observers)
    async with assembled(query, dag, known, setting) as parts:
        with stop_loop_on_signals() as stop:
            events = query.publish.events
            derive = Lifecycles(events.update_every_s, events.end_after_s)
            plans = PlanPublisher(parts.shortcuts, topics.name("plans"))
            state = StateConfig(topics.name("state"), parts.shortcuts.nodes, parts.shortcuts.news.listen())
            async with stop_when_threads_are_lost(stop):
                await run_worker(config, parts.executor, derive, plans, state, stop=stop)
