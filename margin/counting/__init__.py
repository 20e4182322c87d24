"""Counting the tables of views, exactly, from codes: one engine a file."""

from .plan import CountPlan

__all__ = ["CountPlan"]
