"""The integer programme of DualQuery's best response."""
