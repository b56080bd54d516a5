"""Where frames, results and events leave for: Kafka from a capture, JSON lines from a run, and the life cycles of
tracks.

Read in this order: ``kafka_frames``, ``sending``, ``frame_buffer``, ``jsonl``, ``zone_events``, ``track_events``.
"""
