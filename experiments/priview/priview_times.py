"""Table of times of PriView (section 4.6): a synopsis, and marginals of six and eight attributes.

P is the time of the synopsis: counting, noise, consistency and non-negativity. Q6 and Q8 are the
times of one marginal that no view covers, means over two. "Published" has lattice consistency,
ripple and relaxed maximum entropy by cvxpy; "ours" the default on the same views, without error
bars (which the paper has not) and with them; the first of these also learns how much a
reconstruction misses. Processor seconds of one thread, after a small release has loaded the code.
"""

import time
from pathlib import Path
from typing import Any

import margin
from experiments.priview._figures import design_name, lattice, ours, recorded, share, table, views
from experiments.tools.pages import page
from experiments.tools.study import bad, good, sweep
from experiments.tools.tables import queries
from margin import PriView, PureDP
from margin.solvers import Ladder, Newton

PRINTED = {
    ("kosarak", 2): {"P": 8.78, "Q6": 0.16, "Q8": 2.79},
    ("kosarak", 3): {"P": 90.81, "Q6": 1.78, "Q8": 35.96},
    ("aol", 2): {"P": 47.42, "Q6": 2.71, "Q8": 20.76},
    ("aol", 3): {"P": 593.27, "Q6": 11.79, "Q8": 77.54},
}
"""The seconds of the paper, on a processor of 2.3 GHz, in Python."""
WAYS = ("ours", "ours, with bars", "published")


def run(smoke: bool, out: Path) -> str:
    """Measure both ways on each design; write a page."""
    places = (
        [("clicks-12", 2)] if smoke else [(recorded(name), triples) for name, triples in PRINTED]
    )
    keys = [
        {
            "table": name,
            "t": t,
            "way": way,
            "block": 6 if smoke else 8,
            "queries": 1 if smoke else 2,
        }
        for way in WAYS
        for name, t in sorted(places, key=lambda place: place[1])  # triples take longest
    ]
    rows = sweep(out / "rows.csv", measure, keys)
    shown = [{name: row[name] for name in ("design", "way", "P", "Q6", "Q8")} for row in good(rows)]
    printed = [
        {"design": f"{name} C{t}", "way": "printed", **found}
        for (name, t), found in PRINTED.items()
    ]
    return page(
        out / "page.md",
        title="PriView's table of times",
        about=" ".join((__doc__ or "").partition("\n\n")[2].split()),
        rows=[*shown, *([] if smoke else printed)],
        notes=bad(rows),
    )


def measure(**key: Any) -> dict[str, Any]:
    """The seconds of a synopsis and of its answers, in one way."""
    name, t, block = key["table"], key["t"], key["block"]
    found = table(name)
    mechanism = _mechanism(key["way"], views(found.domain, block, t))
    small = table("clicks-12")
    loaded = margin.simulate(
        small.data,
        domain=small.domain,
        budget=PureDP(1),
        mechanism=_mechanism(key["way"], views(small.domain, 6, 2)),
        seed=0,
    )
    loaded.marginals(queries(small.domain, 4, 3))
    started = time.process_time()
    simulation = margin.simulate(
        found.data,
        domain=found.domain,
        budget=PureDP(share(name, "1")),
        mechanism=mechanism,
        seed=0,
    )
    seconds = {"P": time.process_time() - started}
    for k in (6, 8):
        asked = _uncovered(simulation, k, key["queries"])
        started = time.process_time()
        for view in asked:
            simulation.marginal(view)
        seconds[f"Q{k}"] = (time.process_time() - started) / len(asked)
    return {
        "design": f"{name} C{t}",
        "name": design_name(found.domain, block, t),
        **{step: f"{value:.4g}" for step, value in seconds.items()},
    }


def _uncovered(simulation: Any, k: int, count: int) -> list[tuple[str, ...]]:
    """Random sets of k attributes that no view covers."""
    held, domain = simulation.synopsis.held, simulation.domain
    drawn = queries(domain, k, 10 * count)
    return [view for view in drawn if held.covering(tuple(sorted(domain.axes(view)))) is None][
        :count
    ]


def _mechanism(way: str, chosen: Any) -> PriView:
    if way == "published":
        return lattice(chosen, reconstruction=Ladder())
    return ours(chosen) if way == "ours" else PriView(views=chosen, reconstruction=Newton())
