"""Parts of the benchmark of engines: the networks, eager PyTorch as the baseline, heads in streams."""
