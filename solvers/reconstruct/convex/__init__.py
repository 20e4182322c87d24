"""Reconstruction by general convex programmes: the problem is handed to a library."""
