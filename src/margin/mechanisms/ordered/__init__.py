"""Mechanisms for ordered attributes and ranges."""
