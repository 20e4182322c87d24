"""Tables of an array that are known exactly."""
