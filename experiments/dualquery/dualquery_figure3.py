"""Dual Query, Figure 3 of Gaboardi et al. 2014: error and time against the number of queries."""

from pathlib import Path

from experiments.dualquery import _dualquery
from experiments.dualquery._dualquery import OURS, PAPER, curve, panel
from experiments.tools.pages import Claim, page
from experiments.tools.plots import lines
from experiments.tools.study import Row, bad, good, sweep

QUERIES = (40_000, 200_000, 500_000, 1_000_000, 2_000_000)


def run(smoke: bool, out: Path) -> str:
    """Spend (1, 0.001); the published variant uses eta = 1.2 and s = 1750, as in section 6.2."""
    shape = {"data": "biased", "attributes": 20, "rows": 2000} if smoke else {"data": "kdd99"}
    keys = [
        {**shape, "method": method, "epsilon": 1.0, "queries": queries, "step": 1.2,
         "samples": 20 if smoke else 1750, "seed": seed}
        for seed in range(1, 2 if smoke else 4)
        for queries in ((200, 400) if smoke else QUERIES)
        for method in (PAPER, OURS)
    ]  # fmt: skip
    rows = sweep(out / "rows.csv", _dualquery.measure, keys)
    done = good(rows)
    panels = {
        title: panel(done, "queries", column)
        for title, column in (
            ("mean error, share of the rows", "mean"),
            ("largest error, share of the rows", "largest"),
            ("processor seconds", "seconds"),
        )
    }
    pictures = lines(
        out / "figure3", panels, xlabel="queries", ylabel="", xlog=True, shared=False, columns=3
    )
    claims = [] if smoke else list(_claims(done))
    notes = (
        []
        if smoke or _dualquery.at_hand("kdd99")
        else ["the file of KDD99 is missing: made-up bits of the same size are used"]
    )
    return page(
        out / "figure3.md",
        title="Dual Query: error and time against the number of queries",
        about=f"{_dualquery.described(keys)}; all binary. (1, {_dualquery.DELTA}), neighbours "
        f"replace a row. `paper`: eta = 1.2, s = {keys[0]['samples']}. Seconds are of the process, "
        "counting the true answers included; another count of the true answers, to judge by, is "
        f"apart. Means of {_dualquery.seeds(keys)}.",
        claims=claims,
        pictures=pictures,
        rows=done,
        notes=[*notes, *bad(rows)],
    )


def _claims(rows: list[Row]) -> list[Claim]:
    mean, ours = (
        list(curve(rows, "queries", "mean", method=method).values()) for method in (PAPER, OURS)
    )
    spread = "not run"
    if mean and ours:
        spread = (
            f"paper's parameters {min(mean):.4f} to {max(mean):.4f}, ours {min(ours):.4f} to "
            f"{max(ours):.4f}"
        )
    seconds = curve(rows, "queries", "seconds", method=OURS).get(2_000_000)
    return [
        Claim(
            claim="average error stays about the same from 40,000 to 2 million queries",
            measured=spread,
            holds=max(mean) < 1.5 * min(mean) if mean and ours else None,
        ),
        Claim(
            claim="2 million queries end to end in less than 40 s",
            measured="not run" if seconds is None else f"{seconds:.1f} process seconds",
            holds=None if seconds is None else seconds < 40,
        ),
    ]
