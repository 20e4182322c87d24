"""Generated instances, from seeds: those of the catalogue, and any others by their names."""
