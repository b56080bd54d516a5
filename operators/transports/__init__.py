"""The two ways frames and results travel: ``local://`` in one process, ``kafka://`` between processes."""
