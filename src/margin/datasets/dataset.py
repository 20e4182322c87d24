"""`Dataset`: a table with its domain and its origin."""

from dataclasses import dataclass
from typing import Any

from ..domain.domain import Domain


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Dataset:
    """A table and its domain, ready for `margin.release` and `margin.simulate`.

    Attributes
    ----------
    name
        A short name. It contains the number of attributes if that can differ.
    data
        The rows, as a `pyarrow.Table`.
    domain
        The domain of the table. It comes from the publisher's description or from the generator,
        and is not learnt from the rows.
    note
        The origin of the table, the part of it that this is, and whether it is real.
    """

    name: str
    data: Any
    domain: Domain
    note: str = ""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.data.num_rows)
