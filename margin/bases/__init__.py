"""What `release(base=)` and `release(known=)` take."""
