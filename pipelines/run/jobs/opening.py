"""Opens the results of a job, in the form that their place asks for."""

from __future__ import annotations

from pathlib import Path

from pipelines.process.extras import need
from pipelines.run.jobs.json_output import JsonOutput
from pipelines.run.jobs.output import JobOutput

PARQUET = ".parquet"


def open_output(place: Path, anew: bool) -> JobOutput:
    """The results at this place, for this process alone; ``anew``: without those that are there.

    Raises BadInput where it cannot be written, another process writes there, or something else lies there.
    """
    if place.suffix == PARQUET:
        need("pyarrow")
        from pipelines.run.jobs.parquet_output import ParquetOutput

        return ParquetOutput(place, anew)
    return JsonOutput(place, anew)
