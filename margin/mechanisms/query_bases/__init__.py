"""Bases of attributes that follow the queries that are asked of them."""
