"""Views of attributes of any sizes, their expected error, and their shares of a budget."""
