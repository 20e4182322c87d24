"""What is declared before any row is read: attributes, domains, views, workloads; and marginals,
tables over views."""
