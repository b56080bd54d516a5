"""Parts of the placement benchmark: a backend in virtual time, the batch-oblivious allocator, workloads."""
