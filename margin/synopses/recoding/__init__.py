"""A release whose categories were renamed or put together after it."""
