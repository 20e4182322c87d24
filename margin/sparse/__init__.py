"""Cells of tables that are too large to store: how cells are numbered, trees over ordered axes,
and hash functions."""
