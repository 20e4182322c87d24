"""Mechanisms that measure the full table, or each marginal, or its transform."""
