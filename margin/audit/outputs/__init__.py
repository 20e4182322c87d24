"""Everything that leaves a run of a mechanism, in a form that can be compared."""
