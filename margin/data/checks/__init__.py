"""A table compared with a domain before the release, for the holder of the data only; and files
compared with the checksums that they hold."""
