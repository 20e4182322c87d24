"""Mechanisms that measure overlapping views."""
