"""Solvers of libraries that take a `Model`: one library a file."""
