"""Reconstruction: estimates of marginals that no view covers, one solver a file.

`problem` states the problem, and `newton` is the default solver.
"""
