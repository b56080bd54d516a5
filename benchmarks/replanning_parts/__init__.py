"""What the benchmark of replanning with real networks runs: detectors and recognisers on the frames of a clip.

Read in this order: ``networks``, ``frames``.
"""
