"""A table compared with a domain before the release, for the holder of the data only."""
