"""Exact counts of views: `CountPlan`, and one file for each engine that counts."""

from .plan import CountPlan

__all__ = ["CountPlan"]
