"""Budgets, what a charge costs under composition, the ledger, and the statement of the guarantee."""
