"""Mechanisms that learn a table from queries chosen where it is still wrong."""
