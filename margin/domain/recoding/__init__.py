"""Categories that are renamed or put together after a release."""
