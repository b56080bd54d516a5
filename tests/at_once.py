"""A back-off without delays, for tests of what is tried again."""

from __future__ import annotations

from serving.common.retrying import Backoff

AT_ONCE = Backoff(max_s=0.0)
