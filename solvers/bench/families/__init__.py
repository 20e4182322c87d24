"""Kinds of problems: what a solver gets, and how its answer is checked."""
