"""What `Auto` and `Adaptive` choose, against every candidate, on generated tables of 17 families.

A family of tables either fits the constants of `margin.mechanisms.fitted` or validates them, never
both; real tables only validate. Each setting is a table, a budget and a number k of attributes. The
regret of a mechanism is its error divided by that of the best candidate with the same seed. The
candidates are all orders of components, one-way tables, the total alone, and the covers that are
best under some assumption about the structure.

`python -m experiments run zoo` measures and reports. `python -m experiments.zoo --refit` searches
better values for the constants on the fitting half, and prints them with the regret on both halves.
"""

import itertools
import math
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import margin
from margin import Adaptive, Auto, PriView, Workload
from margin.mechanisms import fitted

from ._pages import Claim, markdown, page
from ._peer_methods import Cell
from ._peer_tables import PUBLISHED, Coded, table
from ._study import Key, Row, bad, good, read, sweep
from ._zoo_tables import DRAWS, FAMILIES, generated
