"""The commands `margin bench list`, `run`, `show` and `export`."""
