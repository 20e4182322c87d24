"""Summaries of sparse tables, sensitive columns, points on a map, as in their papers."""
