"""Mechanisms that choose their measurements by expected error."""
