"""Parts of the benchmarks of learned exits: pictures that went through a cut network."""
