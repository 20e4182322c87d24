"""Counts of items and itemsets, for rows that are sets."""
