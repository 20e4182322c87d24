"""Mechanisms that improve a table step by step, by queries for which its answers are most wrong."""
