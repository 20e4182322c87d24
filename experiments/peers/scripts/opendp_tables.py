"""OpenDP 0.16's contingency tables, which fit with mbi 1.1, asked through `project`. Pure epsilon
or zCDP.

Options: `algorithm`, "AIM" (its workload: all triples), "MST", or "Fixed", here a chain of pairs in
the order of the attributes; `oneway`, the share that measures single attributes (OpenDP's own is a
half); `rounds` of AIM, an attribute. OpenDP adds a place for missing values to each attribute,
which is left out of the answers.

Its budgets are floating-point numbers whose parts, rounded up, may sum to more than the whole,
which it then refuses. So the context gets a thousandth more than the query spends, and each of
MST's choices a trillionth less than its share.
"""

from collections.abc import Callable

import numpy as np
import opendp.extras.mbi._mst as mst
import opendp.prelude as dp
import polars as pl
from task import Axes, Table, Task, main

dp.enable_features("contrib")
mst.prior = lambda share: share * (1 - 1e-12)


def release(task: Task) -> Callable[[Axes], Table]:
    """Release one contingency table."""
    shares = {"oneway_split": task.options["oneway"]} if "oneway" in task.options else {}
    algorithm = {
        "AIM": lambda: dp.mbi.AIM(queries=3, rounds=_rounds(task), **shares),
        "MST": lambda: dp.mbi.MST(**shares),
        "Fixed": lambda: dp.mbi.Fixed(
            queries=[
                dp.mbi.Count(pair)
                for pair in zip(task.attributes[:-1], task.attributes[1:], strict=True)
            ]
        ),
    }[task.options["algorithm"]]()
    spend = {"epsilon" if task.pure else "rho": task.amount}
    allowed = {name: amount * 1.001 for name, amount in spend.items()}
    columns = {name: task.rows[:, axis] for axis, name in enumerate(task.attributes)}
    context = dp.Context.compositor(
        data=pl.LazyFrame(columns),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(**allowed),
    )
    keys = {name: list(range(size)) for name, size in zip(task.attributes, task.sizes, strict=True)}
    table = context.query(**spend).contingency_table(keys=keys, algorithm=algorithm).release()
    places = {name: [table.keys[name].to_list().index(key) for key in keys[name]] for name in keys}

    def answer(axes: Axes) -> Table:
        names = [task.attributes[axis] for axis in axes]
        return np.asarray(table.project(names))[np.ix_(*(places[name] for name in names))]

    return answer


def _rounds(task: Task) -> int | None:
    """The number of rounds, or None for OpenDP's default of 16 per attribute."""
    return task.options["rounds"] * len(task.attributes) if "rounds" in task.options else None


if __name__ == "__main__":
    main(release)
