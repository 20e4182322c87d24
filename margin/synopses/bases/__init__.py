"""Bases of a release, one form each."""
