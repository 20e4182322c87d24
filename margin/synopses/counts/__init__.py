"""Numbers of rows that satisfy conditions, and what follows from several of them."""
