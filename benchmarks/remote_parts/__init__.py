"""The processes of the benchmark ``remote`` and what they use. Read in this order: ``processes``, ``calls``."""
