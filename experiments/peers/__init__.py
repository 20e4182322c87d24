"""Other systems beside this one, and the choice of a mechanism on many tables."""
