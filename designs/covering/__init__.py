"""Covering designs of equal points: bounds, constructions, search, and the shipped table."""
