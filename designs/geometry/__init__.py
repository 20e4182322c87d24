"""Designs from finite geometry and algebra."""
