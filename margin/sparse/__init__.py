"""Cells of tables too large to write out: their numbering, trees over ordered axes, and hash
functions."""
