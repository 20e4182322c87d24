"""Tables of views: making them consistent and non-negative, and records that fit them."""
