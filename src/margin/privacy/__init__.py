"""Budgets, the cost of charges under composition, ledgers, and statements of the guarantee."""
