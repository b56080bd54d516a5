"""The page's messages: plain data, bounded whatever the messages of topics said, and JSON. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from operators.wire.schema import NodePlan, Object, Result, StreamPlan, StreamStatus, VariantSwitch
from operators.zones.layout import Layout
from pipelines.observe.live.sightings import ListedEvent, called
from pipelines.observe.live.stream_figures import MOST_OBJECTS, SLOT_S, SLOTS, Slot, StreamFigures
from pipelines.observe.live.words import CAUSES, WHO, explained, standing, who
from pipelines.report.explanation import detail_lines
from serving.common.untrusted import printable

MOST_NODES = 20
MOST_LABELS = 5
MOST_CHOOSING = 8
MOST_MODELS = 6
"""So many models of a node are drawn, those that ran for most frames; others are left out."""
MOST_SWITCHES = 5


def tile(stream: str, figures: StreamFigures, status: StreamStatus | None, now_s: float) -> dict[str, Any]:
    """A stream as one card of the wall."""
    slots, latest = figures.recent(now_s), figures.latest
    analysed, lost = sum(slot.analysed for slot in slots), _sum(slot.lost for slot in slots)
    all_lost = lost.total()
    stands = standing(status, latest is not None, now_s - figures.seen_s, all_lost / max(1, analysed + all_lost))
    labels = Counter(found.label for found in latest.objects[:MOST_OBJECTS]) if latest else Counter[str]()
    return {
        "stream": stream,
        **asdict(stands),
        "fps": figures.fps(now_s),
        "latency_ms": figures.latency_ms(now_s),
        "slo_ms": latest.plan.slo_ms if latest else None,
        "analysed": analysed,
        "late": sum(slot.late for slot in slots),
        "lost": [{"cause": cause, "words": CAUSES.get(cause, cause), "count": n} for cause, n in lost.most_common(6)],
        "who": _who(slots),
        "objects": len(latest.objects) if latest else 0,
        "labels": [[printable(label, 60), count] for label, count in labels.most_common(MOST_LABELS)],
    }


def detail(figures: StreamFigures, plan: StreamPlan | None, now_s: float) -> dict[str, Any]:
    """The contents of a stream's own page beside its tile and picture."""
    number, slots = int(now_s // SLOT_S), figures.recent(now_s, SLOTS)
    models = _sum(slot.models for slot in slots)
    return {
        "slot_s": SLOT_S,
        "slots": SLOTS,
        "timeline": [
            {"ago": number - slot.number, "who": _who([slot]), "analysed": slot.analysed, "lost": slot.lost.total()}
            for slot in slots
        ],
        "models": [[printable("@".join(filter(None, name)), 120), count] for name, count in models.most_common(6)],
        "variants": _variants(slots, number),
        "switches": [_switch(each) for each in plan.switches[-MOST_SWITCHES:]] if plan else [],
        "nodes": [_node(node) for node in plan.nodes[:MOST_NODES]] if plan else [],
        "events": [_event(event) for event in figures.sightings.latest],
        "explained": explained(figures.latest) if figures.latest else [],
    }


def drawn(layout: Layout) -> dict[str, Any]:
    """The zones and lines in the picture of a stream."""
    return {
        "zones": [{"name": zone.name, "points": zone.points} for zone in layout.zones],
        "lines": [{"name": line.name, "points": line.points} for line in layout.lines],
    }


def picture(result: Result, jpeg_base64: str) -> bytes:
    """A frame with what was found in it, encoded once for all who look."""
    shown = {
        "stream": result.stream,
        "seq": result.seq,
        "width": result.frame.width,
        "height": result.frame.height,
        "objects": [_object(found) for found in result.objects[:MOST_OBJECTS]],
        "jpeg": jpeg_base64,
    }
    return encoded(shown)


def encoded(view: object) -> bytes:
    return msgspec.json.encode(view)


def _node(node: NodePlan) -> dict[str, Any]:
    agreement, special = node.agreement, node.specialization
    account, why = special.processor_s if special else node.processor_s, special.reason if special else node.reason
    return {
        "node": node.node,
        "kind": node.kind,
        "phase": node.phase,
        "oracle": node.oracle,
        "share": node.shortcut_share,
        "wanted": agreement.wanted,
        "found": agreement.found,
        "low": agreement.sequential.low,
        "high": agreement.sequential.high,
        "audits": agreement.audits,
        "saved_s": account.saved if account else None,
        "reason": "; ".join(filter(None, [why, *detail_lines(node.detail)])) or None,
    }


def _variants(slots: Sequence[Slot], number: int) -> list[dict[str, Any]]:
    """For each node its models, and for how many frames each ran in each slot; ``number``: of the present slot."""
    total = Counter[tuple[str, str]]()
    for slot in slots:
        total.update(slot.variants)
    nodes = sorted({node for node, _ in total})[:MOST_CHOOSING]
    return [_ran(node, slots, number, [of for of, _ in total.most_common() if of[0] == node]) for node in nodes]


def _ran(node: str, slots: Sequence[Slot], number: int, chosen: Sequence[tuple[str, str]]) -> dict[str, Any]:
    drawn = chosen[:MOST_MODELS]
    ran = [(number - slot.number, [slot.variants[each] for each in drawn]) for slot in slots]
    return {
        "node": printable(node, 60),
        "models": [printable(model, 120) for _, model in drawn],
        "slots": [{"ago": ago, "frames": frames} for ago, frames in ran if any(frames)],
    }


def _switch(of: VariantSwitch) -> dict[str, Any]:
    """One switch of a stream's plan."""
    return {
        "node": printable(of.node, 60),
        "variant": printable(of.variant, 120),
        "at": of.at.timestamp(),
        "why": printable(of.why, 200),
    }


def _event(event: ListedEvent) -> dict[str, Any]:
    return {
        "number": event.number,
        "kind": event.kind,
        "track": event.track,
        "label": event.label,
        "place": event.place,
        "media_time_s": event.media_time_s,
        "at": event.at_s,
        "thumbnail": 0 if event.thumbnail is None else 2 if event.is_own else 1,  # changes where the picture does
    }


def _object(found: Object) -> dict[str, Any]:
    box, said = found.detection.bounding_box, found.attributes[-1] if found.attributes else None
    return {
        "box": [box.x_min, box.y_min, box.x_max, box.y_max],
        "label": called(found),
        "confidence": said.confidence if said else found.confidence,
        "track": found.track_id,
        "who": who(found),
    }


def _who(slots: Sequence[Slot]) -> dict[str, int]:
    counts = _sum(slot.answers for slot in slots)
    return {name: counts[name] for name in WHO if counts[name]}


def _sum(counters: Any) -> Counter[Any]:
    total = Counter[Any]()
    for counter in counters:
        total.update(counter)
    return total
