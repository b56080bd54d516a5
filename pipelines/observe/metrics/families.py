"""The names of all metrics, with their units and labels, as Prometheus wants them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LATENCIES_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 10.0, 30.0)
"""Upper bounds of the histograms' buckets."""
STREAM = "stream"
QUERY = "query"
SHORTCUT = (STREAM, "node", "kind")


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Metrics of one name. A counter's name is given without its ``_total``."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    help: str

    @property
    def sample(self) -> str:
        """The name in queries; a histogram's has ``_bucket``, ``_sum`` or ``_count`` behind it."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


CAPTURED = Family("sluice_frames_captured", "counter", (STREAM,), "Frames that capture has sampled.")
REPLACED = Family(
    "sluice_frames_replaced", "counter", (STREAM,), "Frames that lost their image to a newer one before it was taken."
)
STATE = Family(
    "sluice_stream_state",
    "gauge",
    (STREAM, "state", "reason"),
    "1 for the state that a source is in; reason is empty while all is well.",
)
FRAMES = Family(
    "sluice_frames", "counter", (STREAM, QUERY, "outcome", "cause"), "Results, by how the frame ended and why."
)
MISSING = Family(
    "sluice_frames_missing", "counter", (STREAM,), "Frames that capture has numbered and that never came: no result."
)
THINNED = Family(
    "sluice_frames_left_out",
    "counter",
    (STREAM, "cause"),
    "Frames that a worker does not look at, as the query asks for fewer: no result.",
)
LATE = Family("sluice_frames_late", "counter", (STREAM, QUERY), "Analysed frames whose result came after the deadline.")
LATENCY = Family(
    "sluice_frame_latency_seconds",
    "histogram",
    (STREAM, QUERY),
    "From capture until the result was ready; analysed frames.",
)
STAGE = Family("sluice_stage_seconds", "histogram", ("stage",), "Time that analysed frames spent in a stage.")
SLO = Family("sluice_slo_seconds", "gauge", (QUERY,), "The query's latency objective.")
DETECTIONS = Family(
    "sluice_detections", "counter", (STREAM, "provenance"), "Objects in results: found by the detector or propagated."
)
ANSWERS = Family(
    "sluice_answers",
    "counter",
    (STREAM, "provenance"),
    "Answers about objects, by who looked; track: nobody did, the pooled answer holds.",
)
AUDITS = Family(
    "sluice_audits", "counter", (*SHORTCUT, "agrees"), "Audits of shortcuts: whether the oracle says the same."
)
TRAININGS = Family(
    "sluice_trainings",
    "counter",
    (STREAM, "node", "used"),
    "Times that exits were made for a stream, and whether they serve.",
)
NETWORK_S = Family(
    "sluice_network_seconds", "counter", ("model", "variant"), "Time that a network had the device for its batches."
)
NETWORK_ITEMS = Family("sluice_network_items", "counter", ("model", "variant"), "Pictures that went through a network.")
NETWORK_BATCHES = Family("sluice_network_batches", "counter", ("model", "variant"), "Batches that a network ran.")
MODEL_MEMORY = Family(
    "sluice_model_memory_bytes", "gauge", ("model", "variant"), "Memory of a network that is on the device."
)
LAG = Family(
    "sluice_consumer_lag_messages", "gauge", ("partition",), "Frames of a partition that wait for this worker."
)
QUEUE_AGE = Family("sluice_queue_age_seconds", "gauge", (), "Age of the oldest frame that waits; 0 where none does.")
HEALTHY = Family("sluice_healthy", "gauge", (), "1 while the process makes progress, as /healthz says.")
NOTIFICATIONS = Family(
    "sluice_notifications", "counter", ("sink", "outcome"), "Notifications, by sink and by how their delivery ended."
)
SINK_WAITING = Family("sluice_sink_waiting_messages", "gauge", ("sink",), "Events and states that wait for a sink.")
BUDGET_SPENT = Family(
    "sluice_budget_spent", "counter", ("budget", "model", "unit"), "What this process has spent of a day's budget."
)
BUDGET_LEFT = Family("sluice_budget_left", "gauge", ("budget", "unit"), "What is left of a day's budget.")
LEFT_OUT = Family(
    "sluice_metrics_left_out",
    "counter",
    (),
    "Frames counted under the empty stream name, since more streams came than have metrics of their own.",
)
BUILD = Family("sluice_build_info", "gauge", ("version",), "1; the version of Sluice.")

AGREEMENT = Family("sluice_agreement_ratio", "gauge", SHORTCUT, "How often audited shortcuts agree with the oracle.")
AGREEMENT_LOW = Family(
    "sluice_agreement_low_ratio", "gauge", SHORTCUT, "Lower bound of the agreement, 95 %, valid at any time."
)
AGREEMENT_HIGH = Family("sluice_agreement_high_ratio", "gauge", SHORTCUT, "Upper bound of the agreement.")
WANTED = Family("sluice_agreement_wanted_ratio", "gauge", SHORTCUT, "The agreement that the query wants: accuracy.")
PHASE = Family(
    "sluice_shortcut_phase", "gauge", (*SHORTCUT, "phase"), "1 for the phase of a node's shortcuts on a stream."
)
SPARED_S = Family(
    "sluice_oracle_spared_seconds",
    "gauge",
    (STREAM, "node"),
    "Processor time that exits spared the oracle, or skipped frames the detector.",
)
SAVED_S = Family(
    "sluice_processor_saved_seconds",
    "gauge",
    (STREAM, "node"),
    "The same less all that it cost to have them; below 0 where they cost more than they spare.",
)

EVIDENCE_FRAMES = Family("sluice_evidence_frames", "counter", (), "Frames that were kept as evidence.")
EVIDENCE_LOST = Family(
    "sluice_evidence_lost", "counter", (), "Frames and causes that were not kept, because the disk is too slow."
)
EVIDENCE_PASSED_OVER = Family(
    "sluice_evidence_passed_over",
    "counter",
    (),
    "Tracks' events that were not kept, because recording had taken its share of the processor.",
)
EVIDENCE_BYTES = Family("sluice_evidence_bytes", "gauge", (), "What the folder of evidence takes on the disk.")
EVIDENCE_WORKS = Family("sluice_evidence_works", "gauge", (), "0 once recording has ended for the disk's sake, else 1.")

BACKEND_REQUESTS = Family(
    "sluice_backend_requests",
    "counter",
    ("model", "variant", "outcome"),
    "Requests for inference that a backend was sent, by how they ended.",
)
BACKEND_S = Family(
    "sluice_backend_request_seconds",
    "histogram",
    ("model", "variant"),
    "From the arrival of a request at a backend until its answer; answered ones.",
)
BACKEND_IN_FLIGHT = Family(
    "sluice_backend_requests_in_flight", "gauge", (), "Requests for inference that a backend has not answered yet."
)
BACKEND_PICTURES = Family("sluice_backend_pictures_in_flight", "gauge", (), "Pictures of these requests.")

FLEET_LEADS = Family("sluice_fleet_leads", "gauge", (), "1 for the scheduler that leads, 0 for others.")
FLEET_WANTED = Family("sluice_fleet_wanted_backends", "gauge", ("device",), "Backends that there should be.")
FLEET_HEEDED = Family(
    "sluice_fleet_wanted_backends_heeded",
    "gauge",
    ("device",),
    "The same, or the least more that an autoscaler heeds which ignores changes of a tenth.",
)
FLEET_RUNNING = Family("sluice_fleet_running_backends", "gauge", ("device",), "Backends that there are.")
FLEET_WORKERS = Family("sluice_fleet_wanted_workers", "gauge", (), "Workers that there should be.")
FLEET_EPOCH = Family("sluice_fleet_epoch", "gauge", (), "The number of the placement that holds.")
FLEET_SHED = Family("sluice_fleet_shed_items", "gauge", (), "Items each second that no backend is placed for.")

RECORDED = (
    *(CAPTURED, REPLACED, STATE, FRAMES, MISSING, THINNED, LATE, LATENCY, STAGE, SLO),
    *(DETECTIONS, ANSWERS, AUDITS, TRAININGS),
    *(NETWORK_S, NETWORK_ITEMS, NETWORK_BATCHES, MODEL_MEMORY, LAG, QUEUE_AGE, NOTIFICATIONS, SINK_WAITING),
    *(BUDGET_SPENT, BUDGET_LEFT, HEALTHY, LEFT_OUT, BUILD),
)
"""Kept up to date as things happen."""
STANDING = (AGREEMENT, AGREEMENT_LOW, AGREEMENT_HIGH, WANTED, PHASE, SPARED_S, SAVED_S)
EVIDENCE = (EVIDENCE_FRAMES, EVIDENCE_LOST, EVIDENCE_PASSED_OVER, EVIDENCE_BYTES, EVIDENCE_WORKS)
"""Both are looked up when Prometheus asks; evidence only where some is kept."""
BACKEND = (BACKEND_REQUESTS, BACKEND_S, BACKEND_IN_FLIGHT, BACKEND_PICTURES)
"""Shown by a backend alone."""
FLEET = (FLEET_LEADS, FLEET_WANTED, FLEET_HEEDED, FLEET_RUNNING, FLEET_WORKERS, FLEET_EPOCH, FLEET_SHED)
"""Shown by a scheduler alone."""
