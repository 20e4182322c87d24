"""Mechanisms that improve a table by the queries on which it is most wrong."""
