"""The commands `margin bench list`, `run` and `show`."""
