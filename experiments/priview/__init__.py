"""The figures of the PriView paper, its table of times, and the systems of the surveys."""
