"""Mechanisms for points on a map: counts of nested boxes of cells."""
