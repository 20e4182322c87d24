"""A mechanism whose events a test looks at."""


class Watched:
    """A mechanism, and the events of its run."""

    def __init__(self, mechanism):
        self.mechanism, self.events = mechanism, []

    def run(self, gate, workload):
        synopsis = self.mechanism.run(gate, workload)
        self.events = gate.events
        return synopsis
