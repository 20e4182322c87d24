"""Cells of tables that are too large to store: their numbers, trees over ordered axes, and hash
functions."""
