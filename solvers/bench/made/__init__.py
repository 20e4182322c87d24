"""Generated instances, from seeds."""
