"""Declarations made before any row is read (attributes, domains, views and workloads), and
marginals, which are tables of counts over views."""
