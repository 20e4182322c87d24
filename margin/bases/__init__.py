"""What `release(base=)` takes."""
