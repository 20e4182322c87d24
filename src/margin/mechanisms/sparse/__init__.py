"""Summaries of tables too large to write out."""
