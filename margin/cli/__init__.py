"""The command line ``margin``: one file a command."""
