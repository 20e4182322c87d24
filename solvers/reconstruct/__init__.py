"""Reconstruction of marginals that no view covers."""
