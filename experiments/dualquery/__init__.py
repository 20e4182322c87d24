"""The figures of the DualQuery paper, and the best responses that its rounds ask for."""
