"""Views (tables over a few attributes), their expected error, and the share of each.

A view is a set of attributes whose joint counts are measured. The share of a view is the part of a
total that its measurement uses.
"""
