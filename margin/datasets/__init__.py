"""Tables for demonstrations, tests and experiments: real ones from their publishers, and generated
ones.

Each function returns a `Dataset`: rows, declared domain, and a note that says where they are from.

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
