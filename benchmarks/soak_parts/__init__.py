"""What ``benchmarks.soak`` is made of: the processes, their memory, and the account of frames."""
