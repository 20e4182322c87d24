"""Libraries that solve a problem itself, not its model: one file a library."""
