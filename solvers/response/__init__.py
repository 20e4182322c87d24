"""Best responses: the record that satisfies most weighted queries, found by integer programming.

`best_response` states the problem. Each back-end that solves it has a file of its own.
"""
