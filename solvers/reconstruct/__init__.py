"""Reconstruction: estimates of marginals that no view covers, with one solver in each file.

`problem` states the problem, and `newton` is the default solver.
"""
