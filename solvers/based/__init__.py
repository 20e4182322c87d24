"""Reconstruction with a base: a distribution that is known from elsewhere."""
