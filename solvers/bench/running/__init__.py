"""Running one solver on one instance in a process of its own, with limits, and watching it."""
