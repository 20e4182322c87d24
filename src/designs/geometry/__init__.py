"""Designs from finite geometry: flats, circles, maximal arcs, transversal and Witt designs."""
