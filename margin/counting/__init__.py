"""Counting the tables of views, exactly."""

from .plan import CountPlan, count

__all__ = ["CountPlan", "count"]
