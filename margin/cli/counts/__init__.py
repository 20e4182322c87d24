"""The command `margin count` in its forms: a number, a share, a difference, a list, a change."""
