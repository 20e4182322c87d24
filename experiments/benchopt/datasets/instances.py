"""Instances of margin's bench as data sets of benchopt."""

from typing import ClassVar

from benchopt import BaseDataset

from margin.solvers import bench

FAMILIES = ("exact-entropy", "penalised-entropy", "least-squares", "response")


class Dataset(BaseDataset):
    """One instance of the bench; by default, the first small ones of four families."""

    name = "bench"
    parameters: ClassVar = {
        "instance": [
            instance.name
            for family in FAMILIES
            for instance in bench.instances(family=family, size="small")[:5]
        ]
    }
    test_parameters: ClassVar = {"instance": ["exact-entropy-b4-chain-pairs"]}

    def get_data(self):
        """The instance."""
        return {"instance": bench.instance(self.instance)}
