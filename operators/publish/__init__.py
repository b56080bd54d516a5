"""Where frames, results and events leave for: Kafka from a capture, JSON lines from a run, and the life cycles of
tracks.

Read in this order: ``kafka_frames``, ``producer``, ``frame_buffer``, ``patience``, ``send_log``, ``jsonl``,
``tracked``, ``zone_events``, ``track_events``, ``lifecycles``.
"""
