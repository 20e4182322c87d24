"""Samplers of exact distributions: integers and certified intervals, no float that decides anything."""
