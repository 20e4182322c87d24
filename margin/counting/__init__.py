"""Counting the tables of views, exactly."""

from .plan import CountPlan

__all__ = ["CountPlan"]
