"""The bounds, times and numbers that the documentation gives are those of the code."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from cache_adapt.adaptation import jobs, send_rate, triggers, versions, window, windows
from cache_adapt.audit import confidence
from cache_adapt.learned import artefact
from learning import budget
from operators import background as backlog
from operators import inference
from operators.audits import streams
from operators.capture import outlet
from operators.capture.live import stall
from operators.capture.picture import FREEZE_PICTURES
from operators.capture.sources.media_clock import MAX_BROADCAST_GAP_S
from operators.capture.spec import CaptureSpec
from operators.detect import decoding
from operators.frames import planes
from operators.frames.codec import (
    DECODED_BYTES_PER_PIXEL,
    DECODING_BYTES_PER_PIXEL,
    JPEG_QUALITY,
    KEPT_QUALITY,
    MAX_ASPECT,
    MAX_HEADER_BYTES,
    MAX_PIXELS,
    MAX_SCANNED_PIXELS,
    MAX_SCANS,
)
from operators.publish import track_events, zone_events
from operators.publish.kafka_frames import MAX_STATUSES
from operators.recognise import enrolment
from operators.recognise.audits import trials
from operators.recognise.exits import held_looks
from operators.recognise.objects import look_rule, pool
from operators.transports.record_sets import MAX_SET_BYTES
from operators.wire import adaptation, bounds, fleet
from pipelines.commands import capture, init, options
from pipelines.commands.backend import backend, doors
from pipelines.commands.recorded import replay
from pipelines.execute import ahead, moments
from pipelines.execute.lane import Lane
from pipelines.health import heartbeat, liveness
from pipelines.kafka import results
from pipelines.kafka.topics import FramesTopic
from pipelines.measure import labelled_crops
from pipelines.measure.stand_ins.shown import LEARNT
from pipelines.observe.forward import (
    delivery,
    direct,
    forwarder,
    frame_finder,
    in_order,
    mqtt_sink,
    reader,
    sinks_file,
    webhook,
)
from pipelines.observe.live import board, broker_feed, cards, pictures, sightings, stream_figures, viewers
from pipelines.observe.record import crops, layout, recorder
from pipelines.observe.record import window as record_window
from pipelines.observe.web import listen, server
from pipelines.observe.web.listen import LEAST_SECRET
from pipelines.partition import dead_letters, duties, resume, shared_parts
from pipelines.planning import node_times, replanning
from pipelines.query import points
from pipelines.query.nodes import MOST_MODELS
from pipelines.query.query_file import DEFAULT_MAX_WIDTH
from pipelines.query.yaml_file import MAX_BYTES as MAX_QUERY_BYTES
from pipelines.report.tracks import REMEMBERED_TRACKS
from pipelines.run import captures, feed, first_look, run_query
from pipelines.run.jobs import chunk_taker, chunks, live_load, output, parquet_output, pending
from pipelines.run.learn import taken
from pipelines.run.replay import comparison, match
from pipelines.schedule import cheapest_models, fleet_link
from pipelines.settings import BYTES_PER_STREAM, DECODED_SHARE, LEAST_STREAMS, StreamBounds
from pipelines.worker import agent, state_topic, worker
from pipelines.worker.adapt import link, process
from serving.common import retrying, untrusted
from serving.common.retrying import Backoff
from serving.loading import proofs, rectangles
from serving.placement import packing
from serving.remote import breaker
from serving.remote.client import calls, region_ring, server_channel
from serving.remote.endpoint import caller
from serving.remote.protocol import asked
from serving.remote.protocol.parameters import WireLimits
from serving.remote.protocol.tensors import MOST_ELEMENTS
from serving.remote.server import grpc_server
from serving.remote.server.admission import ServerLimits
from serving.remote.server.json_messages import MOST_VALUES
from serving.remote.server.served_networks import LARGEST_RECTANGLE
from serving.scheduling.limits import NetworkBounds
from serving.scheduling.schedule import BACKGROUND_S
from specialization.kit import features, head, recogniser

DOCS = Path(__file__).parents[1] / "docs"
QUEUED = inspect.signature(Lane).parameters["depth"].default
CAMERA = {field: CaptureSpec.__dataclass_fields__[field].default for field in ("stall_timeout_s", "freeze_timeout_s")}
(BUFFER_MB,) = [option.default for option in capture.command.params if option.name == "buffer_mb"]
FRAMES = FramesTopic()
LIMITS = NetworkBounds()
BACKEND = ServerLimits()
(DRAIN_S,) = [option.default for option in backend.command.params if option.name == "drain_s"]
COUNTS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def kib(size_bytes: int) -> str:
    return f"{size_bytes / 2**10:g} KiB"


def mib(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:g} MiB"


def gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:g} GiB"


SAID = {
    "overload.md": [
        f"a live source's outlet (also `sluice capture --realtime`) | {outlet.MOST_WAITING} frames |",
        f"on the way from capture to result | {feed.FRAMES_IN_FLIGHT} frames of a stream, "
        f"{mib(feed.MAX_BYTES)} of all |",
        f"| {ahead.FRAMES_AHEAD} frames or {mib(ahead.BYTES_AHEAD)} of a stream | a file waits |",
        f"in `sluice run` a stream has at most {feed.FRAMES_IN_FLIGHT} frames under way, so its queue of {QUEUED} does",
        f"`--buffer-mb`, default {BUFFER_MB} |",
        f"| an hour and {gib(FRAMES.retention_bytes or 0)} per partition; `publish.topics.frames` |",
        f"window | about {shared_parts.WINDOW} frames, {mib(shared_parts.WINDOW_BYTES)} |",
        f"| worker: a stream's queue | {QUEUED} frames |",
    ],
    "how-to/serve-networks.md": [
        f"`HOST:PORT` ({doors.DEFAULT_GRPC})",
        f"requests that wait or are run ({BACKEND.in_flight})",
        f"the largest message ({mib(BACKEND.wire.message_bytes)})",
        f"when it is asked to end ({DRAIN_S:.0f})",
        f"at most {'sixteen' if LARGEST_RECTANGLE == 16 else '?'} times the pixels of its own input",
        f"{'ten' if grpc_server.SWEPT_S == 10 else '?'}\nseconds; regions of our clients",
        f"{'a second' if asked.WITHOUT_S == 1 else '?'}\nwithout it",
        f"of {LEAST_SECRET} characters or more",
    ],
    "memory.md": [
        f"prefixes of a network | *256 KiB; {fleet.MOST_SESSIONS}; {fleet.MOST_INSTEAD}; {fleet.MOST_PREFIXES}*",
        f"that a worker reads ahead, each with {pending.BESIDE_BYTES >> 10} KiB more | *{mib(pending.MOST_BYTES)}*",
        f"*{chunks.MOST_RECORDINGS:,}, {parquet_output.ROWS}, {output.MOST_LEAD}*",
        f"of the objects that are looked at | *{mib(inference.INPUT_BYTES)}* |",
        f"| requests for inference in flight | {BACKEND.in_flight} |",
        f"| calls in flight, of other kinds | *{grpc_server.BESIDE} more* |",
        f"| connections over gRPC | *{BACKEND.connections}* |",
        f"| {mib(BACKEND.wire.message_bytes)} | `--message-mb` |",
        f"*{BACKEND.input_bytes // BACKEND.wire.message_bytes} times the largest message*",
        f"| networks and variants that are described and run | *{BACKEND.networks}* |",
        f"| regions of shared memory that are registered | *{BACKEND.regions}* |",
        f"lists among them | *{f'{MOST_ELEMENTS:,}; {MOST_VALUES:,}'.replace(',', ' ')}* |",
        f"| a {'quarter' if DECODED_SHARE == 4 else '?'} of the memory that the process may have",
        f"and {COUNTS[MAX_ASPECT]} times as many pixels in height",
        f"the largest `max_width` in it, or {DEFAULT_MAX_WIDTH} |",
        f"| size of any picture that is decoded | *{MAX_PIXELS // 10**6} megapixels* |",
        f"| scans of one JPEG | *{MAX_SCANS}*, and *{MAX_SCANNED_PIXELS // 10**6} megapixels* times scans |",
        f"whose tables a thread keeps | *{planes.MOST_CONVERSIONS}* |",
        f"| *{COUNTS[feed.FRAMES_IN_FLIGHT]} for each stream, {mib(feed.MAX_BYTES)} in all* |",
        f"| *{ahead.FRAMES_AHEAD} frames or {mib(ahead.BYTES_AHEAD)}* of such a stream; of all what decoded frames may "
        f"take, at least *{mib(feed.MAX_BYTES)}* |",
        f"| one for each {mib(BYTES_PER_STREAM)} of the memory, at least {LEAST_STREAMS} |",
        f"| time without a frame | {StreamBounds().silent_s:.0f} s |",
        f"| *{mib(state_topic.MAX_SNAPSHOT_BYTES)} for each snapshot, {mib(state_topic.MAX_BYTES)} in all* |",
        f"tail of `results.v1` | *{resume.MAX_ANSWERED:,}* |",
        f"| *{resume.RECENT_RESULTS} for each stream, or those of `publish.events.end_after_s` and twice `settle_s` up "
        f"to {resume.MOST_RECENT}; {mib(resume.MAX_RECENT_BYTES)} in all* |",
        f"| {BUFFER_MB} MB over all streams | `--buffer-mb` |",
        f"| changes of streams' states that wait for the broker | *{MAX_STATUSES}* |",
        f"read topics | *{mib(MAX_SET_BYTES)}* |",
        f"| *about {shared_parts.WINDOW}, {mib(shared_parts.WINDOW_BYTES)}* |",
        f"| waiting frames of a stream | *{QUEUED}* |",
        f"| query, and what `--source-file` names | *{kib(MAX_QUERY_BYTES)}, {options.SOURCES_CHARS:,} characters* |",
        f"| shapes of pictures in which a detector is loaded, beside its own | *{rectangles.MOST_SHAPES}* |",
        f"| *{proofs.MOST}, {kib(proofs.LARGEST)}* for each network |",
        f"pictures that are kept on disk | *{mib(enrolment.MOST_KEPT_BYTES)}* for each gallery, node and network |",
        f"| connections to the server of a process | *{server.MOST_CONNECTIONS}* |",
        f"read over HTTP | *{server.MOST_CONNECTIONS}, each of the largest message, for {server.BODY_S:.0f} s* |",
        f"| open pages | *{viewers.MOST_VIEWERS}* |",
        f"| messages that wait for one page | *{viewers.MOST_WAITING}*, the newest of a kind |",
        f"| streams on the page | *{board.MOST_STREAMS}* |",
        f"| *{'five' if stream_figures.SLOTS * stream_figures.SLOT_S == 300 else '?'} minutes of counts, "
        f"{stream_figures.SAMPLES} latencies, the times of day of {sightings.MOST_MOMENTS} frames, "
        f"{sightings.MOST_TRACKS} tracks, {sightings.KEPT_EVENTS} events with a "
        f"picture of at most {pictures.WIDTHS['thumbnail']} pixels, its",
        f"| streams whose last frame `sluice run --stay` keeps for the page | *{pictures.LAST}* |",
        f"| frames of which pictures are made at once | *{pictures.AT_ONCE}* |",
        f"| *{broker_feed.MOST_WAITING} each, {mib(broker_feed.MOST_BYTES)}* |",
        f"streams of which they are known | *{cards.MOST_QUERIES}; {cards.MOST_STREAMS}* |",
        f"| times of a node, and frames of a stream, by which a frame is planned | *{node_times.LATEST}* of each |",
        f"and frames of a stream, by which a frame is planned | *{replanning.TOGETHER}* of each |",
        f"| intervals of audits that are kept between reports | *{confidence.REMEMBERED}* |",
        f"| grids of detectors' cells | *{decoding.GRIDS}* |",
        f"| sinks of `sluice forward` | *{sinks_file.MOST_SINKS}* |",
        f"worked on for one sink | *{reader.MOST_TAKEN}*, of *{in_order.AT_ONCE}* streams at the same time |",
        f"| age of a notification | {sinks_file.HOUR_S:.0f} s |",
        f"wait for one sink | *{direct.MOST_WAITING}, with {mib(direct.MOST_BYTES)} of frames for snapshots* |",
        f"| attempts at a notification with which its sink fails | *{delivery.MOST_FAILURES}* |",
        f"| snapshot | *{kib(bounds.SNAPSHOT_BYTES)}* of JPEG |",
        f"| frames that are read in search of one | *{mib(frame_finder.LOOK_BYTES)}, {frame_finder.LOOK_S:.0f} s* |",
        f"| frames that are kept, since several events are about them | *{frame_finder.KEPT}* |",
        f"| *{mqtt_sink.MOST_STREAMS}* for each sink |",
        f"| zones of a stream that have a topic of their own there | *{mqtt_sink.MOST_ZONES}* |",
        f"lists | *{match.MOST_OBJECTS}, {comparison.MOST_STREAMS}, {comparison.MOST_WORST}* |",
        f"of an episode that it reads | *{mib(layout.LARGEST_PICTURE)}, {mib(layout.LARGEST_RESULTS)}* |",
        f"| a folder of `--record` | {options.RECORD_MB} MB | `--record-mb` |",
        f"*{record_window.SPAN_S:.0f} s of a stream, {layout.MOST_HELD} frames; {mib(record_window.MOST_BYTES)} of all "
        "streams* |",
        f"| frames that wait to be written | *{mib(recorder.MOST_QUEUED)}* |",
        f"| frames of an episode, causes | *{layout.MOST_FRAMES}, {layout.MOST_CAUSES}* |",
        f"whose crops it counts | *{crops.MOST_CROPS:,}, {crops.MOST_TRACKS:,}* |",
        f"| *{labelled_crops.MOST_CROPS:,}, {labelled_crops.MOST_CLASSES}; {features.MOST_TUNED}* |",
        f"| width of a crop that it learns from | *{labelled_crops.MOST_WIDTH} pixels* |",
        f"| *{taken.MOST_LOOKS:,}; {LEARNT.items:,}, {mib(LEARNT.nbytes)}* |",
        f"| *{record_window.SHARE * 100:.0f} % of the process's, and {record_window.ALLOWANCE_S:.0f} s* |",
        f"| crops that wait for an audit | *{backlog.MAX_WAITING}, {mib(backlog.MAX_BYTES)} in all* |",
        f"| objects of a stream that are being audited | *{trials.MOST_TRIALS} for each node* |",
        f"of which a node knows which shortcuts have answered | *{trials.REMEMBERED}* |",
        f"| *{streams.REMEMBERED_STREAMS} for each node that saves work* |",
        f"are tuned on, of a stream or of all | *{held_looks.KEPT}; {mib(held_looks.KEPT_BYTES)} for all of a query* |",
        f"| a file of exits | *{mib(artefact.MOST_BYTES)}, {artefact.MOST_EXITS} exits; each reads at most "
        f"{artefact.MOST_VALUES} values of one input* |",
        f"| objects of a stream whose looks a node pools | *{look_rule.REMEMBERED}*, "
        f"for *{look_rule.LOOK_RULE.closed_after_s:.0f} s* of media time",
        f"| samples of a worker that wait for `samples.v1` | *{link.MOST_WAITING}* |",
        f"of which a worker knows how many samples it has sent | *{link.MOST_RATES}* |",
        f"| wishes of a worker | *{link.MOST_WISHES}* |",
        f"| updates that a worker keeps | *{link.MOST_UPDATES}, {mib(link.UPDATE_BYTES)} in all* |",
        f"| *{'an hour' if window.SPAN_S == 3600 else '?'}, {mib(windows.WINDOW_BYTES)} for each node and network, "
        f"or for each stream of them; {mib(windows.WINDOWS_BYTES)} in all, {windows.MOST_WINDOWS} of these* |",
        f"| artefacts that `sluice adapt` trains | *{jobs.MOST_TARGETS}* |",
        f"| *{jobs.MOST_TARGETS}, {mib(jobs.KEPT_BYTES)} in all* |",
        f"leave out what comes again | *{results.MOST_RUNS:,}* |",
        f"which are done | *{results.AT_ONCE}, and {results.MOST_AT_ONCE} where they are done within "
        f"{'half a second' if results.SOON_S == 0.5 else '?'}* |",
        f"| different words that are kept of one object | *{pool.MOST_WORDS}* |",
        f"| zones of a query, lines; corners of a zone, points of a line | *{bounds.MOST_ZONES}, {bounds.MOST_ZONES}; "
        f"{points.MOST_CORNERS}, {points.MOST_POINTS}* |",
        f"with what they do in zones and at lines | *{track_events.MOST_TRACKS}* |",
        f"| labels that a zone or line counts apart | *{zone_events.MOST_LABELS}* |",
        f"| tracks that `sluice run` counts, and answers of tracks that it compares | *the last {REMEMBERED_TRACKS}* |",
        f"A decoded frame takes {COUNTS[DECODED_BYTES_PER_PIXEL]} bytes for each pixel. While it is decoded "
        f"{'nine' if DECODING_BYTES_PER_PIXEL == 9 else '?'} are counted",
    ],
    "security.md": [
        f"| a message | {mib(untrusted.LARGEST_BYTES)} (`serving/common/untrusted.py`); what brokers and "
        f"consumers take "
        f"is less, {mib(agent.MAX_MESSAGE_BYTES)} |",
        f"| header `frame` | one, 1 byte to {kib(MAX_HEADER_BYTES)} |",
        f"| `stream`, `run`, `query` | 1 to {bounds.ID_CHARS} characters;",
        f"| labels, names, versions, codes | {bounds.LABEL_CHARS} characters |",
        f"| `cause`, `message`, `uri` | {bounds.TEXT_CHARS} characters |",
        f"at least {listen.LEAST_SECRET} characters, from a file",
        f"of an answer no more than {kib(webhook.ANSWER_BYTES)} is read",
        f"* At most {server.MOST_CONNECTIONS} connections; one without a request for {server.IDLE_S:.0f} s is closed, "
        f"and so is one whose request is not whole after {server.BODY_S:.0f} s",
        f"| `seq` | 0 to 2^{bounds.LARGEST_SEQ.bit_length()} - 1; other whole numbers 64 bits |",
        f"| `width`, `height` | 1 to {bounds.LONGEST_SIDE // 1000} {bounds.LONGEST_SIDE % 1000} |",
        f"years {bounds.FIRST_YEAR} to {bounds.LAST_YEAR} |",
        f"| objects of a result | {bounds.MOST_OBJECTS // 1000} 000; attributes of an object "
        f"{bounds.MOST_ATTRIBUTES} |",
        f"| nodes of a query | {bounds.MOST_NODES}, of {MOST_MODELS} models each |",
        f"| zones of a query, lines | {bounds.MOST_ZONES} of each;",
        f"key and each header {bounds.HEADER_CHARS} characters, {bounds.MOST_HEADERS} headers and "
        f"{kib(dead_letters.HEADERS_CHARS)} of them in all, value {kib(dead_letters.DEAD_LETTER_BYTES)}, its own key "
        f"{kib(dead_letters.KEY_BYTES)} |",
        f"| headers `samples`, `update` | one, at most {kib(MAX_HEADER_BYTES)} |",
        f"| samples of a message | {adaptation.MOST_SAMPLES}, each of {adaptation.MOST_DIMS} activations",
        f"| label numbers | 0 to {adaptation.LARGEST_LABEL // 1000} {adaptation.LARGEST_LABEL % 1000}; ages of samples "
        f"{'a day' if adaptation.LONGEST_AGE_S == 86_400 else '?'} |",
        f"| `spec` of a wish | {kib(adaptation.SPEC_BYTES)}; classes of its `mix` {adaptation.MOST_CLASSES} |",
        f"| artefact | {mib(versions.LARGEST_BYTES)} of safetensors",
        f"at most {versions.AHEAD_S} s ahead of the reader's clock |",
        f"| reason in a log line | {untrusted.LONGEST_REASON} characters",
    ],
    "deploy.md": [
        f"`SLUICE_MODEL_TIMEOUT` ({LIMITS.batch_s:.0f} s)",
        f"younger than `--max-age` ({heartbeat.MAX_AGE_S:.0f} s)",
        f"`--stalled-after` ({liveness.STALLED_AFTER_S:.0f} s)",
        f"| {COUNTS[liveness.RESTARTS]} times in a row |",
        f"that becomes larger than {mib(MAX_SET_BYTES)}) is skipped",
        f"goes on delivering for {captures.FLUSH_S:.0f} s",
        f"(`publish.topics.frames.partitions`, default {FRAMES.partitions})",
        f"A worker that dies is noticed after {agent.SESSION_TIMEOUT_S:.0f} s",
        f"at the latest every {state_topic.SNAPSHOT_EVERY_S:.0f} s",
        f"Messages of frames: up to {mib(FRAMES.max_message_bytes)} by default",
        f"`frames.v1` keeps at most an hour and {gib(FRAMES.retention_bytes or 0)} per partition",
    ],
    "life-of-a-frame.md": [
        f"JPEG, quality {JPEG_QUALITY}",
        f"at most {backlog.MAX_WAITING} and {mib(backlog.MAX_BYTES)} for each node",
        f"of at most {BACKGROUND_S * 1000:.0f} ms",
        f"finishes them within {run_query.CLOSE_S:.0f} s",
        f"where they are at most {kib(dead_letters.DEAD_LETTER_BYTES)}",
        f"a step forward by more than\n{MAX_BROADCAST_GAP_S:.0f} s",
        f"than capture is willing to decode ({MAX_PIXELS // 10**6} megapixels)",
        f"| `stalled` | no frame for {CAMERA['stall_timeout_s']:.0f} s;",
        f"{COUNTS[round(stall.SLACK)]} times its longest pause of late, {COUNTS[round(stall.LONGEST_S / 60)]} minutes",
        f"{'for a minute' if CAMERA['freeze_timeout_s'] == 60 else '?'}, and {COUNTS[FREEZE_PICTURES]} times at least",
        f"{'from about a second up to a minute' if (Backoff().first_s, Backoff().max_s) == (1, 60) else '?'}",
        f"start at {'a quarter of a minute' if Backoff().persistent_first_s == 15 else '?'}",
        f"takes its partitions over after {agent.SESSION_TIMEOUT_S:.0f} s",
    ],
    "live-page.md": [
        f"at most {COUNTS[round(1 / pictures.EVERY_S['small'])]} a second\nfor each stream on the wall and "
        f"{'sixteen' if pictures.WALL_RATE == 16 else '?'} of all, "
        f"{COUNTS[round(1 / pictures.EVERY_S['large'])]} a second on a stream's page, and from "
        f"{COUNTS[round(1 / pictures.EVERY_S['thumbnail'])]} frames a second\nof a stream those of events",
        f"{'Sixteen' if viewers.MOST_VIEWERS == 16 else '?'} pages can be open at once",
    ],
    "serving.md": [
        f"in batches of {BACKGROUND_S * 1000:.0f} ms at most",
        f"A batch may take {LIMITS.batch_s:.0f} s, loading (with the first run) "
        f"{COUNTS[round(LIMITS.load_s / LIMITS.batch_s)]} times as long",
    ],
    "consume-results.md": [
        f"frames that come more than {moments.EARLY_S} s before they were captured",
        f"was set by more than {moments.STEP_S} s",
        f"until both agree to within {moments.AGREE_S:.0f} s",
        f"{'more than a minute old' if moments.SUSPECT_S == 60 else '?'} and come for {moments.WATCHED_S:.0f} s",
        f"* ages beyond {moments.LONGEST_S / 3600:.0f} hours",
        f"else every {COUNTS[int(duties.EVERY_S)]} seconds",
    ],
    "query.md": [
        f"up to {COUNTS[look_rule.LOOK_RULE.most_looks]} times, {f'{look_rule.LOOK_RULE.look_every_s:g}'[1:]} s apart, "
        f"until the answer is at least {f'{look_rule.LOOK_RULE.sure:g}'[1:]} certain; "
        f"then it is checked after {f'{look_rule.LOOK_RULE.recheck_s:g}'[1:]}, 1,",
        f"{COUNTS[look_rule.LOOK_RULE.contradictions].capitalize()} looks in a row, "
        f"{f'{look_rule.LOOK_RULE.doubt_every_s:g}'[1:]} s apart,",
        f"files above {kib(MAX_QUERY_BYTES)} are refused",
        f"| `max_width` | `{DEFAULT_MAX_WIDTH}` |",
        f"tries the camera ({first_look.FRAMES} frames; `--wait`, {init.WAIT_S:.0f} s, for the first one)",
    ],
    "how-to/adapt.md": [
        f"At most {link.MOST_WAITING} wait to be sent",
        f"may answer, at most {adaptation.MOST_DIMS} numbers",
        f"Of a network, or of a stream of it that learns alone, "
        f"a worker sends at most {send_rate.AT_ONCE} at first and\n  then one in "
        f"{COUNTS[round(1 / send_rate.PER_S)]} seconds",
        f"{2 * adaptation.MOST_DIMS / 1024:.0f} KiB each at most, "
        f"{2 * adaptation.MOST_DIMS * send_rate.PER_S * 3600 / 1e6:.0f} MB an hour",
        f"and again every {link.REPEATED_S:.0f} s",
        "one of a quarter\n  of an hour ago half as often" if window.HALF_LIFE_S == 900 else "?",
        f"else every {triggers.PERIOD_S // 60} minutes",
        f"{'Never twice within a minute' if triggers.PAUSE_S == 60 else '?'}, and never\n  "
        f"without {triggers.LEAST_NEW} new samples; but again whenever there are twice as many as at the last time, "
        f"from {triggers.FIRST_SAMPLES} on",
        f"{'a fifth' if window.HELD_SHARE == 0.2 else '?'} of every class's samples",
        f"{budget.SHARE * 100:g} % by default",
        f"{'a minute' if process.AT_ONCE_S == 60 else '?'} of processor time in advance",
    ],
    "how-to/ask-a-vision-model.md": [
        "a second apart, until its answer" if look_rule.PAID_LOOK_RULE.look_every_s == 1 else "?",
        f"is checked after {look_rule.PAID_LOOK_RULE.recheck_s:.0f}, 16 … "
        f"{look_rule.PAID_LOOK_RULE.longest_recheck_s:.0f} s",
        "asked about every ten seconds, and every minute" if look_rule.PAID_SCENE_RULE.look_every_s == 10 else "?",
        f"`Retry-After` of up to {caller.PAUSES.max_s:.0f} s",
        f"for a longer one, {'an hour' if retrying.MOST_PATIENCE_S == 3600 else '?'} at most",
        f"After {caller.RESTS.failures} failures in a row the endpoint is left alone for "
        f"{caller.RESTS.returns.first_s:.0f} s",
        f"for up to {caller.RESTS.returns.max_s / 60:.0f} minutes",
    ],
    "how-to/forward-events.md": [
        f"up to {COUNTS[in_order.AT_ONCE]} streams at the same time",
        f"| `failed` | {delivery.MOST_FAILURES} attempts failed",
        f"at most {direct.MOST_WAITING} notifications of each",
        f"sinks have {direct.CLOSE_S:.0f} s to take the rest",
        f"A sink that has taken nothing for {forwarder.PATIENCE_S:.0f} s",
        f"A picture has at most {kib(bounds.SNAPSHOT_BYTES)}",
        f"({mib(frame_finder.LOOK_BYTES)}, {frame_finder.LOOK_S:.0f} s)",
        f"At most {mqtt_sink.MOST_STREAMS} streams are announced",
        f"for {mqtt_sink.MOST_ZONES} zones of a stream",
        f"signs what is posted; at least {LEAST_SECRET} characters",
        f"| `max_age_s` | `{sinks_file.HOUR_S:.0f}` |",
    ],
    "backends.md": [
        f"is asked every {'two' if server_channel.PROBE_EVERY_S == 2 else '?'} seconds whether it is ready",
        f"{COUNTS[breaker.BREAKER.failures].capitalize()} failures running close a server",
        f"{COUNTS[calls.ATTEMPTS]} times in all",
        f"at most {region_ring.MOST_REGIONS} regions and {mib(region_ring.MOST_REGION_BYTES)} for each server",
        f"batches below {kib(region_ring.LEAST_BYTES)}, travel in messages",
        f"in messages of at most {mib(WireLimits().message_bytes)}",
        f"at most {'a quarter' if calls.BACKGROUND_SHARE == 4 else '?'} of `in_flight`",
    ],
    "how-to/keep-evidence.md": [
        f"begins up to {record_window.SPAN_S:.0f} s of media time before an event",
        f"and ends {record_window.AFTER_S:.0f} s after the last one",
        f"or after {layout.MOST_FRAMES} frames",
        f"JPEG of quality {KEPT_QUALITY}",
        f"at most {record_window.SHARE * 100:.0f} % of the process's processor time (and "
        f"{record_window.ALLOWANCE_S:.0f} s",
        f"`--record-mb` ({options.RECORD_MB} by default)",
    ],
    "fleet.md": [
        f"as many as may be had of each kind and {packing.MOST_NODES} in all",
        f"{cheapest_models.AT_MOST} of it are wanted at most, or twice as many",
    ],
    "how-to/analyse-an-archive.md": [
        f"at most {parquet_output.ROWS} results of one stream",
        f"the last {output.LEAD_S:.0f} s of media time, at least {output.LEAST_LEAD} frames",
        f"`--at-once {chunks.AT_ONCE}`",
        f"less than {live_load.TERMS.offline_busy * 100:.0f} % of the device's time",
        f"none of the last {live_load.WINDOW_S:.0f} s was late",
        f"chunks of {chunks.CHUNK_S:.0f} s",
        f"within some {chunk_taker.SESSION_MS / 1000:.0f} s",
    ],
    "how-to/replay.md": [
        f"objects ({replay.TOLERANCE:g} by default)",
        f"at most {'twenty' if comparison.MOST_WORST == 20 else '?'}: on the left",
        f"The first {comparison.LEAD_IN_S:.0f} s of an episode are not compared",
    ],
    "how-to/train-a-recogniser.md": [
        f"Each class needs {labelled_crops.LEAST_CROPS} crops",
        f"Each crop is looked at {COUNTS[features.LOOKS]} times",
        f"{'at least a point' if recogniser.LEAST_GAIN == 0.01 else '?'} of mean accuracy",
        f"one fold of {COUNTS[head.FOLDS]} is measured",
    ],
    "how-to/mend-dead-letters.md": [f"up to {kib(dead_letters.DEAD_LETTER_BYTES)}, its bytes"],
}


@pytest.mark.parametrize(("page", "said"), [(page, said) for page, lines in SAID.items() for said in lines])
def test_what_a_page_says_of_a_bound_is_so(page: str, said: str) -> None:
    assert said in (DOCS / page).read_text(encoding="utf-8")


def test_a_worker_may_finish_before_its_container_is_killed() -> None:
    compose = (DOCS.parent / "docker-compose.yml").read_text(encoding="utf-8")
    assert "stop_grace_period: 40s" in compose
    assert "40 s for a worker" in (DOCS / "deploy.md").read_text(encoding="utf-8")
    leaving_s = agent.HANDOVER_S + agent.SETTLE_S + worker.STOP_TIMEOUT_S + 2 * fleet_link.LEAVING_S
    assert leaving_s < 40, "frames in work, their streams, the broker, and the scheduler, all in vain"
