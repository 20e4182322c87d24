"""Strategies of linear queries, and the mechanisms that measure them."""
