"""Where frames, results and events leave for."""
