"""Tables for demonstrations, tests and experiments: real tables from their publishers, and
generated tables.

Most functions return a `Dataset`: the rows, their declared domain, and a note on their origin.

>>> table = click_stream(rows=100)
>>> table.name, len(table.domain), table.rows
('clicks-45', 45, 100)
"""

from .dataset import Dataset
from .generated import click_stream, correlated, latent_classes, markov_chain
from .people import people, people_domain
from .published import adult, kdd99, kosarak, msnbc, mushroom, nursery

__all__ = [
    "Dataset",
    "adult",
    "click_stream",
    "correlated",
    "kdd99",
    "kosarak",
    "latent_classes",
    "markov_chain",
    "msnbc",
    "mushroom",
    "nursery",
    "people",
    "people_domain",
]
