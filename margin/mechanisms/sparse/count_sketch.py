"""`CountSketch`: a mechanism that makes a noisy count sketch of a table of any size."""

from dataclasses import dataclass

from ..._checks import positive_integer
from ...domain.workload import Workload
from ...private import Private
from ...synopses.sketch import SketchSynopsis

__all__ = ["CountSketch"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class CountSketch:
    """A mechanism that summarises a table of any size in a few noisy sums: a count sketch
    (Charikar, Chen and Farach-Colton 2002; Cormode et al. 2012).

    In each row of the sketch, each cell falls into one bucket, with a sign. The bucket of a cell
    times its sign is an unbiased estimate of its count. More rows lower the error of the sketch but
    raise the noise, because each row of the data is in all of them.

    Parameters
    ----------
    width
        The number of buckets of a row of the sketch, >= 1.
    rows
        The number of rows of the sketch, >= 1.
    median
        Whether the median of the rows answers; False takes their mean.
    key
        The public key of the hash functions.
    """

    width: int
    rows: int = 5
    median: bool = True
    key: int = 0

    def __post_init__(self) -> None:
        positive_integer("width", self.width)
        positive_integer("rows", self.rows)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> SketchSynopsis:
        """Run the mechanism: sketch the table of all attributes. The workload is not used."""
        sums = private.sketch_counts(
            private.domain.attributes,
            rows=self.rows,
            width=self.width,
            key=self.key,
        )
        noise = private.events[-1].noise
        return SketchSynopsis(
            domain=private.domain,
            sums=sums,
            key=self.key,
            median=self.median,
            variance=noise.variance,
        )
