"""The commands `margin bench list`, `run`, `show`, `check` and `export`."""
