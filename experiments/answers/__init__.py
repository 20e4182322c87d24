"""The answers of a release: their intervals, their agreement, and what is stated."""
