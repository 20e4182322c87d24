"""Tables of views: consistency, non-negativity, and integer records."""
