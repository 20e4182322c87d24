"""`Dataset`: a table with its domain and where it is from."""

from dataclasses import dataclass
from typing import Any

from ..domain.domain import Domain


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """A table that is ready for `margin.release` and `margin.simulate`.

    Attributes
    ----------
    name
        A short name, with the number of attributes where it can differ.
    data
        The rows, as a `pyarrow.Table`.
    domain
        What the table may hold: from its publisher's description or its generator, not learnt from
        the rows.
    note
        Where it is from, which part of it this is, and whether it is real.
    """

    name: str
    data: Any
    domain: Domain
    note: str = ""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.data.num_rows)
