"""The command line ``margin``. Each file defines one command or a few related ones."""
