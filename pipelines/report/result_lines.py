"""A result as one line for people. Pure."""

from __future__ import annotations

from operators.wire.schema import Object, Result

SHOWN_OBJECTS = 6

TITLES = f"CAPTURED UTC  {'STREAM':20}  {'SEQ':>7}  {'LATENCY':>9}  {'OUTCOME':8}  OBJECTS"


def result_line(result: Result, instead: str | None = None) -> str:
    """Columns under ``TITLES``: of a frame that was not analysed the cause stands in place of its objects.

    ``instead`` stands there where it is given.
    """
    captured = result.frame.captured_at.strftime("%H:%M:%S.%f")[:-3]
    late = "?" if not result.plan.latency_known else "" if result.plan.deadline_met else "!"
    latency = f"{result.plan.latency_ms:.0f} ms{late:1}"
    found = objects_text(result.objects) if result.outcome == "analysed" else result.cause or ""
    what = found if instead is None else instead
    return f"{captured:12}  {result.stream:20}  {result.seq:7d}  {latency:>9}  {result.outcome:8}  {what}".rstrip()


def objects_text(objects: list[Object]) -> str:
    """The objects in short, such as ``truck#12001 0.93 oracle``; ``-`` where there are none."""
    if not objects:
        return "-"
    more = len(objects) - SHOWN_OBJECTS
    shown = [_object_text(item) for item in objects[:SHOWN_OBJECTS]]
    return ", ".join([*shown, f"{more} more"] if more > 0 else shown)


def _object_text(item: Object) -> str:
    name = item.label if item.track_id is None else f"{item.label}#{item.track_id}"
    source = f" {item.attributes[-1].provenance}" if item.attributes else ""
    return f"{name} {item.confidence:.2f}{source}"
