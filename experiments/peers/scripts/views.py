"""mbi 2.0's own estimators on given views, measured with equal shares of the budget.

Options: `views`, lists of axes; `megabytes`, the largest junction tree; `approximate`, whether by
convex belief propagation: it fits any views but answers nothing beyond them, so that the fitted
tables are handed back; `iterations` of either, at most.
"""

from collections.abc import Callable

import numpy as np
from model import Fitted, approximate
from task import Axes, Table, Task, main


def release(task: Task) -> Callable[[Axes], Table]:
    """Measure the views and fit a model."""
    views = [tuple(view) for view in task.options["views"]]
    fitted = Fitted(task, task.options["iterations"])
    for view in views:
        fitted.add(view, *task.noisy(view, 1 / len(views)))
    if task.options["approximate"]:
        return _approximate(task, fitted, views)
    if (size := fitted.megabytes()) > task.options["megabytes"]:
        task.queries.clear()
        task.note(refused=f"its junction tree would have {size:.3g} MB")
        return fitted.answer
    fitted.fit()
    return fitted.answer


def _approximate(task: Task, fitted: Fitted, views: list[Axes]) -> Callable[[Axes], Table]:
    model, total, used = approximate(fitted, task.options["iterations"])
    task.note(iterations=used)
    values = [np.asarray(model.project(fitted.clique(view)).values) for view in views]
    tables = [value / value.sum() * total for value in values]
    deviations = [measurement.stddev for measurement in fitted.measurements]
    np.savez(task.folder / "views.npz", *tables, deviations=np.array(deviations))
    task.queries.clear()
    return fitted.answer


if __name__ == "__main__":
    main(release)
