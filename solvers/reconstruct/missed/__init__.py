"""What reconstructions miss, apart from the structure that `Structure` learns: one part a file."""
