"""Mechanisms that choose what to measure by its expected error."""
