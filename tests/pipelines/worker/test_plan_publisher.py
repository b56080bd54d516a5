from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest
from aiokafka.errors import TopicAuthorizationFailedError

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.state import Rule
from operators.audits.audit_report import Audited, node_plan
from operators.wire.schema import FrameId, NodePlan, StreamPlan, from_json, to_json
from pipelines.assembly.registry import Shortcuts
from pipelines.partition.duties import PlanPublisher
from pipelines.partition.publisher import Outgoing, Publisher
from serving.errors import Malformed
from tests.pipelines.planning.test_switches import result as switched
from tests.turns import turns, until


class Node:
    """A node with shortcuts: plans that the test makes up."""

    def __init__(self, **plans: NodePlan) -> None:
        self.found = plans
        self.asked = 0

    node = "type"

    def published(self, frame: FrameId) -> None:
        """Nothing waits for it."""

    def plans(self, gone: bool) -> dict[str, list[NodePlan]]:
        self.asked += 1
        return {stream: [plan] for stream, plan in self.found.items()}


class Topic:
    """A broker that stores what it is sent, and lets the test wait for it."""

    def __init__(self) -> None:
        self.stored: list[tuple[str, Any]] = []
        self.arrived = asyncio.Event()

    async def send(self, message: Outgoing) -> Awaitable[object]:
        self.stored.append(((message.key or b"").decode(), json.loads(message.value)))
        self.arrived.set()
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def until(self, count: int) -> None:
        async with asyncio.timeout(120):
            while len(self.stored) < count:
                self.arrived.clear()
                await self.arrived.wait()


def plan(answers: int = 0) -> NodePlan:
    audit = Audit(Rule(0.97))
    audit.by_oracle(answers)
    return node_plan(Audited("type", "variant", "big", ["small"]), audit)


def publishing(node: Node, every_s: float) -> tuple[Shortcuts, PlanPublisher]:
    shortcuts = Shortcuts("vehicles")
    shortcuts.add(node)  # type: ignore[arg-type]
    return shortcuts, PlanPublisher(shortcuts, "plans.v1", every_s)


async def test_each_stream_has_its_message_and_only_news_are_told() -> None:
    node, topic = Node(gate=plan(), yard=plan()), Topic()
    _, plans = publishing(node, every_s=0.01)
    async with plans.publishing(Publisher(topic.send)):
        await topic.until(2)
        asked = node.asked
        await until(lambda: node.asked > asked + 2)
        assert len(topic.stored) == 2
        node.found["yard"] = plan(answers=7)
        await topic.until(3)
    assert [key for key, _ in topic.stored] == ["vehicles/gate", "vehicles/yard", "vehicles/yard"]
    message = topic.stored[2][1]
    assert (message["schema"], message["stream"], message["query"]) == ("sluice.plan/1", "yard", "vehicles")
    assert message["nodes"] == [msgspec.to_builtins(plan(answers=7))]


async def test_a_change_of_phase_is_told_at_once() -> None:
    node, topic = Node(yard=plan()), Topic()
    shortcuts, plans = publishing(node, every_s=1000)
    async with plans.publishing(Publisher(topic.send)):
        await topic.until(1)
        node.found["yard"] = plan(answers=1)
        shortcuts.news.notify()
        await topic.until(2)
    assert len(topic.stored) == 2


async def test_a_switch_of_models_is_told_at_once_with_its_reason() -> None:
    node, topic = Node(cam=plan()), Topic()
    shortcuts, plans = publishing(node, every_s=1000)
    async with plans.publishing(Publisher(topic.send)):
        await topic.until(1)
        for seq in range(200):
            shortcuts.published(switched(seq, "large" if seq < 100 else "small"))
        await topic.until(2)
    assert topic.stored[0][1]["switches"] == []
    (switch,) = topic.stored[1][1]["switches"]
    assert (switch["node"], switch["before"], switch["variant"]) == ("type", "large", "small")
    assert switch["why"].startswith("why ")
    read = from_json(json.dumps(topic.stored[1][1]).encode(), StreamPlan)
    with pytest.raises(Malformed):
        from_json(to_json(msgspec.structs.replace(read, switches=[*read.switches] * 10_001)), StreamPlan)


async def test_a_stream_that_came_back_is_told_of_again() -> None:
    node, topic = Node(yard=plan()), Topic()
    shortcuts, plans = publishing(node, every_s=1000)
    async with plans.publishing(Publisher(topic.send)):
        for count, found in ((1, {"yard": plan()}), (1, {}), (2, {"yard": plan()})):
            node.found = found
            shortcuts.news.notify()
            await topic.until(count)
            await turns()
    assert [key for key, _ in topic.stored] == ["vehicles/yard", "vehicles/yard"]


async def test_a_topic_that_may_not_be_written_to_is_told_of_and_disturbs_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def refuse(message: Outgoing) -> Awaitable[object]:
        raise TopicAuthorizationFailedError

    _, plans = publishing(Node(yard=plan()), every_s=0.01)
    async with plans.publishing(Publisher(refuse)):
        await until(lambda: bool(caplog.records))
        await turns()
    assert [record.message[:44] for record in caplog.records] == ["plans are not published: cannot publish to p"]


@pytest.mark.parametrize(("nodes", "needed"), [([], False), ([Node()], True)])
def test_without_shortcuts_there_is_nothing_to_publish(nodes: list[Node], needed: bool) -> None:
    shortcuts = Shortcuts("vehicles")
    for node in nodes:
        shortcuts.add(node)  # type: ignore[arg-type]
    assert PlanPublisher(shortcuts, "plans.v1").needed == needed
