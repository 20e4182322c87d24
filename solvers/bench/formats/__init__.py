"""Files that other programs read: MPS, LP, CBF and WCNF."""
