"""``sluice`` whose files play at their own pace: ``python -m benchmarks.run_parts.at_own_pace run …``."""

from __future__ import annotations

from functools import partial

from pipelines.cli import main
from pipelines.run import run_query
from pipelines.run.capture_specs import capture_specs

if __name__ == "__main__":
    run_query.capture_specs = partial(capture_specs, realtime=True)  # type: ignore[attr-defined]
    main()
