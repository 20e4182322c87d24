"""The bench as a benchmark of benchopt, and the table of its results."""
